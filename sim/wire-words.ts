import { canonical } from '../src/contract/canonical.ts';
import {
  type Attempt,
  makeProblem,
  type Problem,
  type ProblemCode,
  type Report,
  type ReportAnswer,
} from '../src/contract/index.ts';
import type { Answer } from '../src/ports/transport.ts';

/** What the simulated transport keeps of a wire, and what rules answer on it. */

export type CallKind = 'discover' | 'claim' | 'present' | 'report' | 'batch' | 'hints';
export type Unsent<T> = T extends { sentAt: number } ? Omit<T, 'sentAt'> : never;
/** An answer without its `sentAt`, or when it comes; `never` lets the call run into its time limit. */
export type Said<T> = Unsent<Answer<T>> | 'never';

export interface SentCall {
  readonly kind: CallKind;
  readonly at: number;
  readonly request: unknown;
  answeredAt?: number;
  answer?: Unsent<Answer<unknown>>;
}

export interface SentReport {
  readonly at: number;
  readonly report: Report;
  readonly call: SentCall;
  answeredAt?: number;
  answer?: Unsent<Answer<ReportAnswer>>;
}

/** An attempt that was offered, and what became of it. */
export interface OfferedAttempt {
  readonly attempt: Attempt;
  readonly sent: SentReport[];
  /** The terminal report that was accepted. */
  ended?: Report;
  grantedAt?: number;
  leaseUntil: number;
  /** The longest time for which its lease had run out. */
  lapsedMs: number;
  cancelRequested: boolean;
}

/** Whether one is the other again (contract 1.15): with its `start` and without it an outcome is the same (1.39). */
export function sameReport(one: Report, other: Report): boolean {
  return canonical({ ...one, start: undefined }) === canonical({ ...other, start: undefined });
}

export function ok<T>(value: T): Unsent<Answer<T>> {
  return { kind: 'ok', value } as unknown as Unsent<Answer<T>>;
}

export function refused(
  status: number,
  code: ProblemCode,
  more: Partial<Problem> & { retryAfterMs?: number } = {},
): Unsent<Answer<never>> {
  const { retryAfterMs, ...rest } = more;
  return {
    kind: 'refused',
    status,
    problem: { ...makeProblem(code, 'as the test says'), status, ...rest },
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  } as Unsent<Answer<never>>;
}

export function noAnswer(
  cause: Extract<Answer<never>, { kind: 'no-answer' }>['cause'],
  retryAfterMs?: number,
): Unsent<Answer<never>> {
  const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
  return { kind: 'no-answer', why: `Nobody answered (${cause}).`, cause, ...wait } as Unsent<
    Answer<never>
  >;
}
