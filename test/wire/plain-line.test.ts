import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/system/clock.ts';
import { readBody } from '../../src/wire/body.ts';
import type { WireInit } from '../../src/wire/fetch.ts';
import { openFetch } from '../../src/wire/open-fetch.ts';
import { runs } from '../property.ts';
import { afterTest, httpPeer, tcpPeer } from './peers.ts';

const own = () => {
  const opened = openFetch({ clock: systemClock(), connections: { calls: 1, stream: 1 } });
  afterTest(() => opened.close());
  return opened;
};

const plain = { method: 'GET', headers: {}, redirect: 'manual' } as const;
const given = (init: Partial<WireInit>): WireInit => ({
  ...plain,
  signal: new AbortController().signal,
  ...init,
});

/** How many requests Node's client makes meanwhile. */
async function byNode(work: () => Promise<unknown>): Promise<number> {
  let count = 0;
  const seen = () => count++;
  subscribe('http.client.request.start', seen);
  try {
    await work();
  } finally {
    unsubscribe('http.client.request.start', seen);
  }
  return count;
}

describe('a plain call', () => {
  it('makes no request of Node’s client, and says the same', async () => {
    const seen: unknown[] = [];
    const peer = await httpPeer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (more) => {
        body += more;
      });
      request.on('end', () => {
        const { method, url, headers } = request;
        seen.push({ method, url, headers, body });
        response.setHeader('content-length', 2).end('ok');
      });
    });
    const calls: Partial<WireInit>[] = [
      { headers: { accept: 'a/b', authorization: 'Bearer il_a' } },
      { method: 'POST', body: '{"a":1}', headers: { 'content-type': 'application/json' } },
      { method: 'POST', body: '{"a":"ä€😀"}', headers: { 'content-type': 'application/json' } },
    ];
    const { fetch } = own();
    const all = async (more: Partial<WireInit>) => {
      for (const call of calls) {
        const response = await fetch(`${peer.url}/a%20b?c=d`, given({ ...call, ...more }));
        expect((await readBody(response, 100)).text).toBe('ok');
      }
    };
    expect(await byNode(() => all({}))).toBe(0);
    // Streams are Node's from the start.
    expect(await byNode(() => all({ lane: 'stream' }))).toBe(3);
    expect(seen.slice(0, 3)).toEqual(seen.slice(3));
  });

  it('is Node’s where its body is bytes: they are sent as they are', async () => {
    const seen: Buffer[] = [];
    const peer = await httpPeer((request, response) => {
      request.on('data', (more) => seen.push(more));
      request.on('end', () => response.end());
    });
    const bytes = new Uint8Array([0xff, 0x7b]);
    await own().fetch(peer.url, given({ method: 'POST', body: bytes }));
    expect([...Buffer.concat(seen)]).toEqual([...bytes]);
  });

  it('is Node’s where a header could end the line it stands on: it is refused', async () => {
    const peer = await httpPeer((_, response) => response.end());
    const headers = { authorization: 'Bearer il_a\r\nx-other: 1' };
    await expect(own().fetch(peer.url, given({ headers }))).rejects.toThrow('Invalid character');
  });

  it('takes nothing for its answer that belongs to a call before it, which was given up', async () => {
    const asked: Socket[] = [];
    const { promise: heard, resolve: hear } = Promise.withResolvers<void>();
    const peer = await tcpPeer((socket) => {
      socket.on('data', () => {
        asked.push(socket);
        if (asked.length === 1) hear();
        else for (const [i, one] of asked.entries()) one.write(answering(`call ${i + 1}`));
      });
    });
    const { fetch } = own();
    const givenUp = new AbortController();
    const first = fetch(peer.url, given({ signal: givenUp.signal }));
    await heard;
    givenUp.abort(new Error('no more'));
    await expect(first).rejects.toThrow('no more');
    const second = await fetch(peer.url, given({}));
    expect((await readBody(second, 100)).text).toBe('call 2');
  });

  it('takes of what comes what its answer says that it has, and leaves the rest to nobody', async () => {
    let calls = 0;
    const peer = await tcpPeer((socket) => {
      socket.on('data', () => {
        const more = ++calls === 1 ? answering('nobody has asked') : '';
        socket.write(`${answering(`call ${calls}`)}${more}`);
      });
    });
    const { fetch } = own();
    for (const text of ['call 1', 'call 2']) {
      const response = await fetch(peer.url, given({}));
      expect((await readBody(response, 100)).text).toBe(text);
    }
  });

  it('has the connection after an answer that was Node’s to read, however much comes then', async () => {
    let calls = 0;
    const large = 'x'.repeat(300_000);
    const peer = await httpPeer((_, response) => {
      if (++calls === 1) response.write('in ');
      response.end(calls === 1 ? 'pieces' : large);
    });
    const { fetch } = own();
    for (const text of ['in pieces', large, large]) {
      const response = await fetch(peer.url, given({}));
      expect((await readBody(response, 1_000_000)).text === text).toBe(true);
    }
    expect(peer.sockets.size).toBe(1);
  });
});

const answering = (text: string) =>
  `HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\n\r\n${text}`;

/** Pieces of answers, as peers and what stands in front of them write them. */
const line = fc.constantFrom(
  ...['Content-Length: 5', 'content-length:5', 'Content-Length: 4', 'Content-Length: 9'],
  ...['Content-Length: 5, 5', 'Content-Length: +5', 'Content-Length: ', 'Content-Length: 2000000'],
  ...['Transfer-Encoding: chunked', 'Content-Encoding: zstd', 'Content-Encoding: identity'],
  ...['Connection: keep-alive', 'Connection: Keep-Alive', 'Connection: close', 'Upgrade: h2c'],
  ...[
    'Retry-After: 1',
    'retry-after: 2',
    'X-A : 1',
    ' folded',
    'X-B:',
    'X-C: \t a \t',
    '__proto__: 1',
  ],
  ...['X-D: \u00e4', 'X-E: a\rb', 'X-F: a\nb', 'X G: 1', ': 1', 'X-H', 'Keep-Alive: timeout=1'],
);
const start = fc.constantFrom(
  ...[
    'HTTP/1.1 200 OK',
    'HTTP/1.1 200 OK',
    'HTTP/1.1 201 Created',
    'HTTP/1.1 200',
    'HTTP/1.1 200 ',
  ],
  ...[
    'HTTP/1.0 200 OK',
    'HTTP/1.1 204 No Content',
    'HTTP/1.1 304 Not Modified',
    'HTTP/1.1 409 Conflict',
  ],
  ...[
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK',
    'HTTP/1.1  200 OK',
    'http/1.1 200 OK',
    'SSH-2.0-x',
  ],
);
const body = fc.constantFrom('{"a":', '{"a":', '', 'half', '5\r\n{"a":\r\n0\r\n\r\n', '{"a":more');
const answer = fc.record({
  text: fc
    .tuple(start, fc.array(line, { maxLength: 4 }), fc.constantFrom('\r\n', '\r\n', '\n'), body)
    .map(([first, lines, end, rest]) => `${[first, ...lines].join(end)}${end}${end}${rest}`),
  /** Where it is cut into two pieces, of a hundred. */
  cut: fc.option(fc.nat(100)),
});

it('an answer means the same by the plain way as to Node’s client, wherever it is cut', async () => {
  let asked: { text: string; cut: number | null };
  const peer = await tcpPeer((socket) => {
    socket.on('data', () => {
      const { text, cut } = asked;
      const at = cut === null ? text.length : Math.floor((text.length * cut) / 100);
      const end = () => socket.end();
      socket.write(Buffer.from(text.slice(0, at), 'latin1'), () =>
        // What comes apart is read apart.
        setTimeout(
          () => socket.write(Buffer.from(text.slice(at), 'latin1'), () => setTimeout(end, 2)),
          2,
        ),
      );
    });
  });
  let whole = 0;
  await fc.assert(
    fc.asyncProperty(answer, async (drawn) => {
      asked = drawn;
      const { fetch, close } = own();
      const read = async (lane: 'calls' | 'stream') => {
        try {
          const response = await fetch(peer.url, given({ lane, once: true }));
          const { kind, text } = await readBody(response, 1_000);
          const names = ['retry-after', 'content-type', 'x-c', 'x-b'];
          return {
            status: response.status,
            kind,
            text,
            headers: names.map((name) => response.headers.get(name)),
          };
        } catch (error) {
          return { code: (error as { code?: string }).code ?? String(error) };
        }
      };
      const [plainly, node] = [await read('calls'), await read('stream')];
      await close();
      if ('status' in node) whole++;
      expect(plainly).toEqual(node);
    }),
    { numRuns: runs(60) },
  );
  expect(whole).toBeGreaterThan(3);
});
