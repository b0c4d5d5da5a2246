/** A task as a test holds it. */
import { type Attempt, alive, type Task } from './attempts.ts';
import type { Found, Journal, Report, UntilOptions } from './journal.ts';
import type { Tasks } from './tasks.ts';

/** Of what a task's attempts sent, in messages. */
const REPORTS_TOLD = 6;

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
    return this.#until('a claim that takes it', () => !this.queued && this.latest, options);
  }

  /** The first report of this op that was accepted. */
  accepted(op: string, options?: UntilOptions): Promise<Report> {
    const look = () => this.reports(op).find((report) => report.answer?.status === 200);
    return this.#until(`a \`${op}\` that is accepted`, look, options);
  }

  /** The report that ended its latest attempt, or was recorded after that was lost. */
  ended(options?: UntilOptions): Promise<Report> {
    const look = () => !this.queued && (this.latest?.late ?? this.latest?.outcome);
    return this.#until('a report that ends it', look, options);
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

  /** `complete accepted, of a task demo/hello; it was granted, and came: start → 200, complete → no answer`. */
  #words(what: string): string {
    const { type } = this.task.offer;
    const all = this.reports().filter(({ op }) => op !== 'renew');
    const told = all.slice(-REPORTS_TOLD).map(({ op, request }) => {
      return `${op} (#${request.n}) → ${request.answered?.status ?? 'no answer'}`;
    });
    const came =
      told.length > 0 ? `of it came: ${told.join(', ')}` : 'it was claimed, and nothing came of it';
    return `${what}, of a task ${type}; ${this.attempts.length > 0 ? came : 'no claim got it'}`;
  }

  #until<T>(what: string, look: () => T, options?: UntilOptions): Promise<Found<T>> {
    return this.#journal.until(look, { what: () => this.#words(what), ...options });
  }
}
