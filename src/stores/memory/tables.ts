import type { HandlerInfo } from '../../contract/index.ts';
import type { AttemptState, TaskState } from '../../core/task.ts';
import type {
  KeyRow,
  Note,
  StoredAction,
  StoredEvent,
  StoredLogLine,
  WorkerRow,
} from '../../ports/store.ts';

/** Undoes what a command changed, newest first. */
export class Undo {
  #steps: (() => void)[] = [];

  push(step: () => void): void {
    this.#steps.push(step);
  }

  keep(): void {
    this.#steps = [];
  }

  run(): void {
    for (const step of this.#steps.reverse()) step();
    this.#steps = [];
  }
}

/** A map that can go back to how it was. Values are never changed in place. */
export class Table<K, V> {
  readonly #map = new Map<K, V>();
  readonly #undo: Undo;

  constructor(undo: Undo) {
    this.#undo = undo;
  }

  get(key: K): V | undefined {
    return this.#map.get(key);
  }

  values(): V[] {
    return [...this.#map.values()];
  }

  entries(): [K, V][] {
    return [...this.#map.entries()];
  }

  get size(): number {
    return this.#map.size;
  }

  set(key: K, value: V): void {
    const had = this.#map.has(key);
    const before = this.#map.get(key);
    this.#undo.push(() => (had ? this.#map.set(key, before as V) : this.#map.delete(key)));
    this.#map.set(key, value);
  }

  delete(key: K): boolean {
    const before = this.#map.get(key);
    if (!this.#map.delete(key)) return false;
    this.#undo.push(() => this.#map.set(key, before as V));
    return true;
  }
}

/** A task with what the store finds it by. */
export interface KeptTask {
  readonly ref: number;
  readonly task: TaskState;
  readonly rank: number;
  readonly ready: boolean;
  readonly dueAtMs: number | undefined;
  readonly attention: boolean;
  readonly requestHash: string | undefined;
}

export interface KeptAttempt {
  readonly ref: number;
  readonly taskRef: number;
  readonly attempt: AttemptState;
}

export interface KeptLogs {
  readonly lastN: number;
  readonly lines: readonly StoredLogLine[];
}

/** Parts of a compound key, which may hold any character. */
export const key = (...parts: readonly (string | number)[]) => JSON.stringify(parts);

/** Everything that the store holds. */
export class Tables {
  readonly undo = new Undo();
  readonly tasks = new Table<number, KeptTask>(this.undo);
  readonly taskRefs = new Table<string, number>(this.undo);
  /** Refs of queued tasks only: what claims look through. */
  readonly queued = new Table<number, true>(this.undo);
  /** Refs of tasks that have a due time. */
  readonly dated = new Table<number, true>(this.undo);
  readonly idempotency = new Table<string, number>(this.undo);
  /** Key: part and ref. */
  readonly payloads = new Table<string, string>(this.undo);
  readonly attempts = new Table<number, KeptAttempt>(this.undo);
  readonly attemptRefs = new Table<string, number>(this.undo);
  readonly open = new Table<number, true>(this.undo);
  readonly events = new Table<number, readonly StoredEvent[]>(this.undo);
  readonly logs = new Table<number, KeptLogs>(this.undo);
  readonly actions = new Table<string, StoredAction>(this.undo);
  readonly workers = new Table<string, WorkerRow>(this.undo);
  readonly handlers = new Table<string, readonly HandlerInfo[]>(this.undo);
  readonly sessions = new Table<
    string,
    {
      readonly superseded: boolean;
      readonly atMs: number;
      readonly worker: string;
      readonly sessionId: string;
    }
  >(this.undo);
  readonly claims = new Table<
    string,
    { readonly atMs: number; readonly attempts: readonly string[] }
  >(this.undo);
  readonly keys = new Table<string, KeyRow>(this.undo);
  readonly keyIds = new Table<string, string>(this.undo);
  notes: Note[] = [];
  #lastRef = 0;

  /** Numbers are not given back: a gap means nothing. */
  nextRef(): number {
    return ++this.#lastRef;
  }
}
