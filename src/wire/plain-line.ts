/**
 * Plain calls over one connection, without Node's HTTP objects, which cost more than all else of such a call: one text is
 * written, and an answer in the plainest form is read whole. With the first call or answer that is anything else the
 * connection is Node's for good; its client then reads what has come of that answer. The control plane's side is
 * `control-plane/plain-http`.
 */
import type { Socket } from 'node:net';
import type { Connection } from './connections.ts';
import { Continued } from './continued.ts';
import { exchange as byNode, encodings, keptMs } from './exchange.ts';
import type { WireInit, WireResponse } from './fetch.ts';
import { OneSocket } from './one-socket.ts';
import { PlainAnswer, type PlainHead, readPlainHead } from './plain-answer.ts';

/** One call over one connection. Resolves when the head of the answer is there, or all of it. */
export function exchange(connection: Connection, url: URL, init: WireInit): Promise<WireResponse> {
  connection.calls++;
  if (connection.agent === undefined) {
    const request = requestText(url, init);
    if (request !== undefined) {
      connection.line ??= new PlainLine(connection);
      return connection.line.call(request, url, init);
    }
    connection.line?.leave();
  }
  connection.agent ??= new OneSocket(connection.socket, connection.free);
  return byNode(connection, connection.agent, url, init);
}

interface Request {
  readonly text: string;
  readonly encoding: 'latin1' | 'utf8';
}

/** `undefined`: Node sees to it, or says what is wrong with it. */
function requestText(url: URL, { method, headers, body, lane }: WireInit): Request | undefined {
  // The answer to a stream is none that ends.
  if (lane === 'stream' || (body === undefined && method !== 'GET')) return undefined;
  if (typeof body === 'object') return undefined;
  let text = `${method} ${url.pathname}${url.search} HTTP/1.1\r\n`;
  for (const name in headers) {
    const value = headers[name] as string;
    if (!VALUE.test(value)) return undefined;
    text += `${name}: ${value}\r\n`;
  }
  text += `host: ${url.host}\r\naccept-encoding: ${encodings(url)}\r\nconnection: keep-alive\r\n`;
  if (body === undefined) return { text: `${text}\r\n`, encoding: 'latin1' };
  const bytes = Buffer.byteLength(body);
  // One byte a character where that says the same: it is copied as it is.
  const encoding = bytes === body.length ? 'latin1' : 'utf8';
  return { text: `${text}content-length: ${bytes}\r\n\r\n${body}`, encoding };
}

const VALUE = /^[!-~](?:[ -~]*[!-~])?$/;

interface UnderWay {
  readonly url: URL;
  readonly init: WireInit;
  readonly resolve: (response: WireResponse | Promise<WireResponse>) => void;
  readonly reject: (error: unknown) => void;
}

export class PlainLine {
  readonly #connection: Connection;
  readonly #socket: Socket;
  #underWay: UnderWay | undefined;
  #head: PlainHead | undefined;
  /** Of the answer that is coming. */
  #chunks: Buffer[] = [];
  #bytes = 0;
  #fault: Error | undefined;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#socket = connection.socket;
    this.#socket.on('data', this.#data);
    this.#socket.on('error', this.#error);
    this.#socket.on('close', this.#close);
  }

  call({ text, encoding }: Request, url: URL, init: WireInit): Promise<WireResponse> {
    return new Promise((resolve, reject) => {
      const { signal } = init;
      this.#underWay = { url, init, resolve, reject };
      signal.addEventListener('abort', this.#abort);
      if (signal.aborted) this.#abort();
      else if (this.#socket.destroyed) this.#close();
      else this.#socket.write(text, encoding);
    });
  }

  /** The connection is somebody else's. */
  leave(): void {
    this.#socket.off('data', this.#data).off('error', this.#error).off('close', this.#close);
    this.#connection.line = undefined;
  }

  readonly #data = (chunk: Buffer): void => {
    // Nobody has asked: whoever takes the connection next sees that something came.
    if (this.#underWay === undefined) return;
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    this.#head ??= readPlainHead(chunk);
    if (this.#head === undefined) this.#toNode();
    else {
      const left = this.#head.headBytes + this.#head.bodyBytes - this.#bytes;
      if (left < 0) this.#toNode();
      else if (left === 0) this.#whole(this.#head);
    }
  };

  #whole(head: PlainHead): void {
    const [only] = this.#chunks;
    const all =
      only !== undefined && this.#chunks.length === 1 ? only : Buffer.concat(this.#chunks);
    const { resolve } = this.#over();
    this.#connection.keptMs = keptMs(head.headers.get('keep-alive'));
    this.#connection.free();
    resolve(new PlainAnswer(head, all.subarray(head.headBytes)));
  }

  /** The request is with the peer: Node's client writes it into nothing, and reads what has come. */
  #toNode(): void {
    const connection = this.#connection;
    const continued = new Continued(this.#socket, this.#chunks);
    const { url, init, resolve } = this.#over();
    this.leave();
    const free = () => {
      continued.detach();
      connection.free();
    };
    connection.agent = new OneSocket(this.#socket, connection.free);
    resolve(byNode(connection, new OneSocket(continued, free), url, init));
  }

  #over(): UnderWay {
    const underWay = this.#underWay as UnderWay;
    underWay.init.signal.removeEventListener('abort', this.#abort);
    this.#underWay = undefined;
    this.#head = undefined;
    this.#chunks = [];
    this.#bytes = 0;
    return underWay;
  }

  readonly #abort = (): void => {
    const { init, reject } = this.#over();
    reject(init.signal.reason);
    this.#socket.destroy();
  };

  readonly #error = (error: Error): void => {
    this.#fault = error;
  };

  readonly #close = (): void => {
    if (this.#underWay === undefined) return;
    const cut = () => Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });
    this.#over().reject(this.#fault ?? cut());
  };
}
