import { cutText } from '../contract/errors.ts';
import type { LostReason, Problem, ReportAnswer, TerminalReport } from '../contract/index.ts';
import { bounds } from '../contract/limits.ts';
import type { ReportVerdict } from './attempt.ts';
import { four, lostReport } from './attempt-report.ts';

/** An answer to a report, as the transport gives it (the part that decides). */
export type AnswerToReport =
  | { readonly kind: 'ok'; readonly value: ReportAnswer }
  | { readonly kind: 'refused'; readonly status: number; readonly problem: Problem }
  | { readonly kind: 'no-answer'; readonly why: string };

export type Decision =
  | ReportVerdict
  /** The record stays. `key`: claiming pauses and the key is read again; `operation`: wait for discovery. */
  | {
      readonly kind: 'keep';
      readonly because: 'no-answer' | 'busy' | 'key' | 'operation';
      readonly why: string;
    };

export interface DecisionFacts {
  /** Project that the record belongs to; `undefined` if never learnt. */
  readonly project?: string | undefined;
  /** A report that follows a refused one; nothing follows it. */
  readonly followUp: boolean;
  /** Whether its handler got its input, where that is known: a `lost` that follows must not count without. */
  readonly begun?: boolean | undefined;
  /** Folder of the spool where a refused report stays: who has to take the result out finds it there. */
  readonly spool?: string | undefined;
}

/** What the answer to a terminal report means for its record (contract 5, "Answers to a terminal report"). */
export function decideAnswer(
  report: TerminalReport,
  answer: AnswerToReport,
  facts: DecisionFacts,
): Decision {
  if (answer.kind === 'no-answer') return { kind: 'keep', because: 'no-answer', why: answer.why };
  if (answer.kind === 'ok') {
    const { value } = answer;
    if (
      value.attemptId === report.attemptId &&
      value.fence === report.fence &&
      value.op === report.op
    )
      return { kind: 'done' };
    return { kind: 'keep', because: 'no-answer', why: 'the answer was for another report' };
  }
  const { status, problem } = answer;
  const why = problem.detail ?? problem.title ?? problem.code;
  if (status === 409) return conflict(report, problem, facts);
  if (problem.code === 'UNSUPPORTED_OPERATION') return { kind: 'keep', because: 'operation', why };
  const ofThisAttempt =
    status === 404 &&
    problem.code === 'NOT_FOUND' &&
    problem.kind === 'attempt' &&
    facts.project !== undefined &&
    problem.project === facts.project;
  if (status === 400 || status === 413 || status === 422 || ofThisAttempt)
    return facts.followUp
      ? { kind: 'refused' }
      : { kind: 'refused', followUp: smallReport(report, why, facts.spool) };
  if (status === 401 || status === 403 || status === 404 || status === 426)
    return { kind: 'keep', because: 'key', why };
  return { kind: 'keep', because: 'busy', why };
}

const wordless: ReadonlySet<string> = new Set(['lost', 'cancelled', 'release']);

function conflict(report: TerminalReport, problem: Problem, facts: DecisionFacts): Decision {
  if (problem.code === 'STALE_ATTEMPT')
    return { kind: 'stale', recorded: problem.recorded === true };
  if (problem.code === 'LEASE_EXPIRED' && wordless.has(report.op))
    return { kind: 'stale', recorded: false };
  if (report.op === 'lost' || facts.followUp) return { kind: 'refused' };
  const begun = report.op !== 'release' && (facts.begun ?? true);
  return { kind: 'refused', followUp: lostReport(report, reasonOfLoss(report), begun) };
}

/** What comes nearest among the reasons that a `lost` may have. Only a drain is free of charge for the task. */
function reasonOfLoss(report: Exclude<TerminalReport, { op: 'lost' }>): LostReason {
  if (report.op === 'cancelled') return 'cancel';
  if (report.op !== 'release' || report.reason === 'lease') return 'lease';
  return report.reason === 'host-unavailable' ? 'host-died' : 'drain';
}

/** The same word without what can be too large or not allowed. @param why as the control plane said it. */
function smallReport(report: TerminalReport, why: string, spool?: string): TerminalReport {
  const line = four(report);
  switch (report.op) {
    case 'complete':
    case 'fail': {
      // What is known of it is told once more: its end is no other for being refused.
      const uncalled = report.op === 'fail' && report.begun === false;
      return {
        op: 'fail',
        ...line,
        error: {
          code: 'RESULT_REFUSED',
          message: cutText(
            `${uncalled ? 'The handler was not called' : 'The handler returned'}, but the control plane refused its report for good: ${why} It is kept on the worker in the folder "refused" of its spool.`,
            bounds.messageChars,
          ),
          retryable: false,
          details: { handlerReturned: !uncalled, ...(spool === undefined ? {} : { spool }) },
        },
        ...(uncalled ? { begun: false } : {}),
      };
    }
    case 'unknown':
      return {
        op: 'unknown',
        ...line,
        error: { code: report.error.code, message: '', retryable: false },
      };
    case 'cancelled':
      return { op: 'cancelled', ...line };
    case 'lost':
      return {
        op: 'lost',
        ...line,
        reason: report.reason,
        begun: report.begun,
        ...(report.killed ? { killed: true } : {}),
      };
    case 'release':
      return { op: 'release', ...line, reason: report.reason };
  }
}
