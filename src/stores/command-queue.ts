import { TaskError } from '../contract/errors.ts';
import type { Note, Soon, StoreStats } from '../ports/store.ts';

/** What carries out a group of commands: begins, keeps or drops each, then commits all at once. */
export interface GroupCommit<Tx> {
  begin(): void;
  /** Nothing is begun before; it never rejects. */
  readonly pause?: Promise<void> | undefined;
  /** Later commands join the group that has begun. */
  joined?(): void;
  /**
   * Runs one command so that its failure undoes it alone; else it throws `GroupSpoilt`, or `GroupLost` where nothing can
   * be kept. Returns its notes.
   */
  command<T>(work: (tx: Tx) => Soon<T>): Promise<{ value: T; notes: readonly Note[] }>;
  /** After `GroupSpoilt`: undoes the group and begins it anew, so that from now on each failure undoes its command alone. */
  again?(): void;
  /** Throws where it could not be kept. @returns whether there was anything to keep. */
  commit(): boolean;
  /**
   * What was committed becomes durable; it rejects where that failed. `undefined`: it is durable. While it is pending
   * nothing is committed.
   */
  readonly durable?: Promise<void> | undefined;
  /** Undoes the group as far as that is still needed. */
  rollback(): void;
}

/** A command failed in a way that took the whole group with it. */
export class GroupLost extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

/** A command failed after it had written, and nothing undoes it alone: all commands of its group are to be run again. */
export class GroupSpoilt extends Error {}

interface Waiting<Tx> {
  readonly work: (tx: Tx) => unknown;
  readonly items: number;
  readonly made: ((value: never) => unknown) | undefined;
  readonly settle: (outcome: Outcome) => void;
}

type Outcome =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: unknown };

/**
 * One writer: it takes all commands that wait at that moment into one commit and answers when that is durable. While
 * the disk is at it the next group is begun, and takes what comes until the disk is ready for it. Woken by
 * `run`; between two groups other things of the process get their turn; ends with `close`.
 */
export class CommandQueue<Tx> {
  readonly #group: GroupCommit<Tx>;
  readonly #defer: (run: () => void) => void;
  readonly #listeners = new Set<Listener>();
  /** Told at the commit. */
  readonly #early = new Set<Listener>();
  /** Told before it: what they ask for at once joins the group. */
  readonly #within = new Set<Listener>();
  #waiting: Waiting<Tx>[] = [];
  #busy = false;
  #closed = false;
  /** A command came for the group that is under way. */
  #came: (() => void) | undefined;
  /** Groups that are committed and not answered yet. */
  #unanswered = 0;
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

  /** @param items how much it does: a group ends with the command that makes it full. @param made see `Store.write`. */
  run<T, Made = T>(work: (tx: Tx) => Soon<T>, items = 1, made?: (value: T) => Made): Promise<Made> {
    if (this.#closed) return Promise.reject(closedError());
    return new Promise((resolve, reject) => {
      this.#waiting.push({
        work,
        items,
        made,
        settle: (outcome) =>
          outcome.ok ? resolve(outcome.value as Made) : reject(outcome.error as Error),
      });
      this.#came?.();
      this.#wake();
    });
  }

  /** See `Store.subscribe`. */
  subscribe(listener: Listener, early?: Listener, within?: Listener): () => void {
    this.#listeners.add(listener);
    if (early) this.#early.add(early);
    if (within) this.#within.add(within);
    return () => {
      this.#listeners.delete(listener);
      if (early) this.#early.delete(early);
      if (within) this.#within.delete(within);
    };
  }

  /** Waits for the commands that were given before; refuses later ones. */
  close(): Promise<void> {
    this.#closed = true;
    if (this.#isIdle) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  get #isIdle(): boolean {
    return !this.#busy && this.#waiting.length === 0 && this.#unanswered === 0;
  }

  #wake(): void {
    if (this.#busy) return;
    this.#busy = true;
    this.#defer(() => void this.#turn());
  }

  async #turn(): Promise<void> {
    const group: Group<Tx> = {
      ...{ commands: [], items: 0, outcomes: [], notes: [], told: 0 },
      woken: new Set(),
    };
    const kept = await this.#carryOut(group);
    const durable = kept ? this.#group.durable : undefined;
    if (group.notes.length > 0) for (const listener of this.#early) listener(group.notes);
    if (kept) makeAll(group);
    if (durable === undefined) this.#answer(group);
    else {
      this.#unanswered++;
      const answered = () => {
        this.#unanswered--;
        this.#answer(group);
        this.#rest();
      };
      durable.then(answered, (cause) => {
        this.#refuse(group, cause);
        answered();
      });
    }
    this.#busy = false;
    if (this.#waiting.length > 0) this.#wake();
    else this.#rest();
  }

  /** Who was asked for by what the others brought begins work with it: they are answered when he has been. */
  #answer(group: Group<Tx>): void {
    const { outcomes, woken } = group;
    if (woken.size === 0) {
      this.#answerOthers(group);
      return;
    }
    this.#unanswered++;
    for (const index of woken) group.commands[index]?.settle(outcomes[index] as Outcome);
    process.nextTick(() => {
      this.#unanswered--;
      this.#answerOthers(group);
      this.#rest();
    });
  }

  #answerOthers({ commands, outcomes, notes, woken }: Group<Tx>): void {
    for (const [index, { settle }] of commands.entries())
      if (!woken.has(index)) settle(outcomes[index] as Outcome);
    if (notes.length > 0) for (const listener of this.#listeners) listener(notes);
  }

  #rest(): void {
    if (this.#isIdle) for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** @returns whether it is committed. */
  async #carryOut(group: Group<Tx>): Promise<boolean> {
    try {
      // Not awaited for nothing: in memory a command takes no turn of its own.
      while (this.#group.pause) await this.#group.pause;
      this.#group.begin();
      await this.#runWaiting(group);
      // What came while a large one was carried out: one commit for both, and nobody waits for the disk twice.
      const large = group.notes.length >= LARGE_NOTES && group.items < GROUP_MAX;
      if (large && this.#group.durable === undefined) await this.#runLater(group);
      for (let last = this.#group.durable; last; last = this.#group.durable) {
        const full = group.items >= GROUP_MAX;
        await (full ? last : Promise.race([last, this.#next()]));
        if (this.#group.durable === undefined) await this.#runLater(group);
        else await this.#joinWaiting(group);
      }
      if (this.#group.commit()) this.#commits++;
      this.#commands += group.commands.length;
      return true;
    } catch (cause) {
      // The whole group is undone. One that could not be begun has taken nobody yet.
      if (group.commands.length === 0) this.#take(group);
      this.#refuse(group, cause);
      try {
        this.#group.rollback();
      } catch {
        // What cannot even be undone was never kept: the next group begins by itself.
      }
      return false;
    }
  }

  #next(): Promise<void> {
    return new Promise((resolve) => {
      this.#came = resolve;
    });
  }

  /** With all requests that this turn of the event loop reads. */
  async #runLater(group: Group<Tx>): Promise<void> {
    await new Promise<void>(this.#defer);
    await this.#joinWaiting(group);
  }

  async #joinWaiting(group: Group<Tx>): Promise<void> {
    if (this.#waiting.length === 0) return;
    this.#group.joined?.();
    await this.#runWaiting(group);
  }

  /** What waits, and what is asked for because of it by those who are told before the commit. */
  async #runWaiting(group: Group<Tx>): Promise<void> {
    await this.#runTaken(group);
    while (this.#within.size > 0 && group.notes.length > group.told) {
      const notes = group.notes.slice(group.told);
      group.told = group.notes.length;
      for (const listener of this.#within) listener(notes);
      // What a full group has no room for is the beginning of the next.
      if (this.#waiting.length === 0 || group.items >= GROUP_MAX) continue;
      const first = group.commands.length;
      await this.#runTaken(group);
      for (let index = first; index < group.commands.length; index++) group.woken.add(index);
    }
  }

  async #runTaken(group: Group<Tx>): Promise<void> {
    this.#take(group);
    try {
      await this.#runRest(group);
    } catch (error) {
      if (!(error instanceof GroupSpoilt)) throw error;
      // Nobody has heard of what the first run came to.
      group.outcomes = [];
      group.notes = [];
      group.told = 0;
      this.#group.again?.();
      await this.#runRest(group);
    }
  }

  /** Commands that have no outcome yet. */
  async #runRest({ commands, outcomes, notes }: Group<Tx>): Promise<void> {
    for (const { work } of commands.slice(outcomes.length)) {
      try {
        const done = await this.#group.command(work);
        outcomes.push({ ok: true, value: done.value });
        notes.push(...done.notes);
      } catch (error) {
        if (error instanceof GroupLost || error instanceof GroupSpoilt) throw error;
        outcomes.push({ ok: false, error });
      }
    }
  }

  /** What waits joins the group: one command at least while it has none. */
  #take(group: Group<Tx>): void {
    let count = 0;
    while (count < this.#waiting.length && group.items < GROUP_MAX)
      group.items += (this.#waiting[count++] as Waiting<Tx>).items;
    for (const one of this.#waiting.splice(0, count)) group.commands.push(one);
  }

  /** Nobody may believe anything of it. */
  #refuse(group: Group<Tx>, cause: unknown): void {
    this.#failures++;
    const error = unavailable(cause);
    group.outcomes = group.commands.map(() => ({ ok: false, error }));
    group.notes = [];
  }
}

/** While the disk is at it. */
function makeAll({ commands, outcomes }: Group<never>): void {
  for (const [index, { made }] of commands.entries()) {
    const outcome = outcomes[index] as Outcome;
    if (made === undefined || !outcome.ok) continue;
    try {
      outcomes[index] = { ok: true, value: made(outcome.value as never) };
    } catch (error) {
      outcomes[index] = { ok: false, error };
    }
  }
}

type Listener = (notes: readonly Note[]) => void;

interface Group<Tx> {
  readonly commands: Waiting<Tx>[];
  /** What its commands do together. */
  items: number;
  outcomes: Outcome[];
  notes: Note[];
  /** So many of them have been told within. */
  told: number;
  /** Commands that were asked for within. */
  readonly woken: Set<number>;
}

/** So much was done that others may have come meanwhile: some half a millisecond. */
const LARGE_NOTES = 8;
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
