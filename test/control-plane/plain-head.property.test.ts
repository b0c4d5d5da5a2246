import { createServer, type IncomingMessage } from 'node:http';
import { Duplex } from 'node:stream';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readHead } from '../../src/control-plane/plain-head.ts';
import { runs } from '../property.ts';

/** What Node's own server makes of these bytes: the request, or `undefined` where it takes none. */
function byNode(text: string): Promise<IncomingMessage | undefined> {
  return new Promise((resolve) => {
    const server = createServer((request) => resolve(request));
    server.on('clientError', () => resolve(undefined));
    const socket = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
    server.emit('connection', socket);
    socket.push(Buffer.from(text, 'latin1'));
    setImmediate(() => setImmediate(() => resolve(undefined)));
  });
}

const line = fc.constantFrom(
  ...['Host: x', 'host: a:7420', 'HOST:x', 'Authorization: Bearer il_a', 'authorization: b'],
  ...['Content-Length: 0', 'content-length:5', 'Content-Length: 5, 5', 'Content-Length: +5'],
  ...[
    'Content-Length: 05',
    'Content-Length: ',
    'Transfer-Encoding: chunked',
    'Expect: 100-continue',
  ],
  ...['Connection: keep-alive', 'Connection: Keep-Alive', 'connection: close', 'Upgrade: h2c'],
  ...[
    'Connection: keep-alive, upgrade',
    'X-A : 1',
    ' folded',
    '\tfolded',
    'X-B:',
    'X-C: \t a b \t',
  ],
  ...['X-D: \u00e4', 'X-E: a\rb', 'X-F: a\nb', 'X G: 1', ': 1', 'X-H', 'X-I: a:b', '__proto__: 1'],
  ...['Content-Type: application/json', 'Idempotency-Key: "k"', 'X-J: \u0000', 'X-K: \u007f'],
);
const start = fc.oneof(
  { weight: 8, arbitrary: fc.constant('POST /api/tasks/v1/tasks HTTP/1.1') },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      ...['GET /a?b=c HTTP/1.1', 'PUT /a HTTP/1.1', 'GET /a HTTP/1.0', 'GET  /a HTTP/1.1'],
      ...['get /a HTTP/1.1', 'GET http://h/a HTTP/1.1', 'GET /a HTTP/1.1 ', 'GET /\u00e4 HTTP/1.1'],
      ...['OPTIONS * HTTP/1.1', 'GET /a\tb HTTP/1.1', 'GET /a#b HTTP/1.1', 'DELETE /a HTTP/1.1'],
    ),
  },
);
const head = fc
  .tuple(start, fc.array(line, { maxLength: 6 }), fc.constantFrom('\r\n', '\r\n', '\r\n', '\n'))
  .map(([first, lines, end]) => `${[first, 'Host: x', ...lines].join(end)}${end}${end}`);

it('a head that is taken is taken by Node too, and means the same', async () => {
  let taken = 0;
  await fc.assert(
    fc.asyncProperty(head, async (text) => {
      const plain = readHead(text);
      if (plain === undefined) return;
      taken++;
      const request = await byNode(text + 'x'.repeat(plain.bodyBytes));
      expect(request).toMatchObject({ method: plain.method, url: plain.url, httpVersion: '1.1' });
      for (const name of Object.keys(request?.headers ?? {}))
        expect(plain.header(name)).toBe(request?.headers[name]);
      expect(request?.headers['content-length'] ?? '0').toBe(
        plain.header('content-length') ?? String(plain.bodyBytes),
      );
      expect(request?.headers['transfer-encoding']).toBeUndefined();
    }),
    { numRuns: runs(500) },
  );
  expect(taken).toBeGreaterThan(0);
});

it('what has to be looked at closely is not taken', () => {
  const given = (lines: string) => readHead(`POST /a HTTP/1.1\r\nHost: x\r\n${lines}\r\n`);
  expect(given('Content-Length: 5\r\n')?.bodyBytes).toBe(5);
  for (const lines of [
    ...['Transfer-Encoding: chunked\r\n', 'Content-Length: 1\r\nContent-Length: 1\r\n'],
    ...['Expect: 100-continue\r\n', 'Connection: close\r\n', 'Host: y\r\n', ' folded\r\n'],
    ...['X : 1\r\n', 'X: \u00e4\r\n', 'X: a\rb\r\n', 'X: a\nb\r\n', 'Content-Length: -1\r\n'],
  ])
    expect(given(lines), lines).toBeUndefined();
});

it('a head of more than 100 headers is not taken', () => {
  const lines = (n: number) => Array.from({ length: n }, (_, i) => `X-${i}: 1\r\n`).join('');
  const given = (n: number) => readHead(`GET /a HTTP/1.1\r\nHost: x\r\n${lines(n)}\r\n`);
  expect(given(99)?.header('x-98')).toBe('1');
  expect(given(100)).toBeUndefined();
});
