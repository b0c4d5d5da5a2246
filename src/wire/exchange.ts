/** One call by Node's HTTP client: what is sent, and the answer as `WireResponse`. Redirects are answers like any other. */
import type { Agent, IncomingMessage } from 'node:http';
import { finished, type Readable } from 'node:stream';
import { wireDefaults } from '../core/defaults.ts';
import type { Connection } from './connections.ts';
import { decoded } from './decoding.ts';
import type { Collected, WireInit, WireResponse } from './fetch.ts';
import { request } from './node-http.ts';

/** Resolves when the head of the answer is there; its body ends with the signal's reason where that aborts. */
export function exchange(
  connection: Pick<Connection, 'keptMs'>,
  agent: Agent,
  url: URL,
  init: WireInit,
): Promise<WireResponse> {
  const { signal, body } = init;
  return new Promise((resolve, reject) => {
    /** What the parser or the socket said first; a body that is cut knows only that. */
    let fault: Error | undefined;
    let answer: IncomingMessage | undefined;
    const call = request({
      agent,
      host: url.hostname,
      port: url.port,
      method: init.method,
      path: url.pathname + url.search,
      headers: {
        ...init.headers,
        host: url.host,
        'accept-encoding': encodings(url),
      },
      maxHeaderSize: wireDefaults.headerBytes,
    });
    const abort = () => {
      fault ??= signal.reason;
      answer?.destroy(signal.reason);
      call.destroy(signal.reason);
    };
    signal.addEventListener('abort', abort);
    call.on('error', (error) => {
      fault ??= error;
      reject(fault);
    });
    call.once('response', (response) => {
      answer = response;
      connection.keptMs = keptMs(response.headers['keep-alive'] as string | undefined);
      const head = {
        status: response.statusCode as number,
        headers: { get: (name: string) => textOf(response.headers[name.toLowerCase()]) },
      };
      if (NO_BODY.has(head.status)) {
        response.resume();
        resolve({ ...head, body: null });
        return;
      }
      const give = (content: Readable) =>
        resolve(new Answered(head, content, response, () => fault));
      const content = decoded(response);
      if (content instanceof Promise) content.then(give, reject);
      else give(content);
    });
    call.once('close', () => signal.removeEventListener('abort', abort));
    call.end(body);
    if (signal.aborted) abort();
  });
}

/** Its body is read in one of two ways: whole, as all calls do, or as a web stream, which costs more. */
class Answered implements WireResponse {
  readonly status: number;
  readonly headers: WireResponse['headers'];
  readonly #content: Readable;
  readonly #response: IncomingMessage;
  readonly #why: () => Error | undefined;
  #body: ReadableStream<Uint8Array> | undefined;

  constructor(
    head: Pick<WireResponse, 'status' | 'headers'>,
    content: Readable,
    response: IncomingMessage,
    why: () => Error | undefined,
  ) {
    this.status = head.status;
    this.headers = head.headers;
    this.#content = content;
    this.#response = response;
    this.#why = why;
    // Until somebody reads; what goes wrong before that is told then.
    content.pause();
    content.on('error', () => {});
  }

  get body(): ReadableStream<Uint8Array> {
    this.#body ??= streamOf(this.#content, this.#response, this.#why);
    return this.#body;
  }

  readonly collect = (maxBytes: number): Promise<Collected> => {
    const content = this.#content;
    return new Promise((resolve, reject) => {
      const chunks: Uint8Array[] = [];
      let bytes = 0;
      let whole = false;
      const cut = (error?: Error) =>
        reject(this.#why() ?? error ?? Object.assign(new Error('aborted'), { code: 'ECONNRESET' }));
      if (content.destroyed) {
        cut(content.errored ?? undefined);
        return;
      }
      content.on('data', (chunk: Uint8Array) => {
        bytes += chunk.byteLength;
        if (bytes <= maxBytes) chunks.push(chunk);
        else {
          // A peer that goes on sending must not hold us.
          resolve({ chunks, bytes });
          content.destroy();
          this.#response.destroy();
        }
      });
      content.once('end', () => {
        whole = true;
        resolve({ chunks, bytes });
      });
      content.once('error', cut);
      // An error for nobody, with all the calls that led to it, would cost as much as the parsing of an answer.
      content.once('close', () => whole || cut());
      content.resume();
    });
  };
}

/** Read as it is asked for, chunk by chunk. Who lets go of it ends the connection, unless all has come. */
function streamOf(
  content: Readable,
  response: IncomingMessage,
  why: () => Error | undefined,
): ReadableStream<Uint8Array> {
  let cancelled = false;
  content.pause();
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        let over = false;
        const end = (settle: () => void) => {
          if (!over && !cancelled) settle();
          over = true;
        };
        content.on('data', (chunk: Uint8Array) => {
          content.pause();
          if (!over && !cancelled) controller.enqueue(chunk);
        });
        finished(content, { writable: false }, (error) =>
          end(() => (error ? controller.error(why() ?? error) : controller.close())),
        );
      },
      pull() {
        content.resume();
      },
      cancel() {
        cancelled = true;
        content.on('error', () => {});
        content.destroy();
        response.destroy();
      },
    },
    { highWaterMark: 0 },
  );
}

function textOf(value: string | string[] | undefined): string | null {
  return value === undefined ? null : String(value);
}

/** What an answer may be encoded by. */
export function encodings({ protocol }: URL): string {
  return protocol === 'https:' ? 'br, gzip, deflate' : 'gzip, deflate';
}

/** `timeout=75` */
export function keptMs(said: string | null | undefined): number | undefined {
  if (said === undefined || said === null) return undefined;
  const seconds = /(?:^|[\s,;])timeout\s*=\s*(\d{1,9})/i.exec(said)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1_000;
}

/** Statuses whose answers have none. */
const NO_BODY = new Set([204, 205, 304]);
