import { describe, expect, it } from 'vitest';
import { wireDefaults } from '../../src/core/defaults.ts';
import { readPlainHead } from '../../src/wire/plain-answer.ts';

const head = (lines: readonly string[], first = 'HTTP/1.1 200 OK') =>
  `${[first, ...lines].join('\r\n')}\r\n\r\n`;
const read = (text: string) => readPlainHead(Buffer.from(text, 'latin1'));

describe('the head of a plain answer', () => {
  it('is read where its body is as it is, and of one length', () => {
    const text = head(
      ['Content-Length: 5', 'Connection: Keep-Alive', 'Keep-Alive: timeout=5', 'X-A: \t b  '],
      'HTTP/1.1 201 Created',
    );
    const found = read(`${text}{"a":`);
    expect(found).toMatchObject({ status: 201, headBytes: text.length, bodyBytes: 5 });
    const { get } = found?.headers ?? {};
    expect(['keep-alive', 'X-A', 'x-b'].map((name) => get?.(name))).toEqual([
      'timeout=5',
      'b',
      null,
    ]);
  });

  const length = 'Content-Length: 5';
  it.each<[string, string]>([
    ['is not whole', head([length]).slice(0, -1)],
    ['has no length', head(['X-A: b'])],
    ['has two lengths', head([length, 'content-length: 5'])],
    ['has two lengths in one', head(['Content-Length: 5, 5'])],
    ['has a length that is none', head(['Content-Length: +5'])],
    ['has a large body', head([`Content-Length: ${wireDefaults.plainAnswerBytes + 1}`])],
    ['says a thing twice', head([length, 'Retry-After: 1', 'retry-after: 2'])],
    ['has a body in pieces', head([length, 'Transfer-Encoding: chunked'])],
    ['has a body that is encoded', head([length, 'Content-Encoding: gzip'])],
    ['has something behind its body', head([length, 'Trailer: X-A'])],
    ['goes over to another protocol', head([length, 'Upgrade: h2c'])],
    ['ends its connection', head([length, 'Connection: close'])],
    ['ends the connection of a proxy', head([length, 'Proxy-Connection: close'])],
    ['is a refusal', head([length], 'HTTP/1.1 409 Conflict')],
    ['comes before another', head([], 'HTTP/1.1 100 Continue') + head([length])],
    ['is of another version', head([length], 'HTTP/1.0 200 OK')],
    ['has a folded line', head([length, ' more'])],
    ['has a blank behind a name', head([length, 'X-A : b'])],
    ['has more than ASCII', head([length, 'X-A: \u00e4'])],
    ['has a lone line feed', head([length, 'X-A: a\nX-B: b'])],
    ['is too large', head([length, `X-A: ${'a'.repeat(wireDefaults.headerBytes)}`])],
  ])('is for Node where it %s', (_, text) => {
    expect(read(`${text}{"a":`)).toBeUndefined();
  });
});
