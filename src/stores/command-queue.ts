import { TaskError } from '../contract/errors.ts';
import type { Note, StoreStats } from '../ports/store.ts';

/** What carries out a group of commands: begins, keeps or drops each, then makes all durable at once. */
export interface GroupCommit<Tx> {
  begin(): void;
  /** Runs one command so that its failure undoes it alone (else it throws `GroupLost`). Returns its notes. */
  command<T>(work: (tx: Tx) => Promise<T>): Promise<{ value: T; notes: readonly Note[] }>;
  /** Throws where it could not be made durable. @returns whether there was anything to keep. */
  commit(): boolean;
  /** Undoes the group as far as that is still needed. */
  rollback(): void;
}

/** A command failed in a way that took the whole group with it. */
export class GroupLost extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

interface Waiting<Tx> {
  readonly work: (tx: Tx) => Promise<unknown>;
  readonly settle: (outcome: Outcome) => void;
}

type Outcome =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: unknown };

/**
 * One writer: it takes all commands that wait at that moment into one commit and answers after it. Woken by
 * `run`; between two groups other things of the process get their turn; ends with `close`.
 */
export class CommandQueue<Tx> {
  readonly #group: GroupCommit<Tx>;
  readonly #defer: (run: () => void) => void;
  readonly #listeners = new Set<(notes: readonly Note[]) => void>();
  #waiting: Waiting<Tx>[] = [];
  #busy = false;
  #closed = false;
  #idle: (() => void)[] = [];
  #commits = 0;
  #commands = 0;
  #failures = 0;

  /** @param defer starts a group. Default: after the present turn of the event loop, with all requests that it read. */
  constructor(group: GroupCommit<Tx>, defer: (run: () => void) => void = setImmediate) {
    this.#group = group;
    this.#defer = defer;
  }

  get stats(): StoreStats {
    return { commits: this.#commits, commands: this.#commands, failures: this.#failures };
  }

  run<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(closedError());
    return new Promise((resolve, reject) => {
      this.#waiting.push({
        work,
        settle: (outcome) =>
          outcome.ok ? resolve(outcome.value as T) : reject(outcome.error as Error),
      });
      this.#wake();
    });
  }

  subscribe(listener: (notes: readonly Note[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Waits for the commands that were given before; refuses later ones. */
  close(): Promise<void> {
    this.#closed = true;
    if (!this.#busy && this.#waiting.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #wake(): void {
    if (this.#busy) return;
    this.#busy = true;
    this.#defer(() => void this.#turn());
  }

  async #turn(): Promise<void> {
    const group = this.#waiting.splice(0, GROUP_MAX);
    const { outcomes, notes } = await this.#carryOut(group);
    for (const [index, { settle }] of group.entries()) settle(outcomes[index] as Outcome);
    this.#busy = false;
    if (this.#waiting.length > 0) this.#wake();
    else for (const resolve of this.#idle.splice(0)) resolve();
    if (notes.length > 0) for (const listener of this.#listeners) listener(notes);
  }

  async #carryOut(
    group: readonly Waiting<Tx>[],
  ): Promise<{ outcomes: readonly Outcome[]; notes: readonly Note[] }> {
    const outcomes: Outcome[] = [];
    const notes: Note[] = [];
    try {
      this.#group.begin();
      for (const { work } of group) {
        try {
          const done = await this.#group.command(work);
          outcomes.push({ ok: true, value: done.value });
          notes.push(...done.notes);
        } catch (error) {
          if (error instanceof GroupLost) throw error;
          outcomes.push({ ok: false, error });
        }
      }
      if (this.#group.commit()) this.#commits++;
      this.#commands += group.length;
      return { outcomes, notes };
    } catch (cause) {
      // The whole group is undone: nobody may believe anything of it.
      this.#failures++;
      const error = unavailable(cause);
      try {
        this.#group.rollback();
      } catch {
        // What cannot even be undone was never kept: the next group begins by itself.
      }
      return { outcomes: group.map(() => ({ ok: false, error })), notes: [] };
    }
  }
}

/** Bounds the wait of the first command of a group, and what one commit writes. */
const GROUP_MAX = 512;

function unavailable(cause: unknown): TaskError {
  if (cause instanceof TaskError && cause.code === 'UNAVAILABLE') return cause;
  const why = cause instanceof Error ? cause.message : String(cause);
  return new TaskError('UNAVAILABLE', `The store could not make the change durable: ${why}.`, {
    retryable: true,
    hint: 'Look at the disk of the data folder (full, read-only, failing), then send it again.',
    cause,
  });
}

function closedError(): TaskError {
  return new TaskError('UNAVAILABLE', 'The store is closed: the control plane is stopping.', {
    retryable: true,
  });
}
