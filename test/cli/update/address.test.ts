import { createReadStream, existsSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { filePrograms } from '../../../src/cli/programs.ts';
import { addressSource } from '../../../src/cli/update/address-source.ts';
import type { Clock } from '../../../src/ports/clock.ts';
import { systemClock } from '../../../src/system/clock.ts';
import { openFetch } from '../../../src/wire/open-fetch.ts';
import { interlock } from '../run.ts';
import { temporaryFolder } from '../world.ts';
import { exeName, makeRelease, newKeys, putExecutable, versionOf } from './releases.ts';

const posix = process.platform !== 'win32';
if (!posix)
  console.log('Updates by address are not tried here: the executables are shell scripts.');

type Answer = (request: IncomingMessage, response: ServerResponse, path: string) => boolean;

async function served(folder: string, answer: Answer = () => false): Promise<string> {
  const server: Server = createServer((request, response) => {
    const path = new URL(request.url ?? '', 'http://x').pathname;
    if (answer(request, response, path)) return;
    const file = join(folder, path.replace(/^\/files\/(moved\/)?/, ''));
    if (!existsSync(file)) return void response.writeHead(404).end('none');
    createReadStream(file).pipe(response);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function world(version = '0.2.0') {
  const cwd = temporaryFolder();
  const keys = newKeys();
  const release = await makeRelease({ folder: join(cwd, 'release'), version, keys });
  writeFileSync(join(cwd, 'pub.pem'), keys.publicPem);
  const exe = join(temporaryFolder(), 'interlock-worker');
  putExecutable(exe, '0.1.0');
  const programs = { ...filePrograms(join(cwd, 'dist')), standalone: true, command: exe };
  const env = { PATH: '/usr/bin:/bin', HOME: cwd };
  const run = (from: string, more: Record<string, string> = {}) =>
    interlock(['worker', 'update', '--from', from, '--trust', 'pub.pem', '--json'], {
      cwd,
      programs,
      env: { ...env, ...more },
    });
  return { exe, release, run };
}

function failure(err: string): {
  code: string;
  message: string;
  details?: Record<string, unknown>;
} {
  return JSON.parse(err.trim().split('\n').at(-1) ?? '').error;
}

describe.skipIf(!posix)('a release behind an address', () => {
  it('is installed, from its folder or a file in it, also through a redirect', async () => {
    for (const path of ['/files', '/files/', `/files/${exeName}`]) {
      const { exe, release, run } = await world();
      const door = await served(release, (_, response, asked) => {
        if (asked.startsWith('/files/moved/')) return false;
        response.writeHead(302, { location: asked.replace('/files/', '/files/moved/') }).end();
        return true;
      });
      const done = await run(`${door}${path}`);
      expect(done, path).toMatchObject({ code: 0 });
      expect(await versionOf(exe)).toBe('0.2.0');
    }
  });

  it('that is cut on the way changes nothing', async () => {
    const { exe, release, run } = await world();
    const at = await served(release, (_, response, path) => {
      if (!path.endsWith(exeName)) return false;
      response.writeHead(200, { 'content-length': '100000' });
      response.write('#!/bin/sh\n', () => response.destroy());
      return true;
    });
    const done = await run(`${at}/files/`);
    expect(failure(done.err)).toMatchObject({ code: 'UNREACHABLE', details: { cause: 'cut' } });
    expect(done.code).toBe(68);
    expect(await versionOf(exe)).toBe('0.1.0');
    expect(readdirSync(join(exe, '..'))).toEqual(['interlock-worker']);
  });

  it('that never ends, or is longer than it says, is given up', async () => {
    const { exe, release, run } = await world();
    const endless = (which: string) =>
      served(release, (_, response, path) => {
        if (!path.endsWith(which)) return false;
        response.writeHead(200);
        const piece = Buffer.alloc(65_536, 32);
        const more = () => {
          while (!response.destroyed && response.write(piece));
          if (!response.destroyed) response.once('drain', more);
        };
        more();
        return true;
      });
    expect(failure((await run(await endless('SHA256SUMS'))).err).code).toBe('UPDATE_DAMAGED');
    expect(failure((await run(`${await endless(exeName)}/files`)).err).message).toMatch(
      /is longer than \d+ bytes/,
    );
    expect(await versionOf(exe)).toBe('0.1.0');
  });

  it('is told where something is missing, refused, or nobody is there', async () => {
    const { run } = await world();
    const nothing = await served(temporaryFolder());
    expect(failure((await run(nothing)).err).message).toContain('holds no SHA256SUMS');
    const closed = await served('', (_, response) => {
      response.writeHead(403).end();
      return true;
    });
    expect(failure((await run(closed)).err).message).toContain('was answered with 403');
    const nobody = failure((await run('http://127.0.0.1:1/release')).err);
    expect(nobody.code).toBe('UNREACHABLE');
  });

  it.each([
    ['http://downloads.example.com/0.2.0/', /plain http beyond this machine/],
    ['https://user:secret@downloads.example.com/', /holds a user or a password/],
    ['https://user:12/secret@downloads.example.com/', /holds an "@"/],
    ['ftp://downloads.example.com/', /must begin with https/],
  ])('is refused at %s', async (address, says) => {
    const { run } = await world();
    const told = failure((await run(address)).err);
    expect(told).toMatchObject({ code: 'INVALID_ADDRESS' });
    expect(told.message).toMatch(says);
    expect(told.message).not.toContain('secret');
  });

  it('leads nowhere by plain http beyond this machine', async () => {
    const { run } = await world();
    const door = await served('', (_, response) => {
      response.writeHead(302, { location: 'http://mirror.example.com/x' }).end();
      return true;
    });
    expect(failure((await run(door)).err).message).toContain(
      'leads on to an address that is another host without https',
    );
  });

  it.each([
    ['https://a.example/r/', 'https://b.example/x', undefined],
    ['https://a.example/r/', '/x', undefined],
    ['http://127.0.0.1:9/r/', 'https://b.example/x', undefined],
    ['https://localhost:9/r/', 'https://127.0.0.1:8/x', undefined],
    ['http://127.0.0.1:9/r/', 'http://127.0.0.1:8/admin', 'is another host without https'],
    ['https://a.example/r/', 'http://a.example/x', 'is another host without https'],
    ['https://a.example/r/', 'http://127.0.0.1:8/x', 'is another host without https'],
    ['https://a.example/r/', 'https://localhost:8/x', 'is this machine itself'],
    ['https://a.example/r/', 'https://[::ffff:127.0.0.1]:8/x', 'is this machine itself'],
    ['https://a.example/r/', 'https://0.0.0.0:8/x', 'is this machine itself'],
    ['https://a.example/r/', 'https://u:p@b.example/x', 'holds a user or a password'],
  ])(
    'at %s that leads to %s is followed only where that is no way into this machine',
    async (from, to, why) => {
      const asked: string[] = [];
      const source = addressSource(from, {
        clock: systemClock(),
        fetch: async (url) => {
          asked.push(url);
          const first = asked.length === 1;
          return new Response('x', first ? { status: 302, headers: { location: to } } : {});
        },
      });
      const read = source.read('SHA256SUMS');
      if (why) await expect(read).rejects.toThrow(`leads on to an address that ${why}.`);
      else expect(Buffer.from((await read) ?? []).toString()).toBe('x');
      expect(asked.length).toBe(why ? 1 : 2);
    },
  );

  it('with a % that begins no code is asked for as it stands', async () => {
    const { run } = await world();
    const asked: string[] = [];
    const at = await served('', (request, response) => {
      asked.push(request.url ?? '');
      response.writeHead(404).end();
      return true;
    });
    expect(failure((await run(`${at}/foo%zz`)).err).code).toBe('UPDATE_DAMAGED');
    expect(asked).toEqual(['/foo%zz/SHA256SUMS']);
  });

  it('comes through the proxy of the environment', async () => {
    const asked: string[] = [];
    const proxy = createServer();
    proxy.on('connect', (request, socket) => {
      asked.push(request.url ?? '');
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
    });
    await new Promise<void>((done) => proxy.listen(0, '127.0.0.1', done));
    onTestFinished(() => void proxy.close());
    const { run } = await world();
    const { port } = proxy.address() as AddressInfo;
    const done = await run('https://downloads.example.com/r/', {
      HTTPS_PROXY: `http://127.0.0.1:${port}`,
    });
    expect(asked).toEqual(['downloads.example.com:443']);
    expect(failure(done.err)).toMatchObject({ code: 'UNREACHABLE', details: { cause: 'proxy' } });
  });

  it('that falls silent is given up, one that is slow is not', async () => {
    const real = systemClock();
    // A minute of silence in a few milliseconds; what is waited for elsewhere stays as it is.
    const clock: Clock = {
      now: () => real.now(),
      wall: () => real.wall(),
      sleep: (ms, signal) => real.sleep(ms, signal),
      timer: (ms, fire) => real.timer(ms === 60_000 ? 1_000 : ms, fire),
    };
    const wire = openFetch({ clock });
    onTestFinished(() => wire.close());
    const at = await served('', (_, response, path) => {
      response.writeHead(200);
      if (path.endsWith('silent')) return response.write('x');
      let left = 20;
      const drip = () => {
        if (left-- === 0) return void response.end();
        response.write('x');
        real.timer(75, drip);
      };
      drip();
      return true;
    });
    const source = addressSource(at, { clock, fetch: wire.fetch });
    const slow: number[] = [];
    for await (const piece of source.pieces('slow', 100)) slow.push(piece.byteLength);
    expect(slow.reduce((a, b) => a + b, 0)).toBe(20);
    const silent = (async () => {
      for await (const _ of source.pieces('silent', 100));
    })();
    await expect(silent).rejects.toMatchObject({
      code: 'UNREACHABLE',
      details: { cause: 'timeout' },
    });
  });
});
