import { spawn } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createGzip } from 'node:zlib';

/** @param made [{ name, file, seen }]: what was built, and what its check has seen. */
export async function report(made, { compressed }) {
  const rows = [['file', 'MB', ...(compressed ? ['gzip MB', 'xz MB'] : []), 'checked']];
  for (const { name, file, seen } of made) {
    const more = compressed ? await Promise.all([gzip(file), xz(file)]) : [];
    rows.push([name, ...[(await stat(file)).size, ...more].map(megabytes), seen]);
  }
  const widths = rows[0].map((_, i) => Math.max(...rows.map((row) => row[i].length)));
  return rows
    .map((row) =>
      row
        .map((cell, i) =>
          i === 0 || i === row.length - 1 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function megabytes(bytes) {
  return bytes === undefined ? '–' : (bytes / 1e6).toFixed(1);
}

async function gzip(file) {
  return length(createReadStream(file, { highWaterMark: 1 << 20 }).pipe(createGzip({ level: 6 })));
}

/** As `xz -6` makes it; undefined where there is no such program. */
async function xz(file) {
  const child = spawn('xz', ['-6', '-T0', '-c', file], { stdio: ['ignore', 'pipe', 'ignore'] });
  const failed = new Promise((resolve) => child.once('error', () => resolve(true)));
  const bytes = length(child.stdout);
  const ended = new Promise((resolve) => child.once('close', (code) => resolve(code !== 0)));
  return (await Promise.race([failed, ended])) ? undefined : bytes;
}

async function length(stream) {
  let bytes = 0;
  for await (const piece of stream) bytes += piece.length;
  return bytes;
}
