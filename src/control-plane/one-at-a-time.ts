import type { Clock } from '../ports/clock.ts';

/** What is used of a connection, a request and its answer. */
export interface Connection {
  readonly destroyed: boolean;
  on(event: 'resume', call: () => void): unknown;
  once(event: 'close', call: () => void): unknown;
  pause(): unknown;
  resume(): unknown;
  destroy(): unknown;
}

export interface Asked {
  readonly socket: Connection;
}

export interface Answering {
  /** `null` while an answer before it has the connection, and where there is none any more. */
  readonly socket: unknown;
  once(event: 'close', call: () => void): unknown;
}

/** The requests of one connection. */
interface Line<Exchange> {
  readonly waiting: Exchange[];
  busy: boolean;
  begun: number;
  /** The head that comes next was held up here: its time begins when it can go on. */
  heldUp: boolean;
}

/**
 * Takes the requests of a connection one after the other: the next begins when the answer before it has been handed over.
 * Node itself begins all that came in one piece at once, and their answers wait in memory for a reader who may never read.
 * While some wait, nothing further is read of their connection.
 */
export class OneAtATime<In extends Asked, Out extends Answering> {
  readonly #options: OneAtATimeOptions<In, Out>;
  readonly #lines = new WeakMap<Connection, Line<readonly [In, Out]>>();
  #waiting = 0;

  constructor(options: OneAtATimeOptions<In, Out>) {
    this.#options = options;
  }

  /** How many wait behind another of their connection. */
  get waiting(): number {
    return this.#waiting;
  }

  request(...exchange: readonly [In, Out]): void {
    const { socket } = exchange[0];
    const line = this.#lines.get(socket) ?? this.#made(socket);
    if (!line.busy) this.#begin(socket, line, exchange);
    else if (socket.destroyed) return;
    else if (
      line.waiting.length >= this.#options.perConnection ||
      this.#waiting >= this.#options.inAll
    )
      socket.destroy();
    else {
      line.waiting.push(exchange);
      this.#waiting++;
      socket.pause();
    }
  }

  /** Whether a head that came too slowly, as Node sees it, was held up here. */
  heldUp(socket: Connection): boolean {
    const line = this.#lines.get(socket);
    if (line === undefined || line.waiting.length === 0) return false;
    line.heldUp = true;
    return true;
  }

  #made(socket: Connection): Line<readonly [In, Out]> {
    const line: Line<readonly [In, Out]> = { waiting: [], busy: false, begun: 0, heldUp: false };
    this.#lines.set(socket, line);
    // Whoever reads a body, or drops one, lets the socket go on.
    socket.on('resume', () => {
      if (line.waiting.length > 0) socket.pause();
    });
    socket.once('close', () => {
      this.#waiting -= line.waiting.length;
      line.waiting.length = 0;
    });
    return line;
  }

  #begin(
    socket: Connection,
    line: Line<readonly [In, Out]>,
    [incoming, outgoing]: readonly [In, Out],
  ): void {
    line.busy = true;
    line.begun++;
    outgoing.once('close', () => {
      line.busy = false;
      const next = line.waiting.shift();
      if (next === undefined) return;
      this.#waiting--;
      // After an answer that was the last one of its connection no other has a way out.
      if (socket.destroyed || next[1].socket === null) return;
      this.#begin(socket, line, next);
      if (line.waiting.length > 0) return;
      socket.resume();
      if (line.heldUp) this.#giveTime(socket, line);
    });
    this.#options.begin(incoming, outgoing);
  }

  /** Node has stopped looking at the time of that head. */
  #giveTime(socket: Connection, line: Line<readonly [In, Out]>): void {
    line.heldUp = false;
    const { begun } = line;
    const timer = this.#options.clock.timer(this.#options.headMs, () => {
      if (line.begun === begun) socket.destroy();
    });
    socket.once('close', () => timer.cancel());
  }
}

export interface OneAtATimeOptions<In, Out> {
  readonly clock: Clock;
  readonly begin: (incoming: In, outgoing: Out) => unknown;
  /** Requests that wait behind another of their connection; who sends more is cut. */
  readonly perConnection: number;
  /** … and those of all connections. */
  readonly inAll: number;
  /** For a head that was held up, once it can go on. */
  readonly headMs: number;
}
