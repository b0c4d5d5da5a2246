import type { Clock, Timer } from '../../src/ports/clock.ts';

/** A clock that stands still until a test moves it. */
export class MovedClock implements Clock {
  #now = 1_000;
  #wall = Date.UTC(2026, 0, 1);
  readonly #timers = new Set<{ due: number; fire: () => void }>();
  #set: (() => void)[] = [];

  now(): number {
    return this.#now;
  }

  wall(): number {
    return this.#wall;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<boolean> {
    if (signal?.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const timer = this.timer(ms, () => {
        signal?.removeEventListener('abort', aborted);
        resolve(true);
      });
      const aborted = () => {
        timer.cancel();
        resolve(false);
      };
      signal?.addEventListener('abort', aborted, { once: true });
    });
  }

  timer(ms: number, fire: () => void): Timer {
    const timer = { due: this.#now + ms, fire };
    this.#timers.add(timer);
    for (const tell of this.#set.splice(0)) tell();
    return { cancel: () => this.#timers.delete(timer) };
  }

  /** Timers that wait, as the time that is left of each. */
  get waiting(): number[] {
    return [...this.#timers].map(({ due }) => due - this.#now).sort((a, b) => a - b);
  }

  /** Resolves once some timer is this near (it may be already). */
  async until(pending: (left: number) => boolean): Promise<void> {
    while (!this.waiting.some(pending)) await new Promise<void>((tell) => this.#set.push(tell));
  }

  /** Moves on; timers fire in order, each at its time. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const [next] = [...this.#timers]
        .filter(({ due }) => due <= end)
        .sort((a, b) => a.due - b.due);
      if (!next) break;
      this.#timers.delete(next);
      this.#wall += next.due - this.#now;
      this.#now = next.due;
      next.fire();
    }
    this.#wall += end - this.#now;
    this.#now = end;
  }
}
