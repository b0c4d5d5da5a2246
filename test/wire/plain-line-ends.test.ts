/** How connections of plain calls end: by answers that say so, by resets, by TLS that breaks. */
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/system/clock.ts';
import { readBody } from '../../src/wire/body.ts';
import { openFetch } from '../../src/wire/open-fetch.ts';
import { afterTest, certificates, httpsPeer, tcpPeer } from './peers.ts';

/** One connection at a time. @returns the status and the text of each answer. */
function caller() {
  const net = { caFile: join(certificates, 'authority.pem'), lookup: async () => ['127.0.0.1'] };
  const own = openFetch({ clock: systemClock(), connections: { calls: 1, stream: 1 }, ...net });
  afterTest(() => own.close());
  return async (url: string) => {
    const signal = new AbortController().signal;
    const answer = await own.fetch(url, { method: 'GET', headers: {}, redirect: 'manual', signal });
    return `${answer.status} ${(await readBody(answer, 100)).text}`;
  };
}

describe('an answer that ends its connection, by a peer that leaves the closing to us,', () => {
  it.each([
    'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok',
    'HTTP/1.1 409 Conflict\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok',
    'HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
    'HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n',
    'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok',
  ])('holds up no other call: %j', async (text) => {
    const peer = await tcpPeer((socket) => {
      socket.on('data', () => socket.write(text));
    });
    const call = caller();
    const answers = [await call(peer.url), await call(peer.url), await call(peer.url)];
    expect(answers).toEqual(
      Array(3).fill(`${text.slice(9, 12)} ${text.includes('ok') ? 'ok' : ''}`),
    );
  });
});

describe('a connection with TLS', () => {
  /** What stands in front of an https peer, and may cut or garble: its newest connection to us. */
  async function front(listener: RequestListener) {
    const behind = await httpsPeer('right', listener);
    const opened: Socket[] = [];
    const { port } = await tcpPeer((socket) => {
      opened.push(socket);
      const through = connect(behind, '127.0.0.1').on('error', () => {});
      socket.pipe(through).pipe(socket, { end: false });
    });
    return { url: `https://cp.test:${port}`, newest: () => opened.at(-1) as Socket, opened };
  }

  const noRecord = Buffer.from('this is no record of TLS\r\n');

  it.each([
    ['plain', 200],
    ['not plain', 409],
  ])(
    'that breaks while it idles after a %s answer is not used again, and ends nothing else',
    async (_, status) => {
      const peer = await front((_request, response) => {
        response.statusCode = status;
        response.setHeader('content-length', 2).end('ok');
      });
      const call = caller();
      for (const breaks of [
        (socket: Socket) => socket.write(noRecord),
        (socket: Socket) => socket.resetAndDestroy(),
      ]) {
        expect(await call(peer.url)).toBe(`${status} ok`);
        const socket = peer.newest();
        const closed = once(socket, 'close');
        breaks(socket);
        await closed;
        expect(await call(peer.url)).toBe(`${status} ok`);
      }
      expect(peer.opened).toHaveLength(3);
    },
  );

  it('that breaks in the midst of an answer fails the call at once', async () => {
    const peer = await front(() => peer.newest().write(noRecord));
    await expect(caller()(peer.url)).rejects.toThrow();
  });
});
