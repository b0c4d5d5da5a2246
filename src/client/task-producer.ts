import { makeId, TaskError, type TaskView } from '../contract/index.ts';
import { idOf, type Submission, type SubmitOptions, type TaskRef, toRequest } from './request.ts';
import type { CallOptions } from './service-client.ts';
import { type SubmitOutcome, submitMany } from './submit-many.ts';
import { TaskReads } from './task-reads.ts';

/** A task as it was submitted. `replayed`: the same request had been accepted before, this is its task. */
export type SubmittedTask = TaskView & { readonly replayed: boolean };

export interface CancelOptions extends CallOptions {
  readonly reason?: string | undefined;
  /** Refuse if an operator has acted since this entry [that of the given task, else the present one]. */
  readonly ifSeq?: number | undefined;
}

/** Submits tasks and sees what becomes of them. Needs a key of the kind `task-producer`. */
export class Producer extends TaskReads {
  /**
   * Submits a task. Where no `idempotencyKey` is given it makes one for this call, so that a repetition
   * after a lost answer never makes a second task. Throws `INVALID_REQUEST`, `IDEMPOTENCY_CONFLICT`,
   * `PAYLOAD_TOO_LARGE`, `UNAUTHENTICATED`, `SCOPE_DENIED`, `UNREACHABLE` …
   */
  async submit(
    type: string,
    schemaVersion: number,
    input: unknown,
    options: SubmitOptions & CallOptions = {},
  ): Promise<SubmittedTask> {
    const { timeoutMs, signal, ...given } = options;
    const request = toRequest({ type, schemaVersion, input, ...given }, this.#freshId('req'));
    const { task, replayed } = await this.client.submit(request, { timeoutMs, signal });
    return { ...task, replayed };
  }

  /**
   * Submits many tasks, in batches. Each has its own outcome, in the order given; it throws only for
   * what is no submission at all. After a time-out what is left has `UNREACHABLE` and may be given again:
   * with `idempotencyKey`s of your own nothing is submitted twice.
   */
  submitMany(
    submissions: Iterable<Submission>,
    options: CallOptions = {},
  ): Promise<SubmitOutcome[]> {
    const requests = Array.from(submissions, (submission) => {
      try {
        return toRequest(submission, this.#freshId('req'));
      } catch (error) {
        if (error instanceof TaskError) return error;
        throw error;
      }
    });
    return submitMany(this.client, requests, options);
  }

  /**
   * Asks to cancel: a queued task ends at once, a running one is asked to stop. Throws `TASK_TERMINAL`
   * where it has ended, `CONFLICT` where an operator has acted since.
   */
  async cancel(task: TaskRef, options: CancelOptions = {}): Promise<TaskView> {
    const { reason, ifSeq, ...how } = options;
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
