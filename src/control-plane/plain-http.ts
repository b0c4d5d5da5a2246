import { type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../ports/clock.ts';
import { type Answer, headText } from './answer.ts';
import { type CallRequest, tooLarge } from './call-request.ts';
import { HOST } from './direct.ts';
import { type Found, findCall } from './find-call.ts';
import type { AnswerTo } from './mount.ts';
import { type PlainHead, readHead } from './plain-head.ts';
import type { SlowReaders } from './slow-readers.ts';
import type { SocketLimits } from './socket.ts';
import type { Turns } from './turns.ts';

/**
 * Connections whose requests are plain calls, each whole in one piece that was read: they are read and answered here, without
 * Node's HTTP objects, at half the price. With the first request that is anything else, or that comes before its turn, a
 * connection is given to Node's own server for good, with what was read of it: nothing was done for that request yet.
 * Plain HTTP only; TLS is Node's from the start.
 */
export interface PlainDoorOptions {
  readonly answerTo: AnswerTo;
  readonly limits: SocketLimits;
  readonly clock: Clock;
  readonly readers: SlowReaders;
  readonly turns?: Turns | undefined;
}

export class PlainDoor {
  readonly options: PlainDoorOptions;
  readonly #connections = new Set<PlainConnection>();
  readonly #server: Server;
  readonly #byNode: (socket: Socket) => void;
  #date = { second: 0, text: '' };

  /** Takes the place of Node's own way for new connections. */
  constructor(server: Server, options: PlainDoorOptions) {
    this.options = options;
    const seconds = Math.floor(options.limits.keepAliveMs / 1_000);
    this.keeps = `Connection: keep-alive\r\nKeep-Alive: timeout=${seconds}\r\n\r\n`;
    this.#server = server;
    const [byNode] = server.listeners('connection');
    this.#byNode = (socket) => void byNode?.call(server, socket);
    server.removeAllListeners('connection');
    server.on('connection', (socket) => this.#connections.add(new PlainConnection(this, socket)));
  }

  /** Ends those that wait for a request. */
  closeIdle(): void {
    for (const one of this.#connections) one.closeIdle();
  }

  cut(): void {
    for (const one of this.#connections) one.cut();
  }

  /** No connection is kept for another request. */
  get ends(): boolean {
    return !this.#server.listening;
  }

  gone(connection: PlainConnection): void {
    this.#connections.delete(connection);
  }

  /** @param read of it, to be read again. */
  give(connection: PlainConnection, socket: Socket, read: Buffer | undefined): void {
    this.gone(connection);
    if (read !== undefined) socket.unshift(read);
    this.#byNode(socket);
    // In this turn: what the kernel has next goes to Node's parser directly, and must come after it.
    socket.resume();
  }

  slow(socket: Socket): void {
    const error = Object.assign(new Error('Request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
    this.#server.emit('clientError', error, socket);
  }

  /** The end of a head after which the connection is kept. */
  readonly keeps: string;

  /** As HTTP writes it, to the second. */
  get date(): string {
    const second = Math.floor(this.options.clock.wall() / 1_000);
    if (second !== this.#date.second)
      this.#date = { second, text: new Date(second * 1_000).toUTCString() };
    return this.#date.text;
  }
}

class PlainConnection {
  readonly #door: PlainDoor;
  readonly #socket: Socket;
  #busy = false;
  /** A request has come: from now on the connection may wait for the next. */
  #used = false;
  /** Read while another request was under way. */
  #ahead: Buffer | undefined;
  /** For the call under way, where it asks. */
  #peerGone: AbortController | undefined;
  /** Who waits for an answer to be taken. */
  #taken: (() => void)[] = [];
  /** Programs send the same head again and again, but for lengths. */
  #lastText = '';
  #lastHead: PlainHead | undefined;

  constructor(door: PlainDoor, socket: Socket) {
    this.#door = door;
    this.#socket = socket;
    socket.setTimeout(door.options.limits.headersMs);
    socket.on('data', this.#data);
    socket.on('timeout', this.#timeout);
    socket.on('end', this.#end);
    socket.on('error', this.#error);
    socket.on('close', this.#close);
  }

  closeIdle(): void {
    if (!this.#busy && this.#used) this.#socket.destroy();
  }

  cut(): void {
    this.#socket.destroy();
  }

  get signal(): AbortSignal {
    this.#peerGone ??= new AbortController();
    if (this.#socket.destroyed) this.#peerGone.abort();
    return this.#peerGone.signal;
  }

  readonly #data = (chunk: Buffer): void => {
    // Behind a last answer no other has a way out: nothing is done that nobody hears of.
    if (!this.#socket.writable) return;
    if (this.#busy) {
      this.#ahead = this.#ahead === undefined ? chunk : Buffer.concat([this.#ahead, chunk]);
      this.#socket.pause();
      return;
    }
    const text = chunk.toString('latin1', 0, Math.min(chunk.length, this.#headMax));
    const end = this.#headEnd(text);
    const head = end < 4 ? undefined : this.#headOf(chunk, text, end);
    const found = head && findCall(head.method, head.url);
    const plain =
      head !== undefined &&
      found !== undefined &&
      chunk.length === end + head.bodyBytes &&
      (head.bodyBytes === 0 || found.operation.body !== undefined) &&
      HOST.test(head.header('host') ?? '');
    if (plain) void this.#answer(found, head, chunk.subarray(end));
    else this.#give(chunk);
  };

  get #headMax(): number {
    return this.#door.options.limits.headerBytes / 2;
  }

  /** Below 4: there is none. */
  #headEnd(text: string): number {
    const { length } = this.#lastText;
    if (length > 0 && text.startsWith(this.#lastText)) return length;
    return text.indexOf('\r\n\r\n') + 4;
  }

  #headOf(chunk: Buffer, text: string, end: number): PlainHead | undefined {
    if (end > REMEMBERED_CHARS) return readHead(text.slice(0, end));
    if (end !== this.#lastText.length || !text.startsWith(this.#lastText)) {
      // Read anew: a slice would hold on to all of the text.
      this.#lastText = chunk.toString('latin1', 0, end);
      this.#lastHead = readHead(this.#lastText);
    }
    return this.#lastHead;
  }

  async #answer({ operation, params }: Found, head: PlainHead, body: Buffer): Promise<void> {
    const { options } = this.#door;
    const socket = this.#socket;
    this.#busy = true;
    if (!this.#used) {
      this.#used = true;
      socket.setTimeout(options.limits.keepAliveMs);
    }
    const request = new PlainRequest(this, head, body);
    const { answer, requestId } = await options.answerTo(operation, request, params);
    this.#peerGone = undefined;
    // Whoever has gone needs no answer.
    if (!socket.writable) return;
    const last = this.#door.ends || answer.headers?.Connection === 'close';
    this.#write(answer, requestId, last);
    if (last) socket.end();
    if (socket.writableLength === 0) this.#answered();
    else this.#answerLater(head.url);
  }

  #write(answer: Answer, requestId: string, last: boolean): void {
    const body = answer.body as string | Uint8Array;
    const bytes = Buffer.byteLength(body);
    let head = `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status] ?? ''}\r\n`;
    head += headText(answer, requestId);
    head += `Content-Length: ${bytes}\r\nDate: ${this.#door.date}\r\n`;
    if (!last) head += this.#door.keeps;
    else head += answer.headers?.Connection === undefined ? 'Connection: close\r\n\r\n' : '\r\n';
    if (typeof body === 'string')
      // One byte a character where that says the same: it is copied as it is.
      this.#socket.write(head + body, bytes === body.length ? 'latin1' : 'utf8');
    else {
      this.#socket.cork();
      this.#socket.write(head, 'latin1');
      this.#socket.write(body);
      this.#socket.uncork();
    }
  }

  /** Its reader has not taken all of it: nothing further is done for him until he has. */
  #answerLater(url: string): void {
    const { readers, turns } = this.#door.options;
    const socket = this.#socket;
    if (turns !== undefined) this.#taken.push(turns.untaken(socket.writableLength));
    readers.began(
      {
        once: (_, done) => this.#taken.push(done),
        destroy: () => socket.destroy(),
      },
      url,
    );
    if (socket.writable) socket.write('', () => this.#answered());
    else socket.once('finish', () => this.#answered());
  }

  #answered(): void {
    for (const done of this.#taken.splice(0)) done();
    this.#busy = false;
    const ahead = this.#ahead;
    if (ahead === undefined || this.#socket.destroyed) return;
    this.#ahead = undefined;
    // What came behind a last answer goes nowhere; the peer's end is still waited for.
    if (this.#socket.writable) this.#give(ahead);
    else this.#socket.resume();
  }

  #give(read: Buffer | undefined): void {
    const socket = this.#socket;
    socket.removeListener('data', this.#data);
    socket.removeListener('timeout', this.#timeout);
    socket.removeListener('end', this.#end);
    socket.removeListener('error', this.#error);
    socket.removeListener('close', this.#close);
    this.#door.give(this, socket, read);
  }

  /** No byte in or out for so long. */
  readonly #timeout = (): void => {
    const { limits } = this.#door.options;
    // A call may take its time; one more round, and the peer is gone.
    if (this.#busy) this.#socket.setTimeout(limits.silenceMs, () => this.#socket.destroy());
    else if (this.#used) this.#socket.destroy();
    else this.#door.slow(this.#socket);
  };

  readonly #end = (): void => {
    this.#socket.end();
  };

  readonly #error = (): void => {
    this.#socket.destroy();
  };

  readonly #close = (): void => {
    this.#door.gone(this);
    this.#peerGone?.abort();
    for (const done of this.#taken.splice(0)) done();
  };
}

/** Of a head that is kept for the next request of its connection, which may be there for hours: programs' own are shorter. */
const REMEMBERED_CHARS = 1_024;

class PlainRequest implements CallRequest {
  readonly #connection: PlainConnection;
  readonly #head: PlainHead;
  readonly #body: Buffer;

  constructor(connection: PlainConnection, head: PlainHead, body: Buffer) {
    this.#connection = connection;
    this.#head = head;
    this.#body = body;
  }

  get url(): string {
    return this.#head.url;
  }

  get signal(): AbortSignal {
    return this.#connection.signal;
  }

  header(name: string): string | null {
    return this.#head.header(name);
  }

  here(maxBytes: number) {
    return this.#body.length > maxBytes ? tooLarge(maxBytes) : this.#body;
  }

  async bytes(maxBytes: number) {
    return this.here(maxBytes);
  }
}
