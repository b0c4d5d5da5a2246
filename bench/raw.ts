import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  fdatasyncSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { Pool } from 'undici';
import { mine } from './ending.ts';
import { inFlight } from './processes.ts';
import type { Row } from './rows.ts';

/** What the machine gives, without us: no row of ours can be better than what it is made of. */

const RECORD = Buffer.from(`${JSON.stringify({ record: 'x'.repeat(186) })}\n`);

/** Bodies of 100 bytes both ways, 16 connections, against a bare `node:http` server in a process of its own. */
export async function rawHttp(count: number): Promise<Row> {
  const server = node(`
    const http = require('node:http');
    const answer = JSON.stringify({ ok: 'x'.repeat(90) });
    http.createServer((request, response) => {
      request.on('data', () => {});
      request.on('end', () => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': answer.length });
        response.end(answer);
      });
    }).listen(0, '127.0.0.1', function () { console.log(this.address().port); });
  `);
  const [port] = await once(server.stdout as NodeJS.ReadableStream, 'data');
  const pool = new Pool(`http://127.0.0.1:${String(port).trim()}`, {
    connections: 16,
    pipelining: 1,
  });
  const body = JSON.stringify({ ask: 'x'.repeat(88) });
  const call = async () => {
    const answer = await pool.request({ method: 'POST', path: '/', body });
    await answer.body.json();
  };
  await inFlight(Math.ceil(count / 5), 16, call);
  const ms = await inFlight(count, 16, call);
  await pool.close();
  await ended(server);
  return {
    what: 'raw: HTTP calls, 16 connections, bare node:http',
    value: (count / ms) * 1000,
    unit: 'calls/s',
  };
}

/** Sixteen records of 200 bytes are appended and made durable by one fdatasync, again and again. */
export function rawGroups(folder: string, groups: number): Row {
  const file = openSync(join(folder, 'raw-groups'), 'a');
  const group = Buffer.concat(Array.from({ length: 16 }, () => RECORD));
  const from = performance.now();
  for (let i = 0; i < groups; i++) {
    writeSync(file, group);
    fdatasyncSync(file);
  }
  const ms = performance.now() - from;
  closeSync(file);
  return {
    what: 'raw: records of 200 bytes, append + fdatasync for each 16',
    value: ((groups * 16) / ms) * 1000,
    unit: 'records/s',
    note: `${((groups / ms) * 1000).toFixed(0)} fdatasyncs/s`,
  };
}

/** A file is written aside, fsynced, renamed, and its folder is fsynced. */
export function rawFiles(folder: string, files: number): Row {
  const place = join(folder, 'raw-files');
  mkdirSync(place);
  const directory = openSync(place, 'r');
  const from = performance.now();
  for (let i = 0; i < files; i++) {
    const file = openSync(join(place, 'next'), 'w');
    writeSync(file, RECORD);
    fsyncSync(file);
    closeSync(file);
    renameSync(join(place, 'next'), join(place, String(i % 100)));
    fsyncSync(directory);
  }
  const ms = performance.now() - from;
  closeSync(directory);
  return {
    what: 'raw: atomic file writes, folder fsynced too',
    value: (files / ms) * 1000,
    unit: 'files/s',
  };
}

/** A line of 100 bytes to each of 16 Node processes and back, one under way for each. */
export async function rawIpc(count: number): Promise<Row> {
  const children = Array.from({ length: 16 }, () => node('process.stdin.pipe(process.stdout)'));
  const line = Buffer.from(`${'x'.repeat(99)}\n`);
  const trip = async (child: ChildProcess) => {
    child.stdin?.write(line);
    await once(child.stdout as NodeJS.ReadableStream, 'data');
  };
  await Promise.all(children.map(trip));
  const from = performance.now();
  await Promise.all(
    children.map(async (child) => {
      for (let i = 0; i < count / 16; i++) await trip(child);
    }),
  );
  const ms = performance.now() - from;
  await Promise.all(children.map(ended));
  return {
    what: 'raw: round trips to 16 child processes over pipes',
    value: (count / ms) * 1000,
    unit: 'trips/s',
  };
}

function node(script: string): ChildProcess {
  return mine(spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'pipe', 'inherit'] }));
}

async function ended(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}
