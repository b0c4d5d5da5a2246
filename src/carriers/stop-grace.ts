import type { StopReason } from '../ports/carrier.ts';
import type { Clock, Timer } from '../ports/clock.ts';

/** The time that a handler has to stop: when it is over, it is killed, or told where nobody can kill it. */
export class StopGrace {
  readonly #clock: Clock;
  readonly #over: () => void;
  #at = Number.POSITIVE_INFINITY;
  #timer: Timer | undefined;

  /** @param over called once at most. */
  constructor(clock: Clock, over: () => void) {
    this.#clock = clock;
    this.#over = over;
  }

  /** Of several, the shortest counts. `Infinity`: somebody else watches. */
  begin(graceMs: number): void {
    const at = this.#clock.now() + Math.max(0, graceMs);
    if (at >= this.#at) return;
    this.#at = at;
    this.#timer?.cancel();
    this.#timer = this.#clock.timer(Math.max(0, graceMs), this.#over);
  }

  end(): void {
    this.#timer?.cancel();
  }
}

export function ignoresStop(type: string, reason: StopReason | undefined): string {
  return `The handler of ${type} has not ended within its time to stop (${reason}). It runs inside this program and cannot be killed: its slot stays taken until it ends.`;
}
