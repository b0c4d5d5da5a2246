import { cutText } from '../contract/errors.ts';
import type {
  AttemptIdentity,
  LostReason,
  ReportOf,
  TaskFailure,
  TerminalReport,
} from '../contract/index.ts';
import { toJson } from '../contract/json.ts';
import { bounds } from '../contract/limits.ts';
import type { JobEnd, StopReason } from '../ports/carrier.ts';
import { durationWords } from './duration-words.ts';

/** The four fields that every report carries (contract 1.7). */
export type OpeningLine = AttemptIdentity;

export interface EndFacts {
  readonly stop?: StopReason | undefined;
  readonly begun: boolean;
  /** Past the gate as far as we know: then nothing can be released. */
  readonly pastGate: boolean;
  readonly limit?: TimeLimit | undefined;
}

/** How long a handler may take, and who says so. */
export interface TimeLimit {
  readonly ms: number;
  readonly of: 'handler' | 'policy';
}

/** The smaller of the two (contract 4.40). @param policyMs `attemptTimeoutMs` of the task. */
export function timeLimit(
  handlerMs: number | undefined,
  policyMs: number | null,
): TimeLimit | undefined {
  if (handlerMs !== undefined && (policyMs === null || handlerMs <= policyMs))
    return { ms: handlerMs, of: 'handler' };
  return policyMs === null ? undefined : { ms: policyMs, of: 'policy' };
}

/** `4 s (timeoutMs of the handler)`. */
export function limitWords({ ms, of }: TimeLimit): string {
  const whose =
    of === 'handler' ? 'timeoutMs of the handler' : 'attemptTimeoutMs of the task’s policy';
  return `${durationWords(ms)} (${whose})`;
}

/**
 * What is said about an attempt whose handler has gone. What the handler said itself is reported as it is, also
 * after a signal; if it just obeyed or had to be killed, the reason of the stop is told.
 */
export function reportOfEnd(line: OpeningLine, end: JobEnd, facts: EndFacts): TerminalReport {
  switch (end.how) {
    case 'returned':
      return { op: 'complete', ...line, result: end.result ?? null };
    case 'threw':
      return {
        op: 'fail',
        ...line,
        error: bounded(end.error),
        ...neverCalled(end.begun === false),
      };
    case 'unknown':
      return { op: 'unknown', ...line, error: bounded(end.error) };
    case 'stopped':
      if (facts.stop === 'cancel') return { op: 'cancelled', ...line };
      return { ...lostReport(line, lostReason(facts.stop), facts.begun), ...outOfTime(facts) };
    case 'killed':
      return {
        ...lostReport(line, lostReason(facts.stop), facts.begun),
        killed: true,
        ...outOfTime(facts, true),
      };
    case 'died':
      return {
        ...lostReport(
          line,
          facts.stop === undefined ? 'host-died' : lostReason(facts.stop),
          facts.begun,
        ),
        message: cutText(end.why ?? diedInWords(end), bounds.messageChars),
        details: {
          ...(end.exitCode === undefined ? {} : { exitCode: end.exitCode }),
          ...(end.signal === undefined ? {} : { signal: end.signal }),
          ...(end.outOfMemory ? { outOfMemory: true } : {}),
          ...(end.detail === undefined ? {} : { stderr: cutText(end.detail, 2_048) }),
        },
      };
    case 'not-begun':
      // Nothing began. Before the gate another worker may have it; past it a failure is told, and that nothing was called.
      if (facts.pastGate)
        return { op: 'fail', ...line, error: bounded(end.error), ...neverCalled(!facts.begun) };
      return {
        op: 'release',
        ...line,
        reason: 'host-unavailable',
        message: cutText(end.error.message, bounds.messageChars),
      };
  }
}

/** Contract 5.61: said only of what is certain. */
function neverCalled(certain: boolean): { readonly begun?: false } {
  return certain ? { begun: false } : {};
}

export function lostReport(
  line: OpeningLine,
  reason: LostReason,
  begun: boolean,
): ReportOf<'lost'> {
  return { op: 'lost', ...four(line), reason, begun };
}

/** The reason of a stop as a reason of a loss. A stale attempt reports nothing, so it never gets here. */
function lostReason(stop: StopReason | undefined): LostReason {
  return stop === undefined || stop === 'stale' ? 'host-died' : stop;
}

/** Which limit it was and what to do: `timeout` alone says neither. */
function outOfTime({ stop, limit }: EndFacts, killed = false): { readonly message?: string } {
  if (stop !== 'timeout' || limit === undefined) return {};
  if (killed)
    return {
      message: `It did not stop when it was told to at its time limit of ${limitWords(limit)}, and had to be killed. Let it heed ctx.signal (a loop can only if it gives way with an await), and give it more time there, or less to do.`,
    };
  return {
    message: `It was stopped at its time limit of ${limitWords(limit)}. Give it more time there, or less to do.`,
  };
}

function diedInWords(end: Extract<JobEnd, { how: 'died' }>): string {
  const memory = end.outOfMemory ? ', out of memory' : '';
  if (end.signal !== undefined) return `The handler's process was ended by ${end.signal}${memory}.`;
  if (end.exitCode !== undefined)
    return `The handler's process ended by itself with exit code ${end.exitCode}${memory}.`;
  return `The handler's process is gone${memory}.`;
}

/** Nothing in it can make the control plane refuse the report: code, message, delay and details are within bounds. */
function bounded(
  error: TaskFailure,
): TaskFailure & { retryable: boolean; details?: Record<string, unknown> } {
  const { retryAfterMs } = error;
  return {
    code: FAILURE_CODE.test(error.code) ? error.code : 'HANDLER_ERROR',
    message: cutText(error.message, bounds.messageChars),
    retryable: error.retryable,
    ...(retryAfterMs === undefined || Number.isNaN(retryAfterMs)
      ? {}
      : { retryAfterMs: Math.round(Math.min(Math.max(0, retryAfterMs), bounds.durationMs)) }),
    ...(error.details === undefined ? {} : { details: smallDetails(error.details) }),
  };
}

const FAILURE_CODE = /^[A-Z][A-Z0-9_]{0,99}$/;

/** Details that are too large or no JSON are replaced by a sentence: they must never be the reason of a refusal. */
function smallDetails(details: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const made = toJson(details);
  if (!made.ok)
    return {
      note: cutText(`The details were left out: ${made.issue.path} ${made.issue.message}.`, 1_024),
    };
  const bytes = new TextEncoder().encode(JSON.stringify(made.value)).length;
  if (bytes <= bounds.detailsBytes) return made.value as Record<string, unknown>;
  return {
    note: `The details were left out: ${bytes} bytes, at most ${bounds.detailsBytes} are kept.`,
  };
}

export function four(line: AttemptIdentity): AttemptIdentity {
  return {
    taskId: line.taskId,
    attemptId: line.attemptId,
    fence: line.fence,
    leaseToken: line.leaseToken,
  };
}
