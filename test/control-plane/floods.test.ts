import { createConnection, type Socket } from 'node:net';
import { join } from 'node:path';
import { connect as connectSecurely } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { SimulatedClock } from '../../sim/clock.ts';
import { isRefusal } from '../../src/control-plane/answer.ts';
import { type ServedControlPlane, serveControlPlane } from '../../src/control-plane/serve.ts';
import { SlowReaders } from '../../src/control-plane/slow-readers.ts';
import { type Lane, Turns } from '../../src/control-plane/turns.ts';
import { systemClock } from '../../src/system/clock.ts';
import { systemRandom } from '../../src/system/random.ts';

/** Peers that ask for much at once and take nothing, on real sockets: what they hold is bounded, and others go on. */

const API = '/api/tasks/v1';
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});
const MB = 1_048_576;
const quiet = () => {};

async function serve(
  socket: object = {},
  debug: (event: string) => void = quiet,
  more: object = {},
): Promise<ServedControlPlane & { adminKey: string }> {
  const one = await serveControlPlane({
    listen: '127.0.0.1:0',
    store: 'memory',
    clock: systemClock(),
    random: systemRandom(),
    log: { debug, info: quiet, warn: quiet, error: quiet },
    leaseMinMs: 2_000,
    socket: { checkEveryMs: 20, ...socket },
    ...more,
  });
  cleanups.push(() => one.stop());
  return { ...one, url: one.url, port: one.port, adminKey: one.adminKey ?? '' } as never;
}

async function call(url: string, key: string, method: string, path: string, body?: unknown) {
  const response = await fetch(`${url}${API}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return {
    status: response.status, // biome-ignore lint/suspicious/noExplicitAny: bodies are of every shape
    body: (await response.json()) as any,
  };
}

async function fill(url: string, key: string, tasks: number, chars: number): Promise<void> {
  for (let i = 0; i < tasks; i++) {
    const input = `${i}:`.padEnd(chars, 'x');
    const task = { type: 'big/x', schemaVersion: 1, pool: 'big', input };
    expect((await call(url, key, 'POST', '/tasks', task)).status).toBe(201);
  }
}

async function connected(port: number): Promise<Socket> {
  const socket = createConnection({ port, host: '127.0.0.1' });
  cleanups.push(() => socket.destroy());
  socket.on('error', quiet);
  await new Promise((resolve) => socket.once('connect', resolve));
  return socket;
}

const get = (path: string, key = '') =>
  `GET ${API}${path} HTTP/1.1\r\nHost: x\r\n${key && `Authorization: Bearer ${key}\r\n`}\r\n`;
const PAGE = '/tasks?limit=100&include=input&type=big/x';

/** Bodies in the order in which they come, of answers that have a length. */
async function bodies(socket: Socket, count: number, took: (body: Buffer) => void): Promise<void> {
  let left: Buffer = Buffer.alloc(0);
  let parts: Buffer[] = [];
  let size = 0;
  let wanted = 0;
  let taken = 0;
  await new Promise<void>((resolve, reject) => {
    socket.once('close', () => reject(new Error(`cut after ${taken} answers`)));
    socket.on('data', (chunk) => {
      parts.push(chunk);
      size += chunk.length;
      while (size >= wanted) {
        left = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
        const head = left.indexOf('\r\n\r\n');
        const length =
          head < 0 ? null : /content-length: (\d+)/i.exec(left.toString('latin1', 0, head));
        wanted = length === null ? left.length + 1 : head + 4 + Number(length[1]);
        if (left.length >= wanted) {
          took(left.subarray(head + 4, wanted));
          left = left.subarray(wanted);
          wanted = 0;
          if (++taken === count) return resolve();
        }
        parts = [left];
        size = left.length;
        if (size === 0) return;
      }
    });
  });
}

describe('one connection that sends 400 reads of large pages ahead', () => {
  it('and takes nothing holds one page; others are answered, leases go on', {
    timeout: 60_000,
  }, async () => {
    const { port, url, adminKey } = await serve();
    await fill(url, adminKey, 40, 200_000);
    const worker = (await call(url, adminKey, 'POST', '/keys', { name: 'w', kind: 'task-worker' }))
      .body.key;
    await call(url, adminKey, 'POST', '/tasks', {
      type: 'demo/hello',
      schemaVersion: 1,
      input: {},
    });
    const claim = await call(url, worker, 'POST', '/claims', {
      workerId: 'w1',
      sessionId: 's1',
      requestId: 'r1',
      pools: ['default'],
      want: [{ type: 'demo/hello', schemaVersion: 1, slots: 1, effectSafety: 'pure' }],
      max: 1,
    });
    const { taskId, attemptId, fence, leaseToken } = claim.body.attempts[0];
    const before = process.memoryUsage().rss;
    const silent = await connected(port);
    silent.pause();
    silent.write(get(PAGE, adminKey).repeat(400));
    for (let i = 0; i < 30; i++) {
      expect((await call(url, adminKey, 'GET', '/doctor')).status).toBe(200);
      const renewed = await call(url, worker, 'POST', `/attempts/${attemptId}/renew`, {
        taskId,
        fence,
        leaseToken,
      });
      expect(renewed.status).toBe(200);
    }
    // Others read pages too.
    expect((await call(url, adminKey, 'GET', PAGE)).body.tasks).toHaveLength(40);
    expect(process.memoryUsage().rss - before).toBeLessThan(400 * MB);
    silent.destroy();
    expect((await call(url, adminKey, 'GET', '/doctor')).status).toBe(200);
  });

  it('gets all of them, whole and in order, when it reads', { timeout: 60_000 }, async () => {
    const { port, url, adminKey } = await serve();
    const ids: string[] = [];
    for (let i = 0; i < 400; i++) {
      const task = { type: 'demo/hello', schemaVersion: 1, input: `${i}`.padEnd(20_000, 'x') };
      ids.push((await call(url, adminKey, 'POST', '/tasks', task)).body.id);
    }
    const reader = await connected(port);
    reader.write(ids.map((id) => get(`/tasks/${id}`, adminKey)).join(''));
    const got: string[] = [];
    await bodies(reader, 400, (body) => got.push(JSON.parse(String(body)).id));
    expect(got).toEqual(ids);
    // The connection is as good as before.
    reader.removeAllListeners('data');
    const more = bodies(reader, 1, (body) => got.push(JSON.parse(String(body)).id));
    reader.write(get(`/tasks/${ids[0]}`, adminKey));
    await more;
    expect(got.at(-1)).toBe(ids[0]);
  });
});

it('over TLS too requests sent ahead are answered whole and in order', async () => {
  const folder = join(import.meta.dirname, '..', 'wire', 'certificates');
  const tls = { certFile: join(folder, 'right.pem'), keyFile: join(folder, 'right.key') };
  const { port, adminKey } = await serve({}, quiet, { tls });
  const socket = connectSecurely({ port, host: '127.0.0.1', rejectUnauthorized: false });
  cleanups.push(() => socket.destroy());
  socket.on('error', quiet);
  await new Promise((resolve) => socket.once('secureConnect', resolve));
  const paths = Array.from({ length: 300 }, (_, i) => (i % 2 ? '/keys' : '/doctor'));
  const kinds: string[] = [];
  const told = bodies(socket, 300, (body) =>
    kinds.push('keys' in JSON.parse(String(body)) ? '/keys' : '/doctor'),
  );
  socket.write(paths.map((path) => get(path, adminKey)).join(''));
  await told;
  expect(kinds).toEqual(paths);
});

describe('many who take nothing', () => {
  it('of the open calls hold no copy of what they ask for', { timeout: 60_000 }, async () => {
    const { port, url } = await serve();
    const before = process.memoryUsage().rss;
    for (let i = 0; i < 100; i++) {
      const silent = await connected(port);
      silent.pause();
      silent.write(get('/openapi.json').repeat(90));
    }
    for (let i = 0; i < 10; i++) expect((await fetch(`${url}${API}/`)).status).toBe(200);
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * MB);
  });

  it('of large pages keep no more than the bound, and are cut when others wait', {
    timeout: 60_000,
  }, async () => {
    const cut = Promise.withResolvers<void>();
    const { port, url, adminKey } = await serve(
      { untakenBytes: 20 * MB, pressedMs: 2_000 },
      (event) => event === 'serve.slow-reader' && cut.resolve(),
    );
    await fill(url, adminKey, 40, 200_000);
    const before = process.memoryUsage().rss;
    const silent = await Promise.all(Array.from({ length: 8 }, () => connected(port)));
    for (const one of silent) {
      one.pause();
      one.write(get(PAGE, adminKey));
    }
    // Never behind them.
    expect((await call(url, adminKey, 'GET', '/doctor')).status).toBe(200);
    await cut.promise;
    expect((await call(url, adminKey, 'GET', PAGE)).body.tasks).toHaveLength(40);
    expect(process.memoryUsage().rss - before).toBeLessThan(300 * MB);
  });
});

describe('who sends more ahead than the bound', () => {
  it('is cut, and nobody else is', async () => {
    const { port, url, adminKey } = await serve({ pipelined: 20 });
    const other = await connected(port);
    const greedy = await connected(port);
    const ended = new Promise<void>((resolve) => greedy.once('close', () => resolve()));
    greedy.write(get('/doctor', adminKey).repeat(100));
    greedy.resume();
    await ended;
    const one = bodies(other, 20, quiet);
    other.write(get('/doctor', adminKey).repeat(20));
    await one;
    expect((await call(url, adminKey, 'GET', '/doctor')).status).toBe(200);
  });
});

describe('calls beyond those that may wait', () => {
  it('are told to come back, and reports have a lane of their own', async () => {
    const { url, adminKey } = await serve({ running: 1, waiting: 1 });
    const submits = await Promise.all(
      Array.from({ length: 12 }, () =>
        fetch(`${url}${API}/tasks`, {
          method: 'POST',
          headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
          body: JSON.stringify({ type: 'demo/hello', schemaVersion: 1, input: {} }),
        }),
      ),
    );
    const statuses = submits.map(({ status }) => status);
    expect(statuses).toContain(201);
    for (const one of submits) {
      if (one.status === 201) continue;
      expect(one.status).toBe(503);
      expect(one.headers.get('retry-after')).toBe('1');
    }
    expect(
      (
        await call(url, adminKey, 'POST', '/tasks', {
          type: 'demo/hello',
          schemaVersion: 1,
          input: {},
        })
      ).status,
    ).toBe(201);
  });
});

describe('a head that is held up behind an answer', () => {
  it('has its time from when it can go on: it is answered when it comes, and cut when not', async () => {
    const { port, url, adminKey } = await serve({ headersMs: 400, requestMs: 1_000 });
    const task = { type: 'demo/hello', schemaVersion: 1, input: {} };
    const { id, seq } = (await call(url, adminKey, 'POST', '/tasks', task)).body;
    // Much longer than a head may take.
    const poll = get(`/tasks/${id}/events?after=${seq}&waitMs=1500`, adminKey);
    const begun = get('/doctor', adminKey);
    for (const goesOn of [true, false]) {
      const socket = await connected(port);
      const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()));
      const got: string[] = [];
      const two = bodies(socket, 2, (body) => got.push(String(body)));
      socket.write(`${poll}${get('/doctor', adminKey)}${begun.slice(0, 20)}`);
      await two;
      expect(got[1]).toContain('serverTime');
      socket.removeAllListeners('data');
      if (!goesOn) {
        socket.resume();
        await ended;
        continue;
      }
      const third = bodies(socket, 1, (body) => got.push(String(body)));
      socket.write(begun.slice(20));
      await third;
      expect(got[2]).toContain('serverTime');
      socket.destroy();
    }
  });
});

describe('turns', () => {
  const limits = { running: 1, waiting: 2, reading: 1, untakenBytes: 100 };
  const entered = async (turns: Turns, lane: Lane, signal?: AbortSignal) => {
    const turn = await turns.enter(lane, signal);
    if (isRefusal(turn)) throw new Error(turn.detail);
    return turn;
  };

  it('are given in order, up to a bound; another lane is not held up', async () => {
    const turns = new Turns(limits);
    const first = await entered(turns, 'calls');
    const order: number[] = [];
    const later = [1, 2].map(async (n) => {
      const turn = await entered(turns, 'calls');
      order.push(n);
      turn.leave();
    });
    expect(await turns.enter('calls')).toMatchObject({ code: 'UNAVAILABLE' });
    (await entered(turns, 'reports')).leave();
    (await entered(turns, 'reads')).leave();
    expect(order).toEqual([]);
    first.leave();
    first.leave();
    await Promise.all(later);
    expect(order).toEqual([1, 2]);
  });

  it('are not kept by who waits outside, nor given to who has gone', async () => {
    const turns = new Turns(limits);
    const first = await entered(turns, 'reads');
    const gone = new AbortController();
    const never = turns.enter('reads', gone.signal);
    gone.abort();
    expect(await never).toMatchObject({ refused: true });
    expect(await turns.enter('reads', gone.signal)).toMatchObject({ refused: true });
    const news = Promise.withResolvers<void>();
    const back = first.outside(news.promise);
    const second = await entered(turns, 'reads');
    news.resolve();
    second.leave();
    await back;
    first.leave();
    (await entered(turns, 'reads')).leave();
  });

  it('of reads wait while too much is not taken', async () => {
    const turns = new Turns(limits);
    const taken = turns.untaken(101);
    expect(turns.pressed).toBe(false);
    const waiting = entered(turns, 'reads');
    expect(turns.pressed).toBe(true);
    (await entered(turns, 'reports')).leave();
    (await entered(turns, 'calls')).leave();
    taken();
    (await waiting).leave();
    expect([turns.pressed, turns.untakenBytes]).toEqual([false, 0]);
  });
});

describe('an answer that is looked after', () => {
  it('is any but the two streams', () => {
    const clock = new SimulatedClock({ wallMs: 0 });
    const readers = new SlowReaders({
      clock,
      answerMs: 1_000,
      everyMs: 100,
      pressedMs: 1_000,
      pressed: () => false,
      onCut: quiet,
    });
    const watched = (path: string) => {
      const before = readers.size;
      readers.began({ once: quiet, destroy: quiet }, path);
      return readers.size > before;
    };
    for (const path of [
      `${API}/events`,
      `${API}/hints?workerId=w&sessionId=s`,
      `http://x${API}/events/`,
    ])
      expect(watched(path)).toBe(false);
    for (const path of [
      `${API}/tasks/tsk_1/events`,
      `${API}/tasks/tsk_1/events?after=0`,
      `${API}/tasks/events`,
      `${API}/tasks?x=${API}/events`,
      '/events',
    ])
      expect(watched(path)).toBe(true);
  });
});
