import type { TerminalReport } from '../../src/contract/index.ts';
import {
  type AttemptEffect,
  type AttemptEvent,
  type AttemptState,
  claimedAttempt,
  step,
} from '../../src/core/attempt.ts';

/** Attempts, events and effects of the worker's machine, in words. */

export const identity = { taskId: 'tsk_1', attemptId: 'att_1', fence: 3, leaseToken: 'secret' };

export const kinds = {
  pure: { effectSafety: 'pure', effectGate: 'start' },
  idempotent: { effectSafety: 'idempotent', effectGate: 'start' },
  'start gate': { effectSafety: 'non-idempotent', effectGate: 'start' },
  'effect gate': { effectSafety: 'non-idempotent', effectGate: 'effect' },
} as const;
export type Kind = keyof typeof kinds;

export const claimed = (kind: Kind, cancelRequested = false): AttemptState =>
  claimedAttempt({ ...identity, ...kinds[kind], cancelRequested });

const error = { code: 'BROKEN', message: 'It broke.', retryable: false };
const hostError = { code: 'HOST_FAILED', message: 'No host could be started.', retryable: true };
export const followUp: TerminalReport = {
  op: 'fail',
  ...identity,
  error: { code: 'RESULT_REFUSED', message: 'Refused.', retryable: false },
};

/** Every event, by the name that the tables use. */
export const events = {
  'slot granted': { kind: 'slot-granted' },
  'gate accepted': { kind: 'gate-answered', answer: 'accepted' },
  'gate: lease expired': { kind: 'gate-answered', answer: 'lease-expired' },
  'gate: stale': { kind: 'gate-answered', answer: 'stale' },
  'gate: superseded': { kind: 'gate-answered', answer: 'superseded' },
  'gate refused': { kind: 'gate-answered', answer: 'refused' },
  'gate: no answer': { kind: 'gate-answered', answer: 'no-answer' },
  begun: { kind: 'begun' },
  'effect requested': { kind: 'effect-requested' },
  returned: { kind: 'handler-ended', end: { how: 'returned', result: { n: 1 } } },
  threw: { kind: 'handler-ended', end: { how: 'threw', error } },
  'input refused': { kind: 'handler-ended', end: { how: 'threw', error, begun: false } },
  'said unknown': { kind: 'handler-ended', end: { how: 'unknown', error } },
  obeyed: { kind: 'handler-ended', end: { how: 'stopped' } },
  killed: { kind: 'handler-ended', end: { how: 'killed' } },
  died: { kind: 'handler-ended', end: { how: 'died', exitCode: 7 } },
  'never began': { kind: 'handler-ended', end: { how: 'not-begun', error: hostError } },
  stuck: { kind: 'handler-stuck' },
  stale: { kind: 'stale' },
  'lease ran out': { kind: 'lease-ran-out' },
  cancel: { kind: 'cancel-requested' },
  timeout: { kind: 'timed-out' },
  drain: { kind: 'drain' },
  'drain deadline': { kind: 'drain-deadline' },
  written: { kind: 'report-written' },
  'not written': { kind: 'report-not-written' },
  'answered: done': { kind: 'report-answered', verdict: { kind: 'done' } },
  'answered: stale': { kind: 'report-answered', verdict: { kind: 'stale', recorded: false } },
  'answered: recorded': { kind: 'report-answered', verdict: { kind: 'stale', recorded: true } },
  'answered: refused': { kind: 'report-answered', verdict: { kind: 'refused' } },
  'answered: refused, more follows': {
    kind: 'report-answered',
    verdict: { kind: 'refused', followUp },
  },
} as const satisfies Record<string, AttemptEvent>;
export type EventName = keyof typeof events;
export const eventNames = Object.keys(events) as EventName[];

export const having = (state: AttemptState, ...path: EventName[]): AttemptState =>
  path.reduce((at, name) => step(at, events[name])[0], state);

export function reportInWords(report: TerminalReport): string {
  switch (report.op) {
    case 'fail':
      return `fail ${report.error.code}${report.begun === false ? ' not called' : ''}`;
    case 'lost':
      return `lost ${report.reason} ${report.begun ? 'begun' : 'unbegun'}${report.killed ? ' killed' : ''}`;
    case 'release':
      return `release ${report.reason}`;
    default:
      return report.op;
  }
}

export function effectInWords(effect: AttemptEffect): string {
  switch (effect.do) {
    case 'ask-gate':
      return `ask ${effect.op}${effect.after === 'nothing' ? '' : ` after ${effect.after}`}`;
    case 'stop-handler':
      return `stop ${effect.reason}`;
    case 'write-report':
      return `write ${reportInWords(effect.report)}`;
    case 'send-report':
      return `send ${reportInWords(effect.report)}`;
    case 'set-aside':
      return `aside ${effect.as}${effect.recorded ? ' recorded' : ''}`;
    default:
      return effect.do;
  }
}
