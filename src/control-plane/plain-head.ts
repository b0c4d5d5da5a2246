/** The head of a request, as far as it matters to a call. */
export interface PlainHead {
  readonly method: string;
  readonly url: string;
  /** Of the body, as announced; 0 where nothing is announced. */
  readonly bodyBytes: number;
  /** @param name in lower case. @returns `null`: there is none. */
  header(name: string): string | null;
}

/**
 * Reads the head of an HTTP/1.1 request that is written in the plainest way, up to its empty line. `undefined`: it is not one,
 * or something in it has to be looked at closely (a body without a length, two headers of a name, a connection that is to be
 * closed …), which is Node's to do. What is taken here, Node's parser takes too, and means the same
 * (`test/control-plane/plain-head.property.test.ts`).
 *
 * @param text all of it, one character for each byte.
 */
export function readHead(text: string): PlainHead | undefined {
  const match = HEAD.exec(text);
  if (match === null) return undefined;
  const [, method, url] = match as unknown as [string, string, string];
  const headers = new Map<string, string>();
  let at = text.indexOf('\r\n') + 2;
  for (;;) {
    const end = text.indexOf('\r\n', at);
    if (end === at) break;
    const colon = text.indexOf(':', at);
    const name = text.slice(at, colon).toLowerCase();
    if (headers.has(name) || CLOSE_LOOK.has(name) || headers.size === MAX_HEADERS) return undefined;
    headers.set(name, text.slice(colon + 1, end).trim());
    at = end + 2;
  }
  const connection = headers.get('connection');
  if (connection !== undefined && connection.toLowerCase() !== 'keep-alive') return undefined;
  const length = headers.get('content-length') ?? '0';
  if (!LENGTH.test(length)) return undefined;
  return {
    method,
    url,
    bodyBytes: Number(length),
    header: (name) => headers.get(name) ?? null,
  };
}

/** No folded lines, no blanks around names, nothing but ASCII. */
const HEAD =
  /^(GET|POST|PUT|DELETE) (\/[!-~]*) HTTP\/1\.1\r\n(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t -~]*\r\n)+\r\n$/;
/** More than programs send; each costs memory. */
const MAX_HEADERS = 100;
const LENGTH = /^\d{1,9}$/;

/** They say how the rest is to be read, or what else is wanted of the connection. */
const CLOSE_LOOK: ReadonlySet<string> = new Set([
  'transfer-encoding',
  'expect',
  'upgrade',
  'trailer',
  'proxy-connection',
]);
