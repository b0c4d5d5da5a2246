import { hostDefaults } from '../core/defaults.ts';
import type { ProgressUpdate } from './protocol.ts';

/**
 * Lets one progress update through until the agent asks for more; the latest of those in between follows then.
 * A checkpoint or message that a later update lacks is kept, so that nothing is lost by being passed over.
 */
export class ProgressValve {
  readonly #send: (update: ProgressUpdate) => void;
  readonly #monotonicMs: () => number;
  #waiting: ProgressUpdate | undefined;
  #unanswered = false;
  #sentAt = Number.NEGATIVE_INFINITY;

  constructor(send: (update: ProgressUpdate) => void, monotonicMs: () => number) {
    this.#send = send;
    this.#monotonicMs = monotonicMs;
  }

  put(update: ProgressUpdate): void {
    this.#waiting = { ...this.#waiting, ...update };
    if (!this.#unanswered || this.#monotonicMs() - this.#sentAt >= hostDefaults.progressUnaskedMs)
      this.flush();
  }

  /** The agent has taken the last one. */
  more(): void {
    this.#unanswered = false;
    this.flush();
  }

  flush(): void {
    if (this.#waiting === undefined) return;
    const update = this.#waiting;
    this.#waiting = undefined;
    this.#unanswered = true;
    this.#sentAt = this.#monotonicMs();
    this.#send(update);
  }
}
