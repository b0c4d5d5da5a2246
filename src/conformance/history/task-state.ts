import type { EffectGate, EffectSafety } from '../control-plane/wire-shapes.ts';
import type { Operation } from './linearizability.ts';

/** What is asked about one task, what is answered, and what is known of the task in between. */

export type Asked =
  | { readonly what: 'submit' }
  | {
      readonly what: 'claim';
      readonly worker: string;
      readonly request: string;
      readonly leaseMs: number;
      readonly safety: EffectSafety;
      readonly gate: EffectGate;
      /** It came long after anything that could delay the task, with free slots, and nobody else was there. */
      readonly atRest?: boolean;
    }
  | ReportAsked
  | { readonly what: 'cancel' }
  | { readonly what: 'retry'; readonly action: string; readonly ifSeq?: number }
  | {
      readonly what: 'resolve';
      readonly action: string;
      readonly resolution: string;
      readonly ifSeq?: number;
      readonly result?: string;
    }
  | { readonly what: 'read' }
  | { readonly what: 'journal' };

export interface ReportAsked {
  readonly what: 'report';
  readonly op: string;
  readonly attemptId: string;
  /** Fence, token and task id are the attempt's. */
  readonly identity: boolean;
  /** The same for the same canonical body. */
  readonly body: string;
  /** What decides: of `fail`, of `lost`. */
  readonly retryable?: boolean;
  readonly begun?: boolean;
  readonly reason?: string;
}

export interface Answer {
  /** `200`, `201`, `409 STALE_ATTEMPT`, with ` recorded` and ` replayed`. */
  readonly verdict: string;
  readonly cancelRequested?: boolean;
  /** Of a claim: the attempt of this task in its answer, where there is one. */
  readonly attempt?: { readonly id: string; readonly fence: number; readonly number: number };
  /** Of a submission. */
  readonly taskId?: string;
  readonly view?: View;
  /** Entries of the journal that `entry` makes, in their order. */
  readonly journal?: readonly string[];
}

export interface View {
  readonly status: string;
  readonly attempts: number;
  readonly undelivered: number;
  readonly seq: number;
  readonly result?: string;
}

export interface AttemptNow {
  readonly id: string;
  readonly worker: string;
  readonly request: string;
  readonly safety: EffectSafety;
  readonly gate: EffectGate;
  readonly leaseMs: number;
  /** Its lease is over at this instant at the soonest. */
  readonly leaseEndMs: number;
  readonly counted: boolean;
  readonly startAccepted: boolean;
  readonly effectAccepted: boolean;
}

export interface AttemptThen {
  readonly id: string;
  readonly fence: number;
  readonly lost: boolean;
  /** Of the report that ended it. */
  readonly body?: string;
  /** Of the outcome that was recorded later. */
  readonly late?: string;
  readonly lateOp?: string;
}

export interface TaskNow {
  readonly taskId: string | undefined;
  readonly status: string;
  readonly fence: number;
  readonly attempts: number;
  readonly undelivered: number;
  readonly permitted: number;
  readonly cancel: boolean;
  readonly current: AttemptNow | undefined;
  /** All that ended, oldest first. */
  readonly ended: readonly AttemptThen[];
  readonly operatorFence: number;
  readonly actions: readonly string[];
  /** Claims that were given an attempt of it, where they may come again. */
  readonly claims: readonly string[];
  /** Of the body that made it succeeded. */
  readonly result: string | undefined;
  readonly seq: number;
  /** What the journal must hold by now. */
  readonly journal: readonly string[];
  /** It is this late at least. */
  readonly nowMs: number;
}

export type TaskOp = Operation<Asked, Answer>;

/** Past the point where nobody else may run it (section 4). */
export function pastGate({ safety, gate, startAccepted, effectAccepted }: AttemptNow): boolean {
  if (safety !== 'non-idempotent') return false;
  return effectAccepted || (gate === 'start' && startAccepted);
}

/** What the row "no word" makes of the task. */
export const afterLoss = { left: 'again', right: 'outcome-unknown' } as const;

export interface End {
  /** Of the entry in the journal. */
  readonly kind: string;
  readonly status: { readonly left: string; readonly right: string };
  /** It counts as an attempt by this end, where it did not before. */
  readonly counts: boolean;
  /** It does not count, or no more. */
  readonly undelivered: boolean;
  readonly body?: string;
}

/** Ends the current attempt by a row of the table. */
export function endAttempt(task: TaskNow, end: End): TaskNow {
  const current = task.current as AttemptNow;
  const counted = current.counted ? 1 : 0;
  const attempts =
    task.attempts + (end.undelivered ? -counted : end.counts && counted === 0 ? 1 : 0);
  const undelivered = task.undelivered + (end.undelivered ? 1 : 0);
  const row = end.status[pastGate(current) ? 'right' : 'left'];
  const used = attempts >= task.permitted || (end.undelivered && undelivered >= 20);
  const again = task.cancel ? 'cancelled' : used ? 'failed' : 'queued';
  const status = row === 'again' ? again : row;
  return {
    ...task,
    attempts,
    undelivered,
    status,
    result: status === 'succeeded' ? end.body : undefined,
    current: undefined,
    ended: [
      ...task.ended,
      {
        id: current.id,
        fence: task.fence,
        lost: end.kind === 'lost',
        ...(end.body === undefined ? {} : { body: end.body }),
      },
    ],
    journal: [...task.journal, `${end.kind} ${current.id}`],
  };
}
