/** The hint streams: what a control plane sends, and every bad habit that one can have. */
import type { ServerResponse } from 'node:http';
import { type Answer, problem } from './answers.ts';
import type { DripOptions } from './exchange.ts';
import type { Journal, LoggedRequest } from './journal.ts';
import type { CutMode } from './listener.ts';

export interface SentHint {
  t: number;
  event: string;
  data: unknown;
  /** Streams that it went to. */
  streams: number;
}

export class Hints {
  /** Every stream that was ever opened, in order. */
  readonly connections: HintStream[] = [];
  /** Events sent to all streams, pings aside. */
  readonly sent: SentHint[] = [];
  readonly #journal: Journal;
  readonly #cutSocket: (request: LoggedRequest, mode: CutMode) => void;
  #pingEveryMs: number;
  #refusal: number | undefined;
  #muted = false;

  constructor(
    journal: Journal,
    pingEveryMs: number,
    cutSocket: (request: LoggedRequest, mode: CutMode) => void,
  ) {
    this.#journal = journal;
    this.#pingEveryMs = pingEveryMs;
    this.#cutSocket = cutSocket;
  }

  get open(): HintStream[] {
    return this.connections.filter((stream) => stream.closedAt === undefined);
  }

  /** Resolves once at least so many streams are open. */
  opened(count = 1): Promise<HintStream[]> {
    const what = `${count} open hint streams`;
    return this.#journal.until(() => this.open.length >= count && this.open, { what });
  }

  /** An event to all open streams; returns how many there are. */
  send(event: string, data: unknown): number {
    const streams = this.#muted ? [] : this.open;
    for (const stream of streams) stream.send(event, data);
    this.sent.push({ t: performance.now(), event, data, streams: streams.length });
    this.#journal.note(`hint ${event} ${JSON.stringify(data)} to ${streams.length} streams`);
    return streams.length;
  }

  /** `wake('demo/hello@1')`: there is work of these types. */
  wake(...types: string[]): number {
    return this.send('wake', { types });
  }

  /** The interval of `ping`, also of open streams; `Infinity` for none. */
  set pingEveryMs(ms: number) {
    this.#pingEveryMs = ms;
    for (const stream of this.open) stream.pingEvery(this.#muted ? Infinity : ms);
  }

  /** Streams stay open, and new ones open, but not a byte comes. */
  mute(): void {
    this.#muted = true;
    this.#journal.did('hint streams stay open, and not a byte comes on them any more');
    for (const stream of this.open) stream.mute();
  }

  unmute(): void {
    this.#muted = false;
    for (const stream of this.open) stream.unmute(this.#pingEveryMs);
  }

  /** Ends all open streams; new ones are taken. */
  cut(mode: CutMode = 'fin'): void {
    if (this.open.length > 0) this.#journal.did('all hint streams were ended');
    for (const stream of this.open) stream.cut(mode);
  }

  /** New streams are answered with this status (204 too, which means "do not come back" to some). */
  refuse(status = 503): void {
    this.#refusal = status;
  }

  accept(): void {
    this.#refusal = undefined;
  }

  /** The default answer to `GET /hints`. */
  answer(request: LoggedRequest): Answer {
    if (this.#refusal) request.played = `hint streams are refused with ${this.#refusal}`;
    if (this.#refusal === 204) return { status: 204 };
    if (this.#refusal) return problem(this.#refusal, 'UNAVAILABLE', 'hint streams are refused');
    return { status: 200, take: (response) => this.#take(request, response) };
  }

  #take(request: LoggedRequest, response: ServerResponse): void {
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'interlock-contract': '1',
    });
    response.flushHeaders();
    const stream = new HintStream(request, response, (mode) => this.#cutSocket(request, mode));
    this.connections.push(stream);
    if (this.#muted) stream.mute();
    else {
      // At its beginning too: by it a worker knows that bytes come through.
      if (this.#pingEveryMs !== Infinity) stream.send('ping', {});
      stream.pingEvery(this.#pingEveryMs);
    }
    response.once('close', () => {
      stream.closed();
      this.#journal.note(`hint stream on socket ${stream.socketId} ended`);
    });
    this.#journal.note(`hint stream on socket ${stream.socketId} opened`);
  }
}

export class HintStream {
  readonly workerId: string | undefined;
  readonly sessionId: string | undefined;
  readonly socketId: number;
  readonly openedAt = performance.now();
  closedAt: number | undefined;
  readonly #response: ServerResponse;
  readonly #cut: (mode: CutMode) => void;
  #pings: NodeJS.Timeout | undefined;
  #muted = false;

  constructor(request: LoggedRequest, response: ServerResponse, cut: (mode: CutMode) => void) {
    this.workerId = request.query.get('workerId') ?? undefined;
    this.sessionId = request.query.get('sessionId') ?? undefined;
    this.socketId = request.socketId;
    this.#response = response;
    this.#cut = cut;
  }

  send(event: string, data: unknown): void {
    if (!this.#muted) this.#response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  /** Bytes as they are; resolves when the worker's side has taken them or the stream has ended. */
  raw(bytes: string | Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      if (this.#response.destroyed) return resolve();
      const done = () => {
        this.#response.off('close', done);
        resolve();
      };
      this.#response.once('close', done);
      this.#response.write(bytes, done);
    });
  }

  /** Bytes in pieces of their own: splits lines, characters and CR LF. */
  async drip(
    bytes: string | Uint8Array,
    { chunk = 1, everyMs = 0 }: DripOptions = {},
  ): Promise<void> {
    const all = Buffer.from(bytes as string);
    for (let from = 0; from < all.length && this.closedAt === undefined; from += chunk) {
      await this.raw(all.subarray(from, from + chunk));
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  }

  pingEvery(ms: number): void {
    clearInterval(this.#pings);
    if (ms !== Infinity) this.#pings = setInterval(() => this.send('ping', {}), ms);
  }

  mute(): void {
    this.#muted = true;
    clearInterval(this.#pings);
  }

  unmute(pingEveryMs: number): void {
    this.#muted = false;
    this.pingEvery(pingEveryMs);
  }

  cut(mode: CutMode = 'fin'): void {
    this.#cut(mode);
  }

  /** The orderly end of the response; the connection stays usable. */
  end(): void {
    this.#response.end();
  }

  closed(): void {
    this.closedAt = performance.now();
    clearInterval(this.#pings);
  }
}
