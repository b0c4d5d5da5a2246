import { type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../ports/clock.ts';
import { type Answer, headText } from './answer.ts';
import { type Coming, Comings } from './coming.ts';
import type { AnswerTo } from './mount.ts';
import { PlainHeads, type PlainRead, PlainRequest } from './plain-request.ts';
import type { SlowReaders } from './slow-readers.ts';
import type { SocketLimits } from './socket.ts';
import type { Turns } from './turns.ts';

/**
 * Connections whose requests are plain calls, one after the other: they are read and answered here, without
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
  readonly comings: Comings;
  readonly #connections = new Set<PlainConnection>();
  readonly #server: Server;
  readonly #byNode: (socket: Socket) => void;
  #date = { second: 0, text: '' };

  /** Takes the place of Node's own way for new connections. */
  constructor(server: Server, options: PlainDoorOptions) {
    this.options = options;
    this.comings = new Comings(options);
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

  /** Nothing comes of it. @param code as Node would say it. */
  unreadable(socket: Socket, code: 'ERR_HTTP_REQUEST_TIMEOUT' | 'HPE_INVALID_EOF_STATE'): void {
    this.#server.emit('clientError', Object.assign(new Error(code), { code }), socket);
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
  /** A call that is not here as a whole yet. */
  #coming: (PlainRead & { readonly pieces: Coming }) | undefined;
  /** For the call under way, where it asks. */
  #peerGone: AbortController | undefined;
  /** Who waits for an answer to be taken. */
  #taken: (() => void)[] = [];
  readonly #heads: PlainHeads;

  constructor(door: PlainDoor, socket: Socket) {
    this.#door = door;
    this.#socket = socket;
    this.#heads = new PlainHeads(door.options.limits.headerBytes / 2);
    socket.setTimeout(door.options.limits.headersMs);
    socket.on('data', this.#data);
    socket.on('timeout', this.#timeout);
    socket.on('end', this.#end);
    socket.on('error', this.#error);
    socket.on('close', this.#close);
  }

  closeIdle(): void {
    if (!this.#busy && this.#used && !this.#coming) this.#socket.destroy();
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
    if (this.#coming !== undefined) {
      const left = this.#coming.pieces.take(chunk);
      if (left <= 0) this.#whole(this.#coming, left === 0);
      return;
    }
    const read = this.#heads.read(chunk);
    const left = read === undefined ? -1 : read.wholeBytes - chunk.length;
    if (read === undefined || left < 0) this.#give(chunk);
    else if (left === 0) void this.#answer(read, chunk);
    else this.#wait(read, chunk);
  };

  /** For the rest of a body. Where that does not come soon, it is Node's to watch over it, and to say what is wrong before it is there. */
  #wait(read: PlainRead, first: Buffer): void {
    const late = () => this.#coming && this.#whole(this.#coming, false);
    const pieces = this.#door.comings.begin(first, read.wholeBytes, late);
    if (pieces === undefined) this.#give(first);
    else this.#coming = { ...read, pieces };
  }

  #whole(coming: PlainRead & { readonly pieces: Coming }, alone: boolean): void {
    this.#coming = undefined;
    const all = coming.pieces.end();
    if (alone) void this.#answer(coming, all);
    else this.#give(all);
  }

  #drop(): void {
    this.#coming?.pieces.end();
    this.#coming = undefined;
  }

  async #answer({ found, head, headBytes }: PlainRead, request: Buffer): Promise<void> {
    const { options } = this.#door;
    const socket = this.#socket;
    this.#busy = true;
    if (!this.#used) {
      this.#used = true;
      socket.setTimeout(options.limits.keepAliveMs);
    }
    const call = new PlainRequest(this, head, request.subarray(headBytes));
    const { answer, requestId } = await options.answerTo(found.operation, call, found.params);
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
    if (this.#coming) return;
    // A call may take its time; one more round, and the peer is gone.
    if (this.#busy) this.#socket.setTimeout(limits.silenceMs, () => this.#socket.destroy());
    else if (this.#used) this.#socket.destroy();
    else this.#door.unreadable(this.#socket, 'ERR_HTTP_REQUEST_TIMEOUT');
  };

  readonly #end = (): void => {
    if (this.#coming) this.#door.unreadable(this.#socket, 'HPE_INVALID_EOF_STATE');
    this.#drop();
    this.#socket.end();
  };

  readonly #error = (): void => {
    this.#socket.destroy();
  };

  readonly #close = (): void => {
    this.#door.gone(this);
    this.#drop();
    this.#peerGone?.abort();
    for (const done of this.#taken.splice(0)) done();
  };
}
