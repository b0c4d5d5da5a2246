import type { KeyLimits } from '../contract/keys.ts';
import { typeKey } from '../contract/type-key.ts';
import { beyondLimits } from '../core/key-rules.ts';
import type { Clock, Timer } from '../ports/clock.ts';
import type { Note, Spot } from '../ports/store.ts';
import { type EventStream, eventText } from './event-stream.ts';
import type { WaitingClaims } from './waiting-claims.ts';
import { availableIn, chooseSleepers, type Interest, wants } from './wake.ts';

/** A reader of hints. Its key and (of a worker) its session are looked at again from time to time. */
export interface Listener {
  readonly project: string;
  readonly keyId: string;
  readonly stream: EventStream;
  /** By the clock's `now`. */
  authorisedAt: number;
}

export interface WorkerListener extends Listener {
  readonly workerId: string;
  readonly sessionId: string;
  /** Of its key: it is not woken for what it could not claim. */
  readonly limits: KeyLimits | undefined;
  interest: Interest | undefined;
}

/** A wait for news of a task. */
export interface News {
  /** It came, or nobody waits for it any more. */
  readonly over: Promise<void>;
  /** Twice is fine. */
  stop(): void;
}

/** Types that a worker is still to be woken for, and when it was woken last. */
interface Pending {
  readonly types: Set<string>;
  wokenAt: number;
  timer: Timer | undefined;
}

/**
 * Who listens on this node: workers for work, producers for news, long polls for one task. It turns notes of
 * the store into hints; what it loses costs a polling interval.
 */
export class Hub {
  readonly #clock: Clock;
  readonly #wakeGapMs: number;
  readonly #waiting: Pick<WaitingClaims, 'has'>;
  readonly #workers = new Set<WorkerListener>();
  readonly #byWorker = new Map<string, Set<WorkerListener>>();
  readonly #producers = new Set<Listener>();
  readonly #waiters = new Map<string, Set<() => void>>();
  readonly #pending = new Map<WorkerListener, Pending>();
  #turn = 0;
  #stopped = false;

  constructor(options: {
    readonly clock: Clock;
    readonly wakeGapMs: number;
    readonly waiting: Pick<WaitingClaims, 'has'>;
  }) {
    this.#waiting = options.waiting;
    this.#clock = options.clock;
    this.#wakeGapMs = options.wakeGapMs;
  }

  get listeners(): readonly (Listener | WorkerListener)[] {
    return [...this.#workers, ...this.#producers];
  }

  get stopped(): boolean {
    return this.#stopped;
  }

  /** Hints that are made but not sent yet. */
  get debt(): number {
    let debt = 0;
    for (const { types } of this.#pending.values()) debt += types.size > 0 ? 1 : 0;
    return debt;
  }

  addWorker(listener: WorkerListener): void {
    // A session has one stream: a new one takes the place of one that it has lost sight of.
    for (const other of this.#workersOf(listener.project, listener.workerId))
      if (other.sessionId === listener.sessionId) other.stream.close();
    this.#workers.add(listener);
    const name = workerName(listener.project, listener.workerId);
    const same = this.#byWorker.get(name) ?? new Set();
    this.#byWorker.set(name, same.add(listener));
  }

  addProducer(listener: Listener): void {
    this.#producers.add(listener);
  }

  removeProducer(listener: Listener): void {
    this.#producers.delete(listener);
  }

  removeWorker(listener: WorkerListener): void {
    this.#workers.delete(listener);
    const name = workerName(listener.project, listener.workerId);
    const same = this.#byWorker.get(name);
    same?.delete(listener);
    if (same?.size === 0) this.#byWorker.delete(name);
    this.#pending.get(listener)?.timer?.cancel();
    this.#pending.delete(listener);
  }

  /** What a worker has just shown by its claim or presence. */
  learn(
    project: string,
    { workerId, sessionId }: { readonly workerId: string; readonly sessionId: string },
    interest: Partial<Interest>,
  ): void {
    for (const listener of this.#workersOf(project, workerId)) {
      // Who names a session that has shown nothing is no worker yet.
      if (listener.sessionId !== sessionId) continue;
      listener.interest = {
        pools: new Set(),
        types: new Set(),
        freeSlots: 0,
        draining: false,
        ...listener.interest,
        ...interest,
      };
    }
  }

  /** Whether another worker listens that would take such a task now, as far as is known here. */
  othersWant(spot: Spot, workerId: string): boolean {
    return [...this.#workers].some(
      (w) => w.project === spot.project && w.workerId !== workerId && wouldTake(w, spot),
    );
  }

  /** Waits for news of the task, `ms` at most, and no longer than its reader (none of `signals`) and this hub go on. */
  news(taskId: string, ms: number, signals: readonly AbortSignal[]): News {
    if (this.#stopped || signals.some(({ aborted }) => aborted))
      return { over: Promise.resolve(), stop: () => {} };
    const waiters = this.#waiters.get(taskId) ?? new Set();
    this.#waiters.set(taskId, waiters);
    let resolve = () => {};
    const over = new Promise<void>((done) => {
      resolve = done;
    });
    const stop = () => {
      // Twice is fine: others may have begun to wait since.
      if (!waiters.delete(stop)) return;
      if (waiters.size === 0) this.#waiters.delete(taskId);
      timer.cancel();
      for (const signal of signals) signal.removeEventListener('abort', stop);
      resolve();
    };
    const timer = this.#clock.timer(ms, stop);
    waiters.add(stop);
    for (const signal of signals) signal.addEventListener('abort', stop, { once: true });
    return { over, stop };
  }

  /**
   * Notes of one commit, while the disk is still at it: who is told of work asks for it meanwhile. What he is given waits
   * for the disk, and a hint that comes to nothing costs a claim.
   */
  hint(notes: readonly Note[]): void {
    if (this.#workers.size === 0) return;
    for (const { spot, tasks } of availableIn(notes)) if (tasks > 0) this.#wake(spot, tasks);
  }

  /** Notes of one commit, now that it is durable. */
  take(notes: readonly Note[]): void {
    const told = new Map<string, string[]>();
    for (const note of notes) {
      switch (note.kind) {
        case 'task':
          if (this.#producers.size > 0) this.#write(note, told);
          // Most often nobody waits, and to look an id up costs more than to ask that.
          if (this.#waiters.size > 0)
            for (const wake of this.#waiters.get(note.taskId) ?? []) wake();
          break;
        case 'cancel':
          for (const { stream } of this.#workersOf(note.project, note.workerId))
            stream.send('cancel', { attemptId: note.attemptId });
          break;
        case 'drain':
          for (const { stream } of this.#workersOf(note.project, note.workerId))
            stream.send('drain', {});
          break;
        case 'session':
          for (const other of this.#workersOf(note.project, note.workerId))
            if (other.sessionId !== note.sessionId) other.stream.close();
          break;
        default:
          break;
      }
    }
    for (const [project, events] of told) this.#tellProducers(project, events);
  }

  /** Ends every stream and every wait. Twice is fine. */
  stop(): void {
    this.#stopped = true;
    for (const { stream } of this.listeners) stream.close();
    for (const waiters of [...this.#waiters.values()]) for (const wake of [...waiters]) wake();
  }

  #workersOf(project: string, workerId: string): WorkerListener[] {
    return [...(this.#byWorker.get(workerName(project, workerId)) ?? [])];
  }

  #write(
    { project, taskId, seq, status }: Extract<Note, { kind: 'task' }>,
    told: Map<string, string[]>,
  ): void {
    const events = told.get(project) ?? [];
    events.push(eventText('task', { taskId, seq, status }));
    told.set(project, events);
  }

  /** All that a commit has changed goes out at once, written once for all readers. */
  #tellProducers(project: string, events: readonly string[]): void {
    const bytes = Buffer.from(events.join(''));
    for (const listener of this.#producers)
      if (listener.project === project) listener.stream.push(bytes);
  }

  #wake(spot: Spot, tasks: number): void {
    // Whoever waits with a claim has been asked already.
    const ready = [...this.#workers].filter(
      (w) => w.project === spot.project && wouldTake(w, spot) && !this.#waiting.has(w),
    );
    const type = typeKey(spot.type, spot.schemaVersion);
    for (const listener of chooseSleepers(ready, tasks, this.#turn)) this.#wakeOne(listener, type);
    this.#turn += tasks * 2;
  }

  /** At once, but a worker that was woken a moment ago is told of all that came meanwhile in one hint. */
  #wakeOne(listener: WorkerListener, type: string): void {
    const pending = this.#pending.get(listener) ?? {
      types: new Set<string>(),
      wokenAt: Number.NEGATIVE_INFINITY,
      timer: undefined,
    };
    this.#pending.set(listener, pending);
    pending.types.add(type);
    if (pending.timer) return;
    const wait = pending.wokenAt + this.#wakeGapMs - this.#clock.now();
    const send = () => {
      pending.timer = undefined;
      pending.wokenAt = this.#clock.now();
      const types = [...pending.types];
      pending.types.clear();
      listener.stream.send('wake', { types });
    };
    if (wait <= 0) send();
    else pending.timer = this.#clock.timer(wait, send);
  }
}

function wouldTake({ interest, limits }: WorkerListener, spot: Spot): boolean {
  if (interest === undefined || !wants(interest, spot)) return false;
  const { pool, type, schemaVersion } = spot;
  return !beyondLimits(limits, { pools: [['', pool]], types: [['', type, schemaVersion]] });
}

const workerName = (project: string, workerId: string) => `${project}\n${workerId}`;
