import type { Clock, Timer } from '../../ports/clock.ts';
import type { Checkpoints } from './checkpoints.ts';

/** What a store that may rest is at. */
export interface StoreState {
  /** Since it was opened. */
  readonly commits: number;
  /** A transaction is open. */
  readonly open: boolean;
  /** Closed, or its files are lost. */
  readonly over: boolean;
  /** Tables were made or changed when it was opened. */
  readonly changed: boolean;
}

/**
 * When a store that nobody writes to folds its log in: a long one after seconds; whatever is left of it after a minute, once, so that the
 * file itself holds the data at rest. New tables come into the file at the first rest, not sooner: with them comes the first key, and until
 * then a copy of the file without its log is known as one of nothing (`refuseLost`). A store at rest has no timer.
 */
export class RestFolds {
  readonly #clock: Clock;
  readonly #checkpoints: Pick<Checkpoints, 'rest' | 'restWhole'>;
  readonly #state: () => StoreState;
  #soon: Timer | undefined;
  #later: Timer | undefined;
  /** The commits that the last long rest came after: what could not be folded in then is left to the next. */
  #restedAt = 0;
  #first = true;

  constructor(
    clock: Clock,
    checkpoints: Pick<Checkpoints, 'rest' | 'restWhole'>,
    state: () => StoreState,
  ) {
    this.#clock = clock;
    this.#checkpoints = checkpoints;
    this.#state = state;
  }

  /** A command has come. */
  written(): void {
    this.#soon ??= this.#lookSoon();
  }

  cancel(): void {
    this.#soon?.cancel();
    this.#later?.cancel();
  }

  /** Who reads now in another process, and a full disk, are met again at the next look. */
  #lookSoon(): Timer {
    const seen = this.#state().commits;
    return this.#clock.timer(IDLE_MS, () => {
      this.#soon = undefined;
      const { commits, open, over, changed } = this.#state();
      if (over) return;
      const idle = commits === seen && !open;
      if (!idle || !this.#checkpoints.rest()) this.#soon = this.#lookSoon();
      else if (changed && this.#first) this.#rest(commits);
      else if (commits !== this.#restedAt) this.#later ??= this.#lookLater();
    });
  }

  #lookLater(): Timer {
    const seen = this.#state().commits;
    return this.#clock.timer(REST_MS, () => {
      this.#later = undefined;
      const { commits, open, over } = this.#state();
      if (over) return;
      if (commits !== seen || open) {
        this.#later = this.#lookLater();
        return;
      }
      this.#rest(commits);
    });
  }

  #rest(commits: number): void {
    this.#first = false;
    this.#restedAt = commits;
    this.#checkpoints.restWhole();
  }
}

/** No commit for so long: what is long of the log is folded in. */
const IDLE_MS = 2_000;
/** No commit for so long: all of it is, and the first commit after that syncs the log's head once more. */
const REST_MS = 60_000;
