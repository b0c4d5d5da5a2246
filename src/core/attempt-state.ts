/** What one attempt in the worker is, what can happen to it, and what it asks for (the machine: attempt.ts). */
import type {
  AttemptIdentity,
  EffectGate,
  EffectSafety,
  TerminalReport,
} from '../contract/index.ts';
import type { JobEnd, StopReason } from '../ports/carrier.ts';
import type { TimeLimit } from './attempt-report.ts';

export type Phase =
  | 'claimed'
  | 'running'
  | 'ending'
  | 'spooled'
  | 'acknowledged'
  | 'lost'
  | 'released'
  | 'stale'
  | 'refused';

export interface AttemptState {
  readonly phase: Phase;
  readonly identity: AttemptIdentity;
  readonly effectSafety: EffectSafety;
  readonly effectGate: EffectGate;
  /** `none`: nothing to pass (pure, idempotent) · `asking`: the answer is waited for · `refused`: it will not open. */
  readonly gate: 'none' | 'shut' | 'asking' | 'open' | 'refused';
  /** The lease was found expired once: it was renewed and the gate asked again; the second time it stays shut. */
  readonly askedAgain: boolean;
  readonly slot: boolean;
  /** The handler got its input. */
  readonly begun: boolean;
  readonly stop?: StopReason | undefined;
  readonly cancelRequested: boolean;
  readonly draining: boolean;
  /** The handler was killed but does not go: it keeps its slot, nothing is said or renewed for it. */
  readonly stuck: boolean;
  /** `STALE_ATTEMPT` came while the report was being written: it is set aside unsent. */
  readonly staleSeen: boolean;
  readonly report?: TerminalReport | undefined;
  readonly followUp: boolean;
}

export type AttemptEvent =
  | { readonly kind: 'slot-granted' }
  | { readonly kind: 'gate-answered'; readonly answer: GateAnswer }
  | { readonly kind: 'begun' }
  | { readonly kind: 'effect-requested' }
  /** `limit`: the time that it had, for people. */
  | {
      readonly kind: 'handler-ended';
      readonly end: JobEnd;
      readonly limit?: TimeLimit | undefined;
    }
  | { readonly kind: 'handler-stuck' }
  /** Any report but the terminal one was told so. */
  | { readonly kind: 'stale' }
  /** By our clock, or `LEASE_EXPIRED` to a renewal, progress or log. */
  | { readonly kind: 'lease-ran-out' }
  | { readonly kind: 'cancel-requested' }
  | { readonly kind: 'timed-out' }
  | { readonly kind: 'drain' }
  | { readonly kind: 'drain-deadline' }
  | { readonly kind: 'report-written' }
  | { readonly kind: 'report-not-written' }
  | { readonly kind: 'report-answered'; readonly verdict: ReportVerdict };

/** What the control plane said to `start` or `effect`. */
export type GateAnswer =
  | 'accepted'
  | 'lease-expired'
  | 'stale'
  | 'superseded'
  | 'refused'
  | 'no-answer';

/** What the answer to a terminal report means (see report-answer.ts). */
export type ReportVerdict =
  | { readonly kind: 'done' }
  | { readonly kind: 'stale'; readonly recorded: boolean }
  | { readonly kind: 'refused'; readonly followUp?: TerminalReport };

export type AttemptEffect =
  /** Send `start` or `effect`; `after`: at once, after a renewal, or after a pause (there was no answer). */
  | {
      readonly do: 'ask-gate';
      readonly op: 'start' | 'effect';
      readonly after: 'nothing' | 'renewal' | 'pause';
    }
  | { readonly do: 'start-handler' }
  /** Where `start` is no gate: within a second or with the next report. */
  | { readonly do: 'send-start-soon' }
  | { readonly do: 'mark-begun' }
  | { readonly do: 'open-gate' }
  | { readonly do: 'refuse-gate'; readonly why: string }
  | { readonly do: 'stop-handler'; readonly reason: StopReason }
  /** Make the report durable; on failure send it directly and try again. */
  | { readonly do: 'write-report'; readonly report: TerminalReport }
  | { readonly do: 'send-report'; readonly report: TerminalReport }
  | { readonly do: 'set-aside'; readonly as: 'stale' | 'refused'; readonly recorded: boolean }
  | { readonly do: 'free-slot' }
  /** Nothing more is owed for this attempt: its running record may go. */
  | { readonly do: 'forget' };

export type Step = readonly [AttemptState, readonly AttemptEffect[]];

export function claimedAttempt(
  attempt: AttemptIdentity & {
    readonly effectSafety: EffectSafety;
    readonly effectGate: EffectGate;
    readonly cancelRequested: boolean;
  },
): AttemptState {
  return {
    phase: 'claimed',
    identity: {
      taskId: attempt.taskId,
      attemptId: attempt.attemptId,
      fence: attempt.fence,
      leaseToken: attempt.leaseToken,
    },
    effectSafety: attempt.effectSafety,
    effectGate: attempt.effectGate,
    gate: attempt.effectSafety === 'non-idempotent' ? 'shut' : 'none',
    askedAgain: false,
    slot: false,
    begun: false,
    // Members that are there from the beginning keep one shape for all that follow.
    stop: undefined,
    report: undefined,
    cancelRequested: attempt.cancelRequested,
    draining: false,
    stuck: false,
    staleSeen: false,
    followUp: false,
  };
}

/** One of an earlier session whose handler was killed and does not go. */
export function stuckAttempt(
  attempt: AttemptIdentity & {
    readonly effectSafety: EffectSafety;
    readonly effectGate: EffectGate;
    readonly begun: boolean;
  },
): AttemptState {
  const claimed = claimedAttempt({ ...attempt, cancelRequested: false });
  return { ...claimed, phase: 'running', slot: true, begun: attempt.begun, stuck: true };
}

/** The same, now that it has gone at last. */
export function unstuckAttempt(state: AttemptState, report: TerminalReport): AttemptState {
  return { ...state, phase: 'ending', stuck: false, report };
}

/**
 * Whether the lease is to be renewed: from the claim until the terminal report is answered. Not while a `lost` is
 * spooled, not for a handler that cannot be killed, and nothing is sent after `STALE_ATTEMPT`.
 */
export function renews(state: AttemptState): boolean {
  if (isOver(state) || state.stuck || state.staleSeen) return false;
  return !(state.phase === 'spooled' && state.report?.op === 'lost');
}

export function isOver(state: AttemptState): boolean {
  return overPhases.has(state.phase);
}

const overPhases: ReadonlySet<Phase> = new Set([
  'acknowledged',
  'lost',
  'released',
  'stale',
  'refused',
]);

/** An attempt with nothing left but its report to be answered: found on disk at start, or given back unread. */
export function reportedAttempt(identity: AttemptIdentity, report: TerminalReport): AttemptState {
  const claimed = claimedAttempt({
    ...identity,
    effectSafety: 'non-idempotent',
    effectGate: 'start',
    cancelRequested: false,
  });
  return { ...claimed, phase: 'spooled', report, begun: report.op !== 'release' };
}
