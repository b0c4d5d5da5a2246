import { once } from 'node:events';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/system/clock.ts';
import { readBody } from '../../src/wire/body.ts';
import type { WireInit } from '../../src/wire/fetch.ts';
import { type FetchOptions, openFetch } from '../../src/wire/open-fetch.ts';
import { afterTest, httpPeer, tcpPeer } from './peers.ts';

/** For a machine that others keep busy. */
const SLOW = { timeout: 20_000 };

function open(options: Partial<FetchOptions> = {}) {
  const own = openFetch({ clock: systemClock(), ...options });
  afterTest(() => own.close());
  const call = async (url: string, init: Partial<WireInit> = {}) => {
    const { signal } = new AbortController();
    const plain = { method: 'GET', headers: {}, signal, redirect: 'manual' } as const;
    const response = await own.fetch(url, { ...plain, ...init });
    const { text } = await readBody(response, 1_000_000);
    return { status: response.status, text };
  };
  return { ...own, call };
}

describe('connections', () => {
  it('are used by one call after the other, and calls that wait are served in their order', async () => {
    const asked: string[] = [];
    const peer = await httpPeer((request, response) => {
      asked.push(request.url ?? '');
      response.end(request.url);
    });
    const { call } = open({ connections: { calls: 1 } });
    const paths = ['/a', '/b', '/c', '/d'];
    const answers = await Promise.all(paths.map((path) => call(peer.url + path)));
    expect(answers.map(({ text }) => text)).toEqual(paths);
    expect(asked).toEqual(paths);
    expect(peer.sockets.size).toBe(1);
  });

  it('are no more than there may be, and a call that is given up while it waits leaves no gap', async () => {
    const held: (() => void)[] = [];
    const peer = await httpPeer((_, response) => void held.push(() => response.end('done')));
    const { call } = open({ connections: { calls: 2 } });
    const first = [call(peer.url), call(peer.url)];
    const control = new AbortController();
    const given = call(peer.url, { signal: control.signal });
    const last = call(peer.url);
    control.abort(new Error('given up'));
    await expect(given).rejects.toThrow('given up');
    await expect.poll(() => held.length, SLOW).toBe(2);
    for (const end of held.splice(0)) end();
    await Promise.all(first);
    await expect.poll(() => held.length, SLOW).toBe(1);
    held[0]?.();
    expect(await last).toEqual({ status: 200, text: 'done' });
    expect(peer.sockets.size).toBe(2);
  });

  it('tell the headers of an answer by their names in capitals too', async () => {
    const peer = await httpPeer((_, response) => {
      response.writeHead(200, { 'Retry-After': '7' });
      response.end();
    });
    const { fetch } = open();
    const { signal } = new AbortController();
    const init = { method: 'GET', headers: {}, signal, redirect: 'manual' } as const;
    const { headers } = await fetch(peer.url, init);
    expect(['Retry-After', 'retry-after', 'x'].map((name) => headers.get(name))).toEqual([
      '7',
      '7',
      null,
    ]);
  });

  it('that cannot be opened fail one call each: the next one tries for itself', async () => {
    const { call } = open({ connections: { calls: 1 }, lookup: async () => ['127.0.0.1'] });
    const peer = await tcpPeer((socket) => socket.destroy());
    for (const socket of peer.sockets) socket.destroy();
    const all = await Promise.allSettled([1, 2, 3].map(() => call(peer.url)));
    expect(all.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(peer.sockets.size).toBe(3);
  });

  it('are not used in the last moments that the peer keeps them', async () => {
    const peer = await httpPeer((_, response) => {
      response.setHeader('keep-alive', 'timeout=2').end('ok');
    });
    const { call } = open();
    await call(peer.url);
    await call(peer.url);
    expect(peer.sockets.size).toBe(2);
  });

  it('on which something came that nobody had asked for are used no more: the next call has its own answer', async () => {
    let n = 0;
    const answer = (text: string) =>
      `HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\n\r\n${text}`;
    const peer = await tcpPeer((socket) => {
      socket.on('data', () => {
        const mine = ++n;
        socket.write(answer(`answer ${mine}`));
        // Twice: at once, and a moment later.
        if (mine === 1) socket.write(answer('nobody asked'));
        if (mine === 2) setTimeout(() => socket.write(answer('nobody asked')), 5);
      });
    });
    const { call } = open({ connections: { calls: 1 } });
    expect((await call(peer.url)).text).toBe('answer 1');
    expect((await call(peer.url)).text).toBe('answer 2');
    await expect.poll(() => peer.sockets.size, SLOW).toBe(2);
    await expect.poll(() => [...peer.sockets][1]?.destroyed, SLOW).toBe(true);
    expect((await call(peer.url)).text).toBe('answer 3');
    expect(peer.sockets.size).toBe(3);
  });

  it('end at once with the door, busy ones too; what waits is told', async () => {
    const peer = await httpPeer(() => {});
    const { call, close } = open({ connections: { calls: 1 } });
    const both = Promise.allSettled([call(peer.url), call(peer.url)]);
    await expect.poll(() => peer.sockets.size, SLOW).toBe(1);
    await close();
    await close();
    const codes = (await both).map((one) => 'reason' in one && one.reason.code);
    expect(codes).toEqual(['ECONNRESET', 'ERR_CLOSED']);
    await expect(call(peer.url)).rejects.toMatchObject({ code: 'ERR_CLOSED' });
  });

  it('whose body is cut, or stopped by the signal, say so', async () => {
    const peer = await tcpPeer((socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf');
        setImmediate(() => socket.resetAndDestroy());
      });
    });
    await expect(open().call(peer.url)).rejects.toMatchObject({ code: 'ECONNRESET' });
    const slow = await httpPeer((_, response) => void response.write('half'));
    const control = new AbortController();
    const stopped = open().call(slow.url, { signal: control.signal });
    await expect.poll(() => slow.sockets.size, SLOW).toBe(1);
    const [socket] = slow.sockets;
    control.abort(new Error('stopped'));
    await expect(stopped).rejects.toThrow('stopped');
    if (!socket?.destroyed) await once(socket as NonNullable<typeof socket>, 'close');
  });
});

describe('an encoded body', () => {
  const text = 'x'.repeat(5_000);
  it.each([
    ['gzip', gzipSync(text)],
    ['x-gzip', gzipSync(text)],
    ['deflate', deflateSync(text)],
    ['br', brotliCompressSync(text)],
    ['gzip, br', brotliCompressSync(gzipSync(text))],
    // Cut before its checksum, as some servers do.
    ['gzip', gzipSync(text).subarray(0, -8)],
    // Nothing that we know: as it came.
    ['rot13', Buffer.from(text)],
  ])('in %s is read (%#)', async (encoding, bytes) => {
    const peer = await httpPeer((_, response) => {
      response.writeHead(200, { 'content-encoding': encoding }).end(bytes);
    });
    const { call } = open();
    for (let i = 0; i < 2; i++) expect((await call(peer.url)).text).toBe(text);
    expect(peer.sockets.size).toBe(1);
  });

  it('in raw deflate, which some servers call deflate, is read too', async () => {
    const peer = await httpPeer((_, response) => {
      response.writeHead(200, { 'content-encoding': 'deflate' }).end(deflateRawSync(text));
    });
    expect((await open().call(peer.url)).text).toBe(text);
  });

  it('with more encodings than anybody uses is refused', async () => {
    const peer = await httpPeer((_, response) => {
      response.writeHead(200, { 'content-encoding': Array(6).fill('gzip').join() }).end('x');
    });
    await expect(open().call(peer.url)).rejects.toThrow('6 content encodings');
  });
});
