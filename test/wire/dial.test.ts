import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/system/clock.ts';
import { Dialer } from '../../src/wire/dial.ts';
import { openFetch } from '../../src/wire/open-fetch.ts';
import { afterTest, deadPort, httpPeer, openDoor, plainCall, tcpPeer } from './peers.ts';

const OK = JSON.stringify({ ok: true });
/** Loopback, so nothing leaves; a SYN to a full backlog is how a black hole looks. */
const SILENT = '127.0.0.2';

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
    const mute = await tcpPeer((socket) => socket.resume(), { host: SILENT, port: peer.port });
    const door = openDoor(`http://cp.test:${peer.port}`, {
      net: named(SILENT, '127.0.0.1'),
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

  it('is not given up because it is slow: the first that connects wins', async () => {
    const peer = await httpPeer((_, response) => response.end(OK));
    // 192.0.2.0/24 is for documents; without a route it fails at once, with one it is a black hole.
    const dialer = new Dialer(systemClock(), () => Promise.resolve(['127.0.0.1', '192.0.2.1']));
    const socket = await dialer.dial('cp.test', peer.port, 5_000);
    expect(socket.remoteAddress).toBe('127.0.0.1');
    socket.destroy();
  });
});

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
