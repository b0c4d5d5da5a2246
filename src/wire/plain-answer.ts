/** An answer that is written in the plainest way. Pure. */
import { wireDefaults } from '../core/defaults.ts';
import type { Collected, WireResponse } from './fetch.ts';

/** The head of an answer whose body is of a known length, and as it is. */
export interface PlainHead {
  readonly status: number;
  readonly headers: WireResponse['headers'];
  /** Of the answer, up to its body. */
  readonly headBytes: number;
  readonly bodyBytes: number;
}

/**
 * Reads the head of an HTTP/1.1 answer from the first piece of it that came. `undefined`: it is not whole, or something in it has to be
 * looked at closely (another status than 200 and 201, a body without a length, encoded or large, two headers of a name, a
 * connection that ends …), which is for Node to do. What is taken here means the same to Node's parser.
 */
export function readPlainHead(first: Buffer): PlainHead | undefined {
  // As text first: to look for it among bytes costs more than to read some that are none of the head.
  const most = first.toString('latin1', 0, Math.min(first.length, wireDefaults.headerBytes));
  const end = most.indexOf('\r\n\r\n') + 4;
  if (end < 4) return undefined;
  const text = most.slice(0, end);
  const status = HEAD.exec(text)?.[1];
  if (status === undefined) return undefined;
  const headers = new Map<string, string>();
  for (let at = text.indexOf('\r\n') + 2; at < end - 2; ) {
    const next = text.indexOf('\r\n', at);
    const colon = text.indexOf(':', at);
    const name = text.slice(at, colon).toLowerCase();
    if (headers.has(name) || CLOSE_LOOK.has(name)) return undefined;
    headers.set(name, text.slice(colon + 1, next).trim());
    at = next + 2;
  }
  const connection = headers.get('connection');
  if (connection !== undefined && connection.toLowerCase() !== 'keep-alive') return undefined;
  const length = headers.get('content-length') ?? '';
  if (!LENGTH.test(length) || Number(length) > wireDefaults.plainAnswerBytes) return undefined;
  return {
    status: Number(status),
    headers: { get: (name) => headers.get(name.toLowerCase()) ?? null },
    headBytes: end,
    bodyBytes: Number(length),
  };
}

/** No folded lines, no blanks around names, nothing but ASCII. */
const HEAD = /^HTTP\/1\.1 (200|201) [\t -~]*\r\n(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t -~]*\r\n)+\r\n$/;
const LENGTH = /^\d{1,9}$/;

/** They say how the rest is to be read, or what becomes of the connection. */
const CLOSE_LOOK: ReadonlySet<string> = new Set([
  ...['transfer-encoding', 'content-encoding', 'trailer', 'upgrade', 'proxy-connection'],
]);

/** An answer that is here as a whole. */
export class PlainAnswer implements WireResponse {
  readonly status: number;
  readonly headers: WireResponse['headers'];
  readonly #content: Uint8Array;

  constructor({ status, headers }: PlainHead, content: Uint8Array) {
    this.status = status;
    this.headers = headers;
    this.#content = content;
  }

  get body(): ReadableStream<Uint8Array> {
    const content = this.#content;
    return new ReadableStream({
      start(controller) {
        if (content.byteLength > 0) controller.enqueue(content);
        controller.close();
      },
    });
  }

  readonly collect = async (maxBytes: number): Promise<Collected> => {
    const bytes = this.#content.byteLength;
    return { chunks: bytes > maxBytes ? [] : [this.#content], bytes };
  };
}
