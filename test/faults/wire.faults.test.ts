/** A real worker and what peers really do to it: endless and hostile bodies, names with bad addresses, a key that expires. */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { wireDefaults, workerDefaults } from '../../src/core/defaults.ts';
import { type Fcp, type FcpOptions, startFcp } from '../../src/fcp/fcp.ts';
import { PROGRAMS } from '../binary/executable.ts';
import { type Proc, ROOT, until } from '../e2e/processes.ts';
import { World } from '../e2e/world.ts';
import { BentLink } from './bent-link.ts';
import { missing } from './needs.ts';
import { freePort } from './real-proxies.ts';
import { rounds } from './rounds.ts';

const MIB = 1_048_576;
const LEASE_MS = 3_000;

/** A control plane that is scripted, and a world for workers; neither may leave anything. */
async function stage(options: FcpOptions, test: (world: World, fcp: Fcp) => Promise<void>) {
  await using world = new World();
  const fcp = await startFcp({ leaseMs: LEASE_MS, ...options });
  try {
    await test(world, fcp);
  } finally {
    await fcp.stop();
  }
}

/** The most memory that a process had at one time. */
function peakMiB({ pid }: Proc): number {
  const [, kib] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Math.round(Number(kib) / 1024);
}

describe.skipIf(missing())('a worker', () => {
  it.concurrent('F16: wakes once for each hint however its bytes come, and stays small under a frame without an end', () =>
    stage({ pollAfterMs: 60_000, pingEveryMs: Infinity }, async (world, fcp) => {
      const worker = await world.worker({ url: fcp.url });
      const [stream] = await fcp.hints.opened();
      // One at its start, one when the stream opens.
      await fcp.until(() => fcp.requests('claim').length >= 2, { timeoutMs: 20_000 });
      await fcp.quiet('claim', 1_000);
      for (const text of [
        '\ufeffevent: wake\r\ndata: {"types":["test/echo@1"]}\r\n\r\n',
        'event: wake\rdata: {"types":["ünïcödé/☃@1","test/echo@1"]}\r\r',
        ': ☃\nevent:wake\ndata: {"types":[\ndata: "test/echo@1"]}\n\n',
      ]) {
        const claims = fcp.requests('claim').length;
        await stream?.drip(text, { everyMs: 1 });
        await fcp.until(() => fcp.requests('claim').length > claims, { timeoutMs: 20_000 });
        await fcp.quiet('claim', 600);
        expect(fcp.requests('claim').length).toBe(claims + 1);
      }
      // What a hint says is never a task, and what it does not know does nothing.
      await stream?.raw('event: task\ndata: {"attempts":[{"type":"test/echo"}]}\n\nevent: wake\n');
      await fcp.quiet('claim', 600);
      const before = peakMiB(worker);
      const flood = stream?.raw(Buffer.alloc(50 * MIB, 'x'));
      await fcp.until(() => fcp.hints.connections.length === 2, { timeoutMs: 20_000 });
      await flood;
      console.log(
        `F16: ${before} MiB before 50 MB without a line end, at most ${peakMiB(worker)} MiB`,
      );
      expect(peakMiB(worker) - before).toBeLessThan(60);
      await fcp.until(() => fcp.hints.open.length === 1);
      const task = fcp.offer({ type: 'test/echo', effectSafety: 'pure', input: 'still here' });
      await task.accepted('complete', { timeoutMs: 20_000 });
      expect(fcp.violations).toEqual([]);
    }));

  it.concurrent('F19: takes 5,000 refusals with bodies of 256 KB in bounded memory and few sockets', async () => {
    const fill = 'x'.repeat(262_144);
    const polls = rounds(5_000, 100_000);
    let n = 0;
    const sockets = new Set<Socket>();
    const server = createHttpServer((_, response) => {
      const status = [500, 304, 409][n++ % 3] ?? 500;
      response.writeHead(status).end(status === 304 ? undefined : fill);
    });
    server.on('connection', (socket) => sockets.add(socket.on('error', () => {})));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const poller = join(ROOT, 'test', 'wire', 'poller.ts');
    const args = [poller, url, String(polls - 1_000)];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args).finally(() =>
      server.close(),
    );
    const seen = JSON.parse(stdout) as { grownBytes: number; answers: Record<string, number> };
    console.log(
      `F19: ${n} polls, ${(seen.grownBytes / MIB).toFixed(1)} MiB grown, ${sockets.size} sockets`,
    );
    expect(seen.answers).toEqual({ 'no-answer': polls });
    expect(seen.grownBytes).toBeLessThan(60 * MIB);
    expect(stderr).not.toMatch(/warning|leak/i);
    expect(n).toBe(polls);
    expect(sockets.size).toBeLessThanOrEqual(wireDefaults.connections);
  });

  it.concurrent('F48: refuses bombs, nests and endless answers at the limit, small, while its other lease is kept', () =>
    stage({ refuseHints: 503, pollAfterMs: 0 }, async (world, fcp) => {
      const worker = await world.worker({ url: fcp.url, max: 2, args: ['--log-level', 'debug'] });
      const input = { began: world.path('began'), until: world.path('until') };
      const held = fcp.offer({ type: 'test/wait', effectSafety: 'pure', input });
      await until(() => world.lines('began').length === 1, 'beginning');
      const member = gzipSync(Buffer.alloc(64 * MIB, ' '));
      const brotli = brotliCompressSync(Buffer.alloc(256 * MIB, ' '), {
        params: { [constants.BROTLI_PARAM_QUALITY]: 1 },
      });
      const json = { 'content-type': 'application/json' };
      const endless = function* () {
        yield '{"attempts":[';
        for (;;) yield ' '.repeat(65_536);
      };
      const nest = `{"attempts":[{"input":${'['.repeat(5_000)}${']'.repeat(5_000)}}],"pollAfterMs":0}`;
      const bombs: [string, Parameters<Fcp['on']>[1]][] = [
        // 2 GB in 2 MB: members of one gzip stream.
        [
          'gzip',
          (_, ctl) =>
            ctl.stream(200, { ...json, 'content-encoding': 'gzip' }, Array(32).fill(member)),
        ],
        ['br', (_, ctl) => ctl.answer(200, brotli, { ...json, 'content-encoding': 'br' })],
        ['endless', (_, ctl) => ctl.stream(200, json, endless())],
        ['nest', (_, ctl) => ctl.answer(200, nest, json)],
        ['deep', (_, ctl) => ctl.answer(200, '['.repeat(1_000_000), json)],
      ];
      const before = peakMiB(worker);
      for (const [name, bomb] of bombs) {
        const seen = fcp.on('claim', bomb, { times: 1 }).seen;
        await fcp.until(() => seen[0]?.answered ?? seen[0]?.cut, {
          what: `the end of ${name}`,
          timeoutMs: 60_000,
        });
      }
      const peak = peakMiB(worker);
      console.log(`F48: ${before} MiB before the bombs, at most ${peak} MiB with them`);
      expect(peak).toBeLessThan(300);
      const said = worker.events('claim.no-answer').map(({ msg }) => String(msg));
      const limit = `the limit of ${wireDefaults.answerBytes} bytes`;
      expect(said.filter((text) => text.includes(limit)).length).toBeGreaterThanOrEqual(3);
      // A claim that got no answer is asked again, and then brings what there is.
      const next = fcp.offer({ type: 'test/echo', effectSafety: 'pure', input: 'after' });
      await next.accepted('complete', { timeoutMs: 30_000 });
      writeFileSync(input.until, '');
      await held.accepted('complete', { timeoutMs: 20_000 });
      expect(held.lapsedMs()).toBe(0);
      expect(held.attempts.length).toBe(1);
      expect(fcp.violations).toEqual([]);
    }));

  it.concurrent('F25: delivers once with a key that was written 8 s after the old one had expired', () =>
    stage({ keys: ['il_old_key'], leaseMs: 30_000 }, async (world, fcp) => {
      const file = world.path('key');
      writeFileSync(file, 'il_old_key\n', { mode: 0o600 });
      const args = ['--key-file', file, '--log-level', 'debug'];
      const worker = await world.worker({ url: fcp.url, args, max: 2 });
      const input = { began: world.path('began'), until: world.path('until') };
      const task = fcp.offer({ type: 'test/wait', effectSafety: 'pure', input });
      await until(() => world.lines('began').length === 1, 'beginning');
      fcp.keys.reject('il_old_key');
      const from = fcp.log.length;
      await pause(1_000);
      writeFileSync(input.until, '');
      // What the old key cannot deliver waits on the disk.
      await until(() => world.records('reports').length === 1, 'report');
      await pause(7_000);
      const asked = fcp.log.length - from;
      expect(asked).toBeLessThan(60);
      expect(worker.running).toBe(true);
      fcp.keys.accept('il_new_key');
      writeFileSync(file, 'il_new_key\n', { mode: 0o600 });
      const written = performance.now();
      await task.accepted('complete', { timeoutMs: 70_000 });
      const after = Math.round(performance.now() - written);
      console.log(`F25: ${asked} calls in 8 s of 401; delivered ${after} ms after the new key`);
      expect(after).toBeLessThan(60_000 + 5_000);
      await until(() => world.records('reports').length === 0, 'empty spool');
      const next = fcp.offer({ type: 'test/echo', effectSafety: 'pure', input: 1 });
      await next.accepted('complete', { timeoutMs: 20_000 });
      expect(task.attempts.length).toBe(1);
      expect(
        task.reports('complete').filter(({ request }) => request.answered?.status === 200).length,
      ).toBe(1);
      expect(world.lines('began').length).toBe(1);
      expect(worker.err).not.toMatch(/il_(old|new)_key/);
    }));

  it.concurrent('F25: ends with its own exit code where the key is wrong at its first start', () =>
    stage({ keys: ['il_right'] }, async (world, fcp) => {
      const file = world.path('key');
      writeFileSync(file, 'il_wrong\n', { mode: 0o600 });
      const worker = world.launch({ url: fcp.url, args: ['--key-file', file] });
      expect(await worker.ending()).toEqual({ code: 77, signal: null });
      expect(fcp.requests('claim')).toEqual([]);
    }));
});

describe.skipIf(missing('root', 'unshare', '/dev/net/tun', 'ip', 'gcc'))('F24: a name', () => {
  /** A hosts file that only the processes under it see. */
  function hosts(world: World, ...addresses: string[]): string[] {
    const file = world.path('hosts');
    writeFileSync(file, addresses.map((address) => `${address} cp.test\n`).join(''));
    return ['unshare', '-m', 'sh', '-c', `mount --bind ${file} /etc/hosts && exec "$@"`, 'sh'];
  }

  /** A worker that knows the control plane by that name does a task. */
  async function works(world: World, fcp: Fcp, port: number, under: string[]): Promise<number> {
    const from = performance.now();
    const url = `http://cp.test:${port}`;
    const worker = await world.worker({ url, under, wrapper: false, args: ['--insecure-http'] });
    const task = fcp.offer({ type: 'test/echo', effectSafety: 'pure', input: 'there' });
    await task.accepted('complete', { timeoutMs: 40_000 });
    expect(fcp.violations).toEqual([]);
    worker.kill('SIGTERM');
    expect(await worker.ending()).toMatchObject({ code: 0 });
    return Math.round(performance.now() - from);
  }

  it.concurrent('whose ::1 refuses is reached at 127.0.0.1', () =>
    stage({}, async (world, fcp) => {
      const port = Number(new URL(fcp.url).port);
      const took = await works(world, fcp, port, hosts(world, '::1', '127.0.0.1'));
      console.log(`F24: ::1 refused: ${took} ms`);
    }));

  it.concurrent('whose ::1 accepts and never answers is reached at 127.0.0.1, and stays with it', () =>
    stage({}, async (world, fcp) => {
      const port = Number(new URL(fcp.url).port);
      const mute = new Set<Socket>();
      const server = createServer((socket) => {
        mute.add(socket);
        socket.on('error', () => {}).resume();
      });
      await new Promise<void>((resolve) => server.listen(port, '::1', resolve));
      try {
        const took = await works(world, fcp, port, hosts(world, '::1', '127.0.0.1'));
        console.log(`F24: ::1 mute: ${took} ms, ${mute.size} connections to it`);
        // One of each kind of call found it mute; nobody goes there again.
        expect(mute.size).toBeLessThanOrEqual(8);
      } finally {
        for (const socket of mute) socket.destroy();
        server.close();
      }
    }));

  it.concurrent('whose first address takes 800 ms to connect, and the second refuses, is reached at the slow one', () =>
    stage({ host: '0.0.0.0' }, async (world, fcp) => {
      await using link = await BentLink.open(world);
      await link.delay(400);
      const port = Number(new URL(fcp.url).port);
      const under = [...link.under, ...hosts(world, link.here, '127.0.0.1')];
      const took = await works(world, fcp, port, under);
      console.log(`F24: slow: ${took} ms`);
    }));

  it.concurrent('none of whose addresses can be reached is told with what became of each', async () => {
    await using world = new World();
    const port = await freePort();
    const [shell = '', ...args] = hosts(world, '::1', '127.0.0.1');
    const asked = world.processes.start(
      shell,
      [
        ...args,
        join(PROGRAMS, 'interlock'),
        'tasks',
        'list',
        '--url',
        `http://cp.test:${port}`,
        '--insecure-http',
      ],
      { env: { INTERLOCK_PRODUCER_KEY: 'il_any' } },
    );
    const { code } = await asked.ending(workerDefaults.requestTimeoutMs * 8);
    expect(code).toBe(68);
    expect(asked.err).toContain(`[::1]:${port} refused the connection`);
    expect(asked.err).toContain(`127.0.0.1:${port} refused the connection`);
  });
});
