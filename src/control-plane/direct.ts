import type { IncomingMessage, ServerResponse } from 'node:http';
import { headersOf } from './answer.ts';
import { type CallRequest, tooLarge } from './call-request.ts';
import { type Found, findCall } from './find-call.ts';
import type { AnswerTo } from './mount.ts';

/**
 * The short way from the socket to a call and back, for requests that are whole when they are looked at and written in
 * the plainest way: nothing is made for them but what they are answered with. What is unusual in any way (a body that
 * is still coming, an address with escapes, a stream, a call that is none …) takes the long way, by `fetch`.
 * Both decide nothing: what a call does is the same code.
 *
 * @returns the answer's end, or `undefined` where nothing was touched and the request has to take the long way.
 */
export function answerDirectly(
  answerTo: AnswerTo,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> | undefined {
  if (incoming.destroyed || outgoing.destroyed) return undefined;
  const found = findCall(incoming.method, incoming.url ?? '');
  if (found === undefined) return undefined;
  const request = new DirectRequest(incoming, outgoing);
  if (!request.whole(found.operation.body !== undefined)) return undefined;
  if (!HOST.test(request.header('host') ?? '')) return undefined;
  return answered(answerTo, found, request, outgoing);
}

async function answered(
  answerTo: AnswerTo,
  { operation, params }: Found,
  request: CallRequest,
  outgoing: ServerResponse,
): Promise<void> {
  const { answer, requestId } = await answerTo(operation, request, params);
  // Whoever has gone needs no answer.
  if (outgoing.destroyed) return;
  const body = answer.body as string | Uint8Array;
  const headers = headersOf(answer, requestId);
  headers['Content-Length'] = String(Buffer.byteLength(body));
  try {
    outgoing.writeHead(answer.status, headers);
    outgoing.end(body);
  } catch {
    // Nothing else is left to be said on this connection.
    outgoing.destroy();
  }
}

/** A name or an IPv4 address with a port, as clients write it, or this machine; what else a host may look like is for the long way to say. */
export const HOST = /^(?:[a-z0-9._-]+|\[::1\])(?::(?:[1-5]\d{3,4}|[6-9]\d{3}))?$/;

class DirectRequest implements CallRequest {
  readonly #incoming: IncomingMessage;
  readonly #outgoing: ServerResponse;
  #signal: AbortSignal | undefined;

  constructor(incoming: IncomingMessage, outgoing: ServerResponse) {
    this.#incoming = incoming;
    this.#outgoing = outgoing;
  }

  /** Whether what belongs to it is here. Node says `complete` a little after it has given all bytes. */
  whole(hasBody: boolean): boolean {
    const { readableLength, complete } = this.#incoming;
    if (complete) return hasBody || readableLength === 0;
    return hasBody && this.header('content-length') === String(readableLength);
  }

  get url(): string {
    return this.#incoming.url ?? '';
  }

  /** Made where somebody asks: few calls do. */
  get signal(): AbortSignal {
    if (this.#signal !== undefined) return this.#signal;
    const gone = new AbortController();
    const outgoing = this.#outgoing;
    if (outgoing.destroyed) gone.abort();
    else
      outgoing.once('close', () => {
        if (!outgoing.writableFinished) gone.abort();
      });
    this.#signal = gone.signal;
    return this.#signal;
  }

  /** From the raw list: Node's own object keeps only the first of two values for some names. */
  header(name: string): string | null {
    const { rawHeaders } = this.#incoming;
    let all: string | null = null;
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const found = rawHeaders[i] as string;
      if (found.length !== name.length || found.toLowerCase() !== name) continue;
      const value = rawHeaders[i + 1] as string;
      all = all === null ? value : `${all}, ${value}`;
    }
    return all;
  }

  async bytes(maxBytes: number) {
    const incoming = this.#incoming;
    if (incoming.readableLength > maxBytes) return tooLarge(maxBytes);
    const bytes = incoming.read() as Buffer | null;
    // Its end is read too: until then Node holds on to the request.
    incoming.resume();
    return bytes ?? EMPTY;
  }
}

const EMPTY = new Uint8Array();
