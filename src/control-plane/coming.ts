import type { Clock, Timer } from '../ports/clock.ts';
import type { SocketLimits } from './socket.ts';

/** Requests whose heads are here and plain, and whose bodies are still coming, of all connections. */
export class Comings {
  readonly #limits: SocketLimits;
  readonly #clock: Clock;
  /** Announced by all of them. */
  #bytes = 0;

  constructor({ limits, clock }: { readonly limits: SocketLimits; readonly clock: Clock }) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /**
   * @param wholeBytes of the request. @param late is called where it is not whole in time.
   * @returns `undefined`: it is too large to be waited for here, or too many are.
   */
  begin(first: Buffer, wholeBytes: number, late: () => void): Coming | undefined {
    const { comingBytes, comingInAllBytes, comingMs } = this.#limits;
    if (wholeBytes > comingBytes || this.#bytes + wholeBytes > comingInAllBytes) return undefined;
    this.#bytes += wholeBytes;
    const timer = this.#clock.timer(comingMs, late);
    return new Coming(first, wholeBytes, timer, () => {
      this.#bytes -= wholeBytes;
    });
  }
}

/** One of them. Whoever has it ends it. */
export class Coming {
  readonly #wholeBytes: number;
  readonly #timer: Timer;
  readonly #ended: () => void;
  readonly #pieces: Buffer[];
  #bytes: number;

  constructor(first: Buffer, wholeBytes: number, timer: Timer, ended: () => void) {
    this.#pieces = [first];
    this.#bytes = first.length;
    this.#wholeBytes = wholeBytes;
    this.#timer = timer;
    this.#ended = ended;
  }

  /** @returns bytes that are still to come; below 0: something came behind it. */
  take(piece: Buffer): number {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    return this.#wholeBytes - this.#bytes;
  }

  /** It is waited for no longer. @returns what has come of it. */
  end(): Buffer {
    this.#timer.cancel();
    this.#ended();
    return Buffer.concat(this.#pieces);
  }
}
