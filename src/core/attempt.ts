/**
 * One attempt in the worker, from the claim to the last answer. No I/O: loops feed events, carry out effects.
 *
 * | phase   | entered by                         | holds                              | left by                                    |
 * |---------|------------------------------------|------------------------------------|--------------------------------------------|
 * | claimed | a claim's answer                   | lease, running record (a pure one: soon) | slot, and `start` accepted where it is the gate → running; drain, lease → spooled (release); cancel → ending; → stale |
 * | running | the handler is started             | lease, slot                        | handler gone → ending, or (never begun) → spooled, or → stale |
 * | ending  | the report is made                 | lease, slot until it is on disk    | on disk → spooled (→ stale); answered directly → over |
 * | spooled | the report is on disk (or a release) | lease (a `lost`: none)           | its answer: over, or → ending with what follows a refusal |
 * | acknowledged, lost, released, stale, refused | the answer    | nothing                            | –                                          |
 *
 * The slot is free when the handler has really gone and its report is durable, not when we stopped caring.
 * The first reason to stop wins. Once a report is durable only the answer to that report decides.
 */
import type { AttemptIdentity, ReportOf } from '../contract/index.ts';
import { whileClaimed } from './attempt-claimed.ts';
import { whileEnding, whileSpooled } from './attempt-ending.ts';
import { lostReport } from './attempt-report.ts';
import { whileRunning } from './attempt-running.ts';
import type { AttemptEvent, AttemptState, Step } from './attempt-state.ts';
import type { Evidence } from './lost-evidence.ts';

export * from './attempt-state.ts';

/** What follows from an event. Throws (a bug in a loop) if the event cannot come in this phase. */
export function step(state: AttemptState, event: AttemptEvent): Step {
  switch (state.phase) {
    case 'claimed':
      return whileClaimed(state, event);
    case 'running':
      return whileRunning(state, event);
    case 'ending':
      return whileEnding(state, event);
    case 'spooled':
      return whileSpooled(state, event);
    default:
      return [state, []];
  }
}

/** `lost` for a running record that a restarted worker found without a report, with what is known of it. */
export function lostAfterRestart(
  identity: AttemptIdentity,
  begun: boolean,
  evidence?: Evidence,
): ReportOf<'lost'> {
  const report = lostReport(identity, 'worker-restarted', begun);
  return evidence === undefined
    ? report
    : { ...report, message: evidence.message, details: { ...evidence.details } };
}
