import { makeId, type SubmitRequest, TaskError, type TaskView } from '../contract/index.ts';
import { valueInWords } from '../core/value-words.ts';
import { checkCall } from './call-options.ts';
import type { Outbox, StoredTask } from './outbox/outbox.ts';
import { idOf, type Submission, type SubmitOptions, type TaskRef, toRequest } from './request.ts';
import type { CallOptions, ServiceClient } from './service-client.ts';
import { type SubmitOutcome, submitMany } from './submit-many.ts';
import { TaskReads } from './task-reads.ts';

/** A task as it was submitted. `replayed`: the same request had been accepted before, this is its task. */
export type SubmittedTask = TaskView & { readonly replayed: boolean; readonly stored: false };

/** Of many, with an outbox: one that is on disk and submitted later. */
export interface StoredOutcome<Stored = StoredTask> {
  readonly ok: true;
  readonly task?: undefined;
  readonly stored: Stored;
}

export interface CancelOptions extends CallOptions {
  readonly reason?: string | undefined;
  /** Refuse if an operator has acted since this entry [that of the given task, else the present one]. */
  readonly ifSeq?: number | undefined;
}

/**
 * Submits tasks and sees what becomes of them. Needs a key of the kind `task-producer`.
 * @typeParam Stored what a submission may be instead of a task: `StoredTask` with an outbox, else nothing.
 */
export class Producer<Stored extends StoredTask = never> extends TaskReads {
  readonly #outbox: Outbox | undefined;

  constructor(client: ServiceClient, outbox?: Outbox) {
    super(client);
    this.#outbox = outbox;
  }

  /**
   * Submits a task. Where no `idempotencyKey` is given it makes one for this call, so that a repetition
   * after a lost answer never makes a second task. Throws `INVALID_REQUEST`, `INVALID_OPTION`, `IDEMPOTENCY_CONFLICT`,
   * `PAYLOAD_TOO_LARGE`, `UNAUTHENTICATED`, `SCOPE_DENIED`, `UNREACHABLE` …
   *
   * With an outbox it is durable before it is sent. Where there is no answer (at once, or within `timeoutMs` if that is
   * given) or the key is refused, it resolves with a `StoredTask`, which is submitted later. What throws is not stored.
   */
  async submit(
    type: string,
    schemaVersion: number,
    input: unknown,
    options: SubmitOptions & CallOptions = {},
  ): Promise<SubmittedTask | Stored> {
    if (typeof schemaVersion === 'object' && schemaVersion !== null)
      throw new TaskError(
        'INVALID_REQUEST',
        `submit(type, schemaVersion, input) got ${valueInWords(schemaVersion)} as schemaVersion: the version is missing.`,
        { hint: `Write submit('${String(type).slice(0, 100)}', 1, input).` },
      );
    checkCall(options);
    const { timeoutMs, signal, ...given } = options;
    const request = toRequest({ type, schemaVersion, input, ...given }, this.#freshId('req'));
    const made = await this.#send(request, { timeoutMs, signal });
    return 'stored' in made ? made : { ...made.task, replayed: made.replayed, stored: false };
  }

  /**
   * Submits many tasks, in batches. Each has its own outcome, in the order given; it throws only for
   * what is no list of submissions and for options that cannot be. After a time-out what is left has `UNREACHABLE` and may be given again:
   * with `idempotencyKey`s of your own nothing is submitted twice. With an outbox as `submit`.
   */
  async submitMany(
    submissions: Iterable<Submission>,
    options: CallOptions = {},
  ): Promise<(SubmitOutcome | ([Stored] extends [never] ? never : StoredOutcome<Stored>))[]> {
    checkCall(options);
    if (!isList(submissions))
      throw new TaskError(
        'INVALID_REQUEST',
        `submitMany takes a list of submissions, and got ${valueInWords(submissions)}.`,
        { hint: 'Give an array (or what can be iterated) of { type, schemaVersion, input, … }.' },
      );
    const requests = Array.from(submissions, (submission) => {
      try {
        return toRequest(submission, this.#freshId('req'));
      } catch (error) {
        if (error instanceof TaskError) return error;
        throw error;
      }
    });
    if (!this.#outbox) return submitMany(this.client, requests, options);
    return Promise.all(requests.map((request) => this.#storeOne(request, options))) as Promise<
      never[]
    >;
  }

  async #storeOne(
    request: SubmitRequest | TaskError,
    how: CallOptions,
  ): Promise<SubmitOutcome | StoredOutcome<Stored>> {
    if (request instanceof TaskError) return { ok: false, error: request };
    try {
      const made = await this.#send(request, how);
      return 'stored' in made ? { ok: true, stored: made } : { ok: true, ...made };
    } catch (error) {
      if (error instanceof TaskError) return { ok: false, error };
      throw error;
    }
  }

  async #send(
    request: SubmitRequest,
    how: CallOptions,
  ): Promise<{ task: TaskView; replayed: boolean } | Stored> {
    const sent = (this.#outbox ?? this.client).submit(request, how);
    // Only an outbox stores, and whoever gave one has named the type.
    return (await sent) as { task: TaskView; replayed: boolean } | Stored;
  }

  /**
   * Asks to cancel: a queued task ends at once, a running one is asked to stop. Throws `TASK_TERMINAL`
   * where it has ended, `CONFLICT` where an operator has acted since.
   */
  async cancel(task: TaskRef, options: CancelOptions = {}): Promise<TaskView> {
    const { reason, ifSeq, ...how } = options;
    checkCall(how);
    const request = {
      actionId: this.#freshId('act'),
      ifSeq: ifSeq ?? (await this.seqOf(task, how)),
      ...(reason === undefined ? {} : { reason }),
    };
    return this.client.cancel(idOf(task), request, how);
  }

  #freshId(kind: 'req' | 'act'): string {
    return makeId(kind, this.client.clock.wall(), this.client.random.bytes(10));
  }
}

/** A text can be iterated too, and is no list. */
function isList(value: unknown): value is Iterable<Submission> {
  return typeof value === 'object' && value !== null && Symbol.iterator in value;
}
