/** A task as a test holds it. */
import { type Attempt, alive, type Task } from './attempts.ts';
import type { Found, Journal, Report, UntilOptions } from './journal.ts';
import type { Tasks } from './tasks.ts';

export class TaskHandle {
  readonly task: Task;
  readonly #tasks: Tasks;
  readonly #journal: Journal;

  constructor(task: Task, tasks: Tasks, journal: Journal) {
    this.task = task;
    this.#tasks = tasks;
    this.#journal = journal;
  }

  get taskId(): string {
    return this.task.taskId;
  }

  get attempts(): Attempt[] {
    return this.task.attempts;
  }

  get attemptIds(): string[] {
    return this.task.attempts.map((attempt) => attempt.attemptId);
  }

  get latest(): Attempt | undefined {
    return this.task.attempts.at(-1);
  }

  get queued(): boolean {
    return this.#tasks.queue.some((entry) => entry.task === this.task);
  }

  /** What the worker sent for all its attempts, of one op or of every. */
  reports(op?: string): Report[] {
    const all = this.task.attempts.flatMap((attempt) => attempt.reports);
    return op === undefined ? all : all.filter((report) => report.op === op);
  }

  /** The attempt that a claim got (the first, or the next one after `reoffer`). */
  granted(options?: UntilOptions): Promise<Attempt> {
    return this.#until('granted', () => !this.queued && this.latest, options);
  }

  /** The first report of this op that was accepted. */
  accepted(op: string, options?: UntilOptions): Promise<Report> {
    const look = () => this.reports(op).find((report) => report.answer?.status === 200);
    return this.#until(`${op} accepted`, look, options);
  }

  /** The report that ended its latest attempt, or was recorded after that was lost. */
  ended(options?: UntilOptions): Promise<Report> {
    const look = () => !this.queued && (this.latest?.late ?? this.latest?.outcome);
    return this.#until('ended', look, options);
  }

  /** A new attempt (the next fence) for the next claim; what the old one sends is stale once it is granted. */
  reoffer(): void {
    this.#tasks.enqueue(this.task);
  }

  /** The very same attempt goes out once more, as no control plane may do. */
  again(): void {
    if (!this.latest) throw new Error(`${this.taskId} has no attempt yet that could go out again`);
    this.#tasks.enqueue(this.task, this.latest);
  }

  /** For how long a lease of it had run out at most, in ms; 0 if it was always renewed in time. */
  lapsedMs(): number {
    const now = performance.now();
    const lapses = this.task.attempts.map((attempt) =>
      Math.max(attempt.lapsedMs, alive(attempt) ? now - attempt.leaseUntil : 0),
    );
    return Math.max(0, ...lapses);
  }

  #until<T>(what: string, look: () => T, options?: UntilOptions): Promise<Found<T>> {
    const { type } = this.task.offer;
    return this.#journal.until(look, { what: `${this.taskId} (${type}) ${what}`, ...options });
  }
}
