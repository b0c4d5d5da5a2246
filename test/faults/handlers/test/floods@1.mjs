/**
 * Leaves processes behind that hold its pipes or have a session of their own, says a great deal, and then neither
 * returns nor hears any stop.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync } from 'node:fs';

export const effectSafety = 'pure';

const PIECE = 1_048_576;

export default async ({ file, megabytes, into }, ctx) => {
  process.on('SIGTERM', () => {});
  const deaf = "trap '' TERM HUP INT; while :; do sleep 1; done";
  const holder = spawn('/bin/sh', ['-c', deaf], { stdio: 'inherit' });
  const away = spawn('/bin/sh', ['-c', deaf], { stdio: 'inherit', detached: true });
  const further = spawn('setsid', ['/bin/sh', '-c', `(${deaf}) & ${deaf}`], { stdio: 'inherit' });
  for (let n = 0; n < megabytes; n++) {
    if (into === 'log') {
      for (let line = 0; line < 256; line++) ctx.log('l'.repeat(PIECE / 256));
      await new Promise((resolve) => setImmediate(resolve));
    } else {
      const text = into === 'lines' ? `${'x'.repeat(1_023)}\n`.repeat(1_024) : 'x'.repeat(PIECE);
      const stream = into === 'stderr' ? process.stderr : process.stdout;
      if (!stream.write(text)) await once(stream, 'drain');
    }
  }
  appendFileSync(file, `${[holder, away, further].map(({ pid }) => pid)}\n`);
  return new Promise(() => setInterval(() => {}, 1_000));
};
