import type { ReportOf, TerminalReport } from '../contract/index.ts';
import type { AttemptEffect, AttemptEvent, AttemptState, Step } from './attempt-state.ts';

/** Steps that more than one phase of an attempt takes. */

/** Not started and not to be: a cancel came first. */
export function giveUp(state: AttemptState): Step {
  return finish(state, { op: 'cancelled', ...state.identity });
}

/** Gives the attempt back; nothing of it has begun. */
export function release(state: AttemptState, reason: string): Step {
  return sendRelease(state, { op: 'release', ...state.identity, reason });
}

/** A release needs no disk: losing it costs one lease. */
function sendRelease(state: AttemptState, report: ReportOf<'release'>): Step {
  return [
    { ...state, phase: 'spooled', slot: false, report },
    [...freed(state), { do: 'send-report', report }],
  ];
}

export function finish(state: AttemptState, report: TerminalReport): Step {
  if (report.op === 'release') return sendRelease(state, report);
  return [{ ...state, phase: 'ending', report }, [{ do: 'write-report', report }]];
}

export function becomeStale(state: AttemptState): Step {
  return [{ ...state, phase: 'stale', slot: false }, [...freed(state), { do: 'forget' }]];
}

export function freed(state: AttemptState): readonly AttemptEffect[] {
  return state.slot ? [{ do: 'free-slot' }] : [];
}

export function reportOf(state: AttemptState): TerminalReport {
  if (!state.report)
    throw new Error(`attempt ${state.identity.attemptId} is ${state.phase} without a report`);
  return state.report;
}

/** An event that cannot come in this phase is a bug in a loop: it is named, and nothing is changed silently. */
export function unexpected(state: AttemptState, event: AttemptEvent): never {
  throw new Error(
    `attempt ${state.identity.attemptId}: event '${event.kind}' in phase '${state.phase}' (gate ${state.gate})`,
  );
}
