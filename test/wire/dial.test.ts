import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { wireDefaults } from '../../src/core/defaults.ts';
import { systemClock } from '../../src/system/clock.ts';
import { Dialer } from '../../src/wire/dial.ts';
import { openFetch } from '../../src/wire/open-fetch.ts';
import { afterTest, deadPort, httpPeer, openDoor, plainCall, tcpPeer } from './peers.ts';

const OK = JSON.stringify({ ok: true });
/** Another address of this machine. */
const SECOND = '127.0.0.2';

/** A name with these addresses, as a hosts file would say. */
function named(...addresses: string[]) {
  return { lookup: () => Promise.resolve(addresses) };
}

describe('a name with several addresses', () => {
  it('is reached although its first address refuses', async () => {
    const peer = await httpPeer((_, response) => response.end(OK));
    const door = openDoor(`http://cp.test:${peer.port}`, {
      net: named('::1', '127.0.0.1'),
      insecureHttp: true,
    });
    expect(await door.call(plainCall)).toMatchObject({ kind: 'ok' });
  });

  it('is reached although its first address accepts and never answers: it comes last from then on', async () => {
    const peer = await httpPeer((_, response) => response.end(OK));
    const mute = await tcpPeer((socket) => socket.resume(), { host: SECOND, port: peer.port });
    const door = openDoor(`http://cp.test:${peer.port}`, {
      net: named(SECOND, '127.0.0.1'),
      insecureHttp: true,
    });
    expect(await door.call({ ...plainCall, timeoutMs: 300 })).toMatchObject({ cause: 'timeout' });
    const [socket] = mute.sockets;
    if (socket && !socket.closed) await once(socket, 'close');
    expect(await door.call(plainCall)).toMatchObject({ kind: 'ok' });
    expect(mute.sockets.size).toBe(1);
  });

  it('is told with what became of each address', async () => {
    const port = await deadPort();
    const door = openDoor(`http://cp.test:${port}`, {
      net: named('127.0.0.1', '127.0.0.3'),
      insecureHttp: true,
    });
    expect(await door.call(plainCall)).toMatchObject({
      kind: 'no-answer',
      cause: 'connect',
      why: expect.stringMatching(
        /"cp.test".*127\.0\.0\.1:\d+ refused.*127\.0\.0\.3:\d+ refused.*is the control plane running/,
      ),
    });
  });

  it('is reached at once although its first address swallows every packet', async () => {
    const hole = await blackHole();
    const peer = await tcpPeer(() => {}, { host: SECOND, port: hole.port });
    const dialer = new Dialer(systemClock(), named('127.0.0.1', SECOND).lookup);
    const started = performance.now();
    const socket = await dialer.dial('cp.test', hole.port, 5_000);
    expect(socket.remoteAddress).toBe(SECOND);
    expect(performance.now() - started).toBeLessThan(2_000);
    expect(peer.sockets.size).toBe(1);
    socket.destroy();
  });

  it('is told as silent when all its packets are swallowed, within the limit', async () => {
    const hole = await blackHole();
    const dialer = new Dialer(systemClock(), named('127.0.0.1').lookup);
    await expect(dialer.dial('cp.test', hole.port, 400)).rejects.toMatchObject({
      reason: 'connect',
      message: expect.stringContaining(`127.0.0.1:${hole.port} did not answer within 0.4 s`),
    });
  });

  it('is not given up because it is slow and the others refuse', async () => {
    const hole = await blackHole();
    const dialer = new Dialer(systemClock(), named('127.0.0.1', SECOND).lookup);
    const dialled = dialer.dial('cp.test', hole.port, 20_000);
    // Longer than the next address waits for its turn; the next packet then gets through.
    await new Promise((resolve) => setTimeout(resolve, 2 * wireDefaults.staggerMs));
    hole.open();
    const socket = await dialled;
    expect(socket.remoteAddress).toBe('127.0.0.1');
    socket.destroy();
  });
});

/** A port that drops every SYN: its process is stopped and its queue is full. Until `open`. */
async function blackHole(): Promise<{ port: number; open: () => void }> {
  const code = `require('net').createServer(s => s.resume().on('error', () => {}))
    .listen({ port: 0, host: '127.0.0.1', backlog: 1 }, function () { console.log(this.address().port); })`;
  const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  const queued: Socket[] = [];
  afterTest(() => {
    for (const socket of queued) socket.destroy();
    child.kill('SIGKILL');
  });
  const port = Number(String((await once(child.stdout, 'data'))[0]));
  child.kill('SIGSTOP');
  // One more than the queue takes hangs.
  for (let hangs = false; !hangs; ) {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    queued.push(socket);
    const timer = new Promise((resolve) => setTimeout(resolve, 300, true));
    hangs = (await Promise.race([once(socket, 'connect').then(() => false), timer])) as boolean;
  }
  return { port, open: () => child.kill('SIGCONT') };
}

describe('a name', () => {
  const failing = (code: string) => ({
    lookup: () => Promise.reject(Object.assign(new Error('no'), { code })),
  });

  it.each(['ENOTFOUND', 'EAI_AGAIN'])(
    'that DNS does not tell (%s) is told as that',
    async (code) => {
      const door = openDoor('https://cp.test', { net: failing(code) });
      expect(await door.call(plainCall)).toMatchObject({
        kind: 'no-answer',
        cause: 'dns',
        why: expect.stringContaining(code),
      });
    },
  );

  it('of this machine needs no DNS and is believed nowhere else', async () => {
    const peer = await httpPeer((_, response) => response.end(OK));
    for (const net of [failing('ENOTFOUND'), named('192.0.2.1')]) {
      const door = openDoor(`http://localhost:${peer.port}`, { net });
      expect(await door.call(plainCall)).toMatchObject({ kind: 'ok' });
    }
  });

  it('is asked for once, however many calls wait for it', async () => {
    const peer = await httpPeer((_, response) => response.end(OK));
    let asked = 0;
    const lookup = async () => {
      asked++;
      return ['127.0.0.1'];
    };
    const door = openDoor(`http://cp.test:${peer.port}`, { net: { lookup }, insecureHttp: true });
    await Promise.all([door.call(plainCall), door.call(plainCall), door.call(plainCall)]);
    expect(asked).toBe(1);
  });
});

it('closes all its connections, twice if it must, also busy ones', async () => {
  const peer = await httpPeer((request, response) => {
    if (request.url === '/done') response.end(OK);
  });
  const own = openFetch({ clock: systemClock() });
  afterTest(() => own.close());
  const { signal } = new AbortController();
  const init = { method: 'GET', headers: {}, signal, redirect: 'manual' } as const;
  await (await own.fetch(`${peer.url}/done`, init)).body?.cancel();
  const busy = own.fetch(peer.url, init);
  busy.catch(() => {});
  while (peer.sockets.size === 0) await new Promise((resolve) => setImmediate(resolve));
  await own.close();
  await own.close();
  await expect(busy).rejects.toThrow();
});
