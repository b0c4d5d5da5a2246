/**
 * A worker's report on an attempt (contract, section 1). The order of the checks is the model's:
 * identity → replay of a terminal report → current and unended → what an ended attempt may still say.
 */
import type { Report } from '../contract/index.ts';
import { terminalOps } from '../contract/worker-calls.ts';
import { type AttemptState, type Change, isCurrent, refuse, type TaskState } from './task.ts';
import { gate, renewal, word } from './task-report-alive.ts';
import { afterTheEnd, findReplay } from './task-report-over.ts';
import { terminal } from './task-report-terminal.ts';

export { lateReportOpen } from './task-report-over.ts';

export interface ReportFacts {
  /** Whether `leaseToken` is the one of this attempt (compared in constant time by the caller). */
  readonly tokenFits: boolean;
  /** Hash of the canonical body with `op` and `attemptId`, the same on both routes. */
  readonly hash: string;
  /** What the session of a `start` or `effect` is to its worker id. */
  readonly session?: 'current' | 'superseded' | 'unknown' | undefined;
  /** JSON text of `result` or of `checkpoint`. */
  readonly valueJson?: string | undefined;
  /** In [0, 1). */
  readonly chance: number;
}

export function applyReport(
  nowMs: number,
  task: TaskState,
  attempt: AttemptState,
  report: Report,
  facts: ReportFacts,
): Change {
  if (report.taskId !== attempt.taskId || report.fence !== attempt.fence || !facts.tokenFits) {
    return refuse(
      'STALE_ATTEMPT',
      `The report does not carry the task id, fence and lease token of attempt ${attempt.id}.`,
    );
  }
  if (terminalOps.has(report.op)) {
    const replay = findReplay(attempt, report.op, facts.hash);
    if (replay) return replay;
  }
  if (!isCurrent(task, attempt)) return afterTheEnd(nowMs, task, attempt, report, facts);
  switch (report.op) {
    case 'renew':
      return renewal(nowMs, task, attempt);
    case 'start':
    case 'effect':
      return gate(nowMs, task, attempt, report, facts);
    case 'progress':
    case 'log':
      return word(nowMs, task, attempt, report, facts);
    default:
      return terminal(nowMs, task, attempt, report, facts);
  }
}
