import type { Clock, Patience, Timer } from '../ports/clock.ts';

/**
 * A flag that ends a wait, not a queue: twice is once, and a wake while nobody waits is kept for the next
 * wait, so none is lost between looking and waiting.
 */
export class Wakeup {
  readonly #clock: Clock;
  readonly #patience: Patience | undefined;
  #set = false;
  #release: (() => void) | undefined;

  constructor(clock: Clock, patience?: Patience) {
    this.#clock = clock;
    this.#patience = patience;
  }

  wake(): void {
    this.#set = true;
    this.#release?.();
  }

  /** Waits at most `ms` (`Infinity`: until woken). `true` if it was woken. One waiter at a time. */
  async wait(ms: number): Promise<boolean> {
    if (!this.#set && ms > 0) {
      let timer: Timer | undefined;
      await new Promise<void>((resolve) => {
        this.#release = resolve;
        if (Number.isFinite(ms)) timer = this.#clock.timer(ms, resolve, this.#patience);
      });
      timer?.cancel();
      this.#release = undefined;
    }
    const woken = this.#set;
    this.#set = false;
    return woken;
  }
}
