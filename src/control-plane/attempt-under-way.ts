import type { AttemptState, Change, NewEvent, TaskState, Verdict } from '../core/task.ts';
import type { AttemptRow, Soon, TaskRow, Transaction } from '../ports/store.ts';
import { keepChange } from './change.ts';
import { tokenFits } from './lease-token.ts';
import type { Services } from './services.ts';

/** An attempt that reports of one command are about: as it was found, and what has become of it since. */
export class AttemptUnderWay {
  readonly #row: TaskRow;
  readonly #attemptRow: AttemptRow;
  readonly #events: NewEvent[] = [];
  #task: TaskState;
  #attempt: AttemptState;
  /** A token that was seen to fit. */
  #token: string | undefined;

  constructor({ row, attempt }: { readonly row: TaskRow; readonly attempt: AttemptRow }) {
    this.#row = row;
    this.#attemptRow = attempt;
    this.#task = row.task;
    this.#attempt = attempt.attempt;
  }

  /** Of its task. */
  get ref(): number {
    return this.#row.ref;
  }

  get task(): TaskState {
    return this.#task;
  }

  get attempt(): AttemptState {
    return this.#attempt;
  }

  tokenFits({ secret, store }: Services, token: string): boolean {
    if (token === this.#token) return true;
    const { project, id: attemptId, fence } = this.#attempt;
    const holder = { project, attemptId, fence };
    const fits = tokenFits(secret, store.epoch, holder, token);
    if (fits) this.#token = token;
    return fits;
  }

  take({ task, attempt, events, verdict }: Change): Verdict {
    if (task !== undefined) this.#task = task;
    if (attempt !== undefined) this.#attempt = attempt;
    for (const event of events) this.#events.push(event);
    return verdict;
  }

  /** Once, before anything else of its task is looked up. */
  keep(tx: Transaction): Soon<TaskRow> {
    const attempt = this.#attempt === this.#attemptRow.attempt ? {} : { attempt: this.#attempt };
    const change = { task: this.#task, ...attempt, events: this.#events };
    return keepChange(tx, this.#row, this.#attemptRow, change);
  }
}
