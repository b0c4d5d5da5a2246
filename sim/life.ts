import type { Clock, Timer } from '../src/ports/clock.ts';

/**
 * One simulated process's time on earth. When it dies its timers never fire, what it waits for never comes, and it does
 * nothing more to the outside: all it has is reached through `clock` and `pass`.
 */
export class Life {
  /** Keeps where each timer was made, which costs a fifth of a run. */
  static traces = false;
  readonly clock: Clock;
  #alive = true;
  readonly #timers = new Map<Timer, { readonly ms: number; readonly where: Error }>();
  readonly #ends: (() => void)[] = [];

  constructor(clock: Clock) {
    this.clock = {
      now: () => clock.now(),
      wall: () => clock.wall(),
      sleep: (ms, signal) => this.#sleep(ms, signal),
      timer: (ms, fire) => this.#timer(clock, ms, fire),
    };
  }

  get alive(): boolean {
    return this.#alive;
  }

  /** What is waited for, for a message. */
  get waiting(): string {
    return [...this.#timers.values()]
      .map(({ ms, where }) => `${Math.round(ms)} ms${where?.stack?.replace('Error', '') ?? ''}`)
      .join('; ');
  }

  /** Timers that were neither cancelled nor have fired. */
  get timers(): number {
    return this.#timers.size;
  }

  /** A call to the outside: its answer reaches only the living. */
  async pass<T>(work: () => Promise<T>): Promise<T> {
    if (!this.#alive) return never();
    try {
      const made = await work();
      return this.#alive ? made : never();
    } catch (error) {
      if (!this.#alive) return never();
      throw error;
    }
  }

  onDeath(act: () => void): void {
    if (this.#alive) this.#ends.push(act);
    else act();
  }

  /** kill -9. Twice is fine. */
  die(): void {
    if (!this.#alive) return;
    this.#alive = false;
    for (const timer of [...this.#timers.keys()]) timer.cancel();
    for (const act of this.#ends.splice(0)) act();
  }

  #timer(clock: Clock, ms: number, fire: () => void): Timer {
    if (!this.#alive) return { cancel: () => {} };
    const waiting = clock.timer(ms, () => {
      this.#timers.delete(timer);
      if (this.#alive) fire();
    });
    const timer: Timer = {
      cancel: () => {
        this.#timers.delete(timer);
        waiting.cancel();
      },
    };
    this.#timers.set(timer, { ms, where: new Error() });
    return timer;
  }

  #sleep(ms: number, signal?: AbortSignal): Promise<boolean> {
    if (signal?.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const aborted = () => {
        timer.cancel();
        resolve(false);
      };
      const timer = this.clock.timer(ms, () => {
        signal?.removeEventListener('abort', aborted);
        resolve(true);
      });
      signal?.addEventListener('abort', aborted, { once: true });
    });
  }
}

/** A fresh one each time, so that the waiting can be collected. */
export function never(): Promise<never> {
  return new Promise(() => {});
}
