import { type AddressInfo, createConnection, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { EventStream } from '../../src/control-plane/event-stream.ts';
import { type ServedControlPlane, serveControlPlane } from '../../src/control-plane/serve.ts';
import { makeServer } from '../../src/control-plane/socket.ts';
import { serverDefaults } from '../../src/core/defaults.ts';
import { systemClock } from '../../src/system/clock.ts';
import { systemRandom } from '../../src/system/random.ts';

/** What peers may take of a control plane, on real sockets, with small limits. Meanwhile others go on. */

const clock = systemClock();
const random = systemRandom();
const API = '/api/tasks/v1';
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

const lines: string[] = [];
let told: () => void = () => {};
const line = (event: string, text: string) => {
  lines.push(`${event} ${text}`);
  told();
};
const log = { debug: line, info: line, warn: line, error: line };

function logged(event: string): Promise<string> {
  return new Promise((resolve) => {
    told = () => {
      const found = lines.find((one) => one.startsWith(event));
      if (found) resolve(found);
    };
    told();
  });
}

async function serve(socket: object, more: object = {}): Promise<ServedControlPlane> {
  lines.length = 0;
  const one = await serveControlPlane({
    listen: '127.0.0.1:0',
    store: 'memory',
    clock,
    random,
    log,
    socket: { checkEveryMs: 20, ...socket },
    ...more,
  });
  cleanups.push(() => one.stop());
  return one;
}

interface Peer {
  readonly socket: Socket;
  readonly got: () => string;
  readonly bytes: () => number;
  /** What came, once the other end is gone. */
  readonly ended: Promise<string>;
}

async function peer(port: number): Promise<Peer> {
  const socket = createConnection({ port, host: '127.0.0.1' });
  cleanups.push(() => socket.destroy());
  let got = '';
  let bytes = 0;
  socket.on('data', (chunk) => {
    bytes += chunk.byteLength;
    if (got.length < 10_000) got += chunk.toString('latin1');
  });
  socket.on('error', () => {});
  const ended = new Promise<string>((resolve) => socket.once('close', () => resolve(got)));
  await new Promise((resolve) => socket.once('connect', resolve));
  return { socket, got: () => got, bytes: () => bytes, ended };
}

/** Writes a byte now and then, as a slow sender does, until the other end has had enough. */
function trickle(socket: Socket, byte: string): void {
  const timer = setInterval(() => socket.write(byte), 10);
  const end = () => clearInterval(timer);
  socket.once('close', end);
  cleanups.push(end);
}

const get = (path: string, key = '', more = '') =>
  `GET ${API}${path} HTTP/1.1\r\nHost: x\r\n${key && `Authorization: Bearer ${key}\r\n`}${more}\r\n`;
const post = (path: string, key: string, length: number | 'chunked') =>
  `POST ${API}${path} HTTP/1.1\r\nHost: x\r\n${key && `Authorization: Bearer ${key}\r\n`}Content-Type: application/json\r\n${
    length === 'chunked' ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`
  }\r\n\r\n`;

const works = async (url: string, key = '') =>
  (
    await fetch(`${url}${API}${key ? '/doctor' : '/'}`, {
      headers: key ? { authorization: `Bearer ${key}` } : {},
    })
  ).status === 200;

describe('a head', () => {
  it('that is too large gets 431', async () => {
    const { port, url } = await serve({ headerBytes: 2_000 });
    const large = await peer(port);
    large.socket.write(get('/', '', `X: ${'y'.repeat(3_000)}\r\n`));
    expect(await large.ended).toMatch(/^HTTP\/1\.1 431 [\s\S]*more than 2000 bytes/);
    expect(await works(url)).toBe(true);
  });

  it('that comes byte by byte gets 408 in time', async () => {
    const { port, url } = await serve({ headersMs: 150, requestMs: 60_000 });
    const slow = await peer(port);
    slow.socket.write(`GET ${API}/ HTTP/1.1\r\nX-Slow: `);
    trickle(slow.socket, 'x');
    expect(await slow.ended).toMatch(/^HTTP\/1\.1 408 [\s\S]*it came too slowly/);
    expect(await works(url)).toBe(true);
  });

  it('that never comes ends the connection', async () => {
    const { port } = await serve({ headersMs: 150, requestMs: 200, keepAliveMs: 60_000 });
    expect(await (await peer(port)).ended).toMatch(/^HTTP\/1\.1 408|^$/);
  });
});

describe('a body', () => {
  it('that stalls, or comes byte by byte, is cut in time with 408, and nothing of it is kept', async () => {
    const { port, url, adminKey = '' } = await serve({ headersMs: 150, requestMs: 200 });
    const stalls = await peer(port);
    stalls.socket.write(`${post('/tasks', adminKey, 500)}{"type":`);
    const slow = await peer(port);
    slow.socket.write(post('/tasks', adminKey, 5_000));
    trickle(slow.socket, ' ');
    const chunked = await peer(port);
    chunked.socket.write(`${post('/tasks', adminKey, 'chunked')}1\r\n{\r\n`);
    for (const ended of [stalls.ended, slow.ended, chunked.ended])
      expect(await ended).toMatch(/^HTTP\/1\.1 408 |^$/);
    expect(await works(url, adminKey)).toBe(true);
    const list = await fetch(`${url}${API}/tasks`, {
      headers: { authorization: `Bearer ${adminKey}` },
    });
    expect(await list.json()).toEqual({ tasks: [] });
  });

  it('over the limit gets 413 before it is sent', async () => {
    const { port, adminKey = '' } = await serve({});
    const large = await peer(port);
    large.socket.write(post('/tasks', adminKey, 1_000_000_000));
    expect(await large.ended).toMatch(/^HTTP\/1\.1 413 [\s\S]*PAYLOAD_TOO_LARGE/);
  });

  it('of somebody without a key is not waited for', async () => {
    const { port } = await serve({});
    for (const key of ['', 'il_unknown']) {
      const stranger = await peer(port);
      stranger.socket.write(post('/tasks', key, 900_000));
      expect(await stranger.ended).toMatch(/^HTTP\/1\.1 401 [\s\S]*UNAUTHENTICATED/);
    }
  });
});

describe('a reader', () => {
  /** The socket alone, with other answers. */
  async function made(socket: object, fetch: (request: Request) => Promise<Response>) {
    const limits = { ...serverDefaults, checkEveryMs: 20, ...socket };
    const { server, cut } = makeServer({ clock, log, limits, fetch, requestId: () => 'req_1' });
    server.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    cleanups.push(() => {
      cut();
      return new Promise((resolve) => server.close(resolve));
    });
    return { server, port: (server.address() as AddressInfo).port };
  }

  /** A page of some 25 MB, far more than the kernel takes in for a reader that does not read. */
  async function filled(socket: object) {
    const plane = await serve(socket);
    const { url, adminKey = '' } = plane;
    const input = '\u20ac'.repeat(87_000);
    for (let i = 0; i < 100; i += 4) {
      const replies = await Promise.all(
        [1, 2, 3, 4].map(() =>
          fetch(`${url}${API}/tasks`, {
            method: 'POST',
            headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
            body: JSON.stringify({ type: 'demo/hello', schemaVersion: 1, input }),
          }),
        ),
      );
      for (const { status } of replies) expect(status).toBe(201);
    }
    return { ...plane, adminKey, page: get('/tasks?include=input&limit=100', adminKey) };
  }

  it('that takes its answer too slowly is cut, and others are answered meanwhile', async () => {
    const { port, url, adminKey, page } = await filled({ answerMs: 400, silenceMs: 60_000 });
    const slow = await peer(port);
    slow.socket.pause();
    slow.socket.write(page);
    // It takes a little now and then: never silent.
    const sips = setInterval(() => {
      slow.socket.read(1_000);
    }, 20);
    cleanups.push(() => clearInterval(sips));
    expect(await works(url, adminKey)).toBe(true);
    expect(await logged('serve.slow-reader')).toContain('after 0.4 s');
    clearInterval(sips);
    slow.socket.resume();
    await slow.ended;
    expect(slow.bytes()).toBeLessThan(20_000_000);
    expect(await works(url, adminKey)).toBe(true);
  });

  it('that takes nothing at all is cut after a silence', async () => {
    const { port, server } = await made({ silenceMs: 2_000 }, async (request) =>
      request.url.endsWith('large')
        ? new Response('x'.repeat(30_000_000))
        : new Response('{}', { headers: { 'Content-Type': 'application/json' } }),
    );
    const cut = new Promise<void>((resolve) =>
      server.once('connection', (socket) => socket.once('close', () => resolve())),
    );
    // A connection of its own each time: one that is kept open is silent too.
    const other = async () =>
      (await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: 'close' } })).status;
    const silent = await peer(port);
    silent.socket.pause();
    silent.socket.write(get('/large'));
    expect(await other()).toBe(200);
    await cut;
    expect(await other()).toBe(200);
  });

  it('of a stream that takes nothing is cut at the bound of what waits, and others go on', async () => {
    const bound = 100_000;
    const streams: EventStream[] = [];
    const ends: Promise<void>[] = [];
    const { port, server } = await made({ silenceMs: 1_000 }, async () => {
      const end = Promise.withResolvers<void>();
      const stream = new EventStream(bound, end.resolve);
      streams.push(stream);
      ends.push(end.promise);
      return new Response(stream.body, { headers: { 'Content-Type': 'text/event-stream' } });
    });
    const asleep = await peer(port);
    asleep.socket.pause();
    asleep.socket.write(get('/events'));
    const awake = await peer(port);
    awake.socket.write(get('/events'));
    const both = () => streams.length === 2;
    while (!both()) await new Promise((resolve) => setImmediate(resolve));
    // Whichever came first: what is sent goes to both, as fast as the one that reads takes it.
    const text = 'x'.repeat(10_000);
    let sent = 0;
    while (streams.every(({ open }) => open)) {
      for (const stream of streams) stream.send('task', { text });
      sent += text.length;
      const wanted = sent;
      while (awake.bytes() < wanted && streams.every(({ open }) => open))
        await new Promise((resolve) => setImmediate(resolve));
      expect(sent).toBeLessThan(60_000_000);
    }
    expect(streams.map(({ open }) => open).sort()).toEqual([false, true]);
    const before = awake.bytes();
    for (const stream of streams) stream.send('task', { after: 'the cut' });
    while (awake.bytes() === before) await new Promise((resolve) => setImmediate(resolve));
    await Promise.race(ends);
    // What waited for it is let go with its socket, after the silence; pings keep the other.
    const connections = () =>
      new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)));
    while ((await connections()) > 1) {
      for (const stream of streams) stream.send('ping', {});
      await clock.sleep(20);
    }
    expect(streams.filter(({ open }) => open)).toHaveLength(1);
  });
});

describe('connections', () => {
  it('beyond the bound are refused, told once, and those that are there go on', async () => {
    const { port } = await serve({ connections: 3 });
    const ask = async (one: Peer) => {
      const answered = new Promise((resolve) => one.socket.once('data', resolve));
      one.socket.write(get('/'));
      await Promise.race([answered, one.ended]);
      return one.got().slice(0, 15);
    };
    const inside = await Promise.all([1, 2, 3].map(() => peer(port)));
    for (const one of inside) expect(await ask(one)).toBe('HTTP/1.1 200 OK');
    for (let i = 0; i < 5; i++) expect(await (await peer(port)).ended).toBe('');
    expect(lines.filter((one) => one.startsWith('serve.full'))).toEqual([
      expect.stringContaining('3 connections are open'),
    ]);
    for (const one of inside) {
      one.socket.removeAllListeners('data');
      const again = new Promise<Buffer>((resolve) => one.socket.once('data', resolve));
      one.socket.write(get('/'));
      expect(String(await again)).toMatch(/^HTTP\/1\.1 200/);
    }
    inside[0]?.socket.destroy();
    await inside[0]?.ended;
    // The server hears of it a moment later.
    let fresh = '';
    while (fresh === '') fresh = await ask(await peer(port));
    expect(fresh).toBe('HTTP/1.1 200 OK');
  });
});
