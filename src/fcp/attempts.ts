/** A task that a test offers, the attempts made of it, and how an attempt looks on the wire. */
import { randomBytes } from 'node:crypto';
import type { Report } from './journal.ts';

export interface Offer {
  type: string;
  /** [1] */
  schemaVersion?: number;
  /** [null] */
  input?: unknown;
  /** [`default`] */
  pool?: string;
  /** Instead of what the claim pins. */
  effectSafety?: string;
  effectGate?: string;
  /** Longest lease of its attempts [that of FCP]. */
  leaseMs?: number;
  labels?: Record<string, string>;
  policy?: Record<string, unknown>;
  effectKey?: string;
  checkpoint?: unknown;
  traceparent?: string;
  /** Claimed with a cancel already requested [false]. */
  cancelRequested?: boolean;
  /** Sends the hint `wake` [true]. */
  wake?: boolean;
  /** Goes to the next claim, whatever types, pools and slots that asks for [false]. */
  unasked?: boolean;
  /** Offered again by itself after it was released, or lost before its gate [false]. */
  requeue?: boolean;
  /** Changes the attempt as it goes out: to what cannot be decoded, to lies. */
  wire?: (attempt: Record<string, unknown>) => unknown;
}

export type AttemptState =
  | 'leased'
  | 'started'
  | 'succeeded'
  | 'failed'
  | 'unknown'
  | 'cancelled'
  | 'lost'
  | 'released';

export interface Attempt {
  task: Task;
  attemptId: string;
  fence: number;
  leaseToken: string;
  workerId: string;
  sessionId: string;
  effectSafety: string;
  effectGate: string;
  leaseMs: number;
  state: AttemptState;
  grantedAt: number;
  leaseUntil: number;
  /** The longest time for which its lease had run out before it was renewed or ended. */
  lapsedMs: number;
  /** Expired, but not ended: a gate asks for a renewal first. */
  expired: boolean;
  started: boolean;
  effectBegun: boolean;
  last: { progress: number; log: number };
  checkpoint: unknown;
  /** All that the worker sent for it, in order. */
  reports: Report[];
  /** The accepted terminal report, and one that was recorded after it was lost. */
  outcome?: Report;
  late?: Report;
}

export interface Task {
  taskId: string;
  offer: Offer;
  attempts: Attempt[];
  cancelRequested: boolean;
}

const TASK_POLICY = {
  maxAttempts: 5,
  backoff: { initialMs: 5000, factor: 2, maxMs: 120_000, jitter: 0.2 },
  attemptTimeoutMs: 3_600_000,
  lostGraceMs: 300_000,
};

export const alive = (attempt: Attempt): boolean =>
  attempt.state === 'leased' || attempt.state === 'started';

/** Anything but `pure` and `idempotent` counts as non-idempotent. */
export function gateOf(attempt: Attempt): 'start' | 'effect' | undefined {
  if (attempt.effectSafety === 'pure' || attempt.effectSafety === 'idempotent') return undefined;
  return attempt.effectGate === 'effect' ? 'effect' : 'start';
}

export function gatePassed(attempt: Attempt): boolean {
  const gate = gateOf(attempt);
  return (gate === 'start' && attempt.started) || (gate === 'effect' && attempt.effectBegun);
}

/** Counts how late a renewal or an end is, then starts the lease anew. */
export function renewLease(attempt: Attempt): void {
  const now = performance.now();
  attempt.lapsedMs = Math.max(attempt.lapsedMs, now - attempt.leaseUntil);
  attempt.leaseUntil = now + attempt.leaseMs;
  attempt.expired = false;
}

/** As a claim's answer tells it, bent by the offer's `wire` at the end. */
export function wireForm(attempt: Attempt): unknown {
  const { task, attemptId, fence, leaseToken, leaseMs, effectSafety, effectGate, checkpoint } =
    attempt;
  const { offer } = task;
  const wire = {
    taskId: task.taskId,
    attemptId,
    fence,
    leaseToken,
    leaseMs,
    attempt: fence,
    type: offer.type,
    schemaVersion: offer.schemaVersion ?? 1,
    input: offer.input ?? null,
    effectKey: offer.effectKey ?? task.taskId,
    effectSafety,
    effectGate,
    pool: offer.pool ?? 'default',
    labels: offer.labels ?? {},
    policy: { ...TASK_POLICY, leaseMs, ...offer.policy },
    ...(checkpoint === undefined ? {} : { checkpoint }),
    ...(offer.traceparent === undefined ? {} : { traceparent: offer.traceparent }),
    cancelRequested: task.cancelRequested,
  };
  return offer.wire ? offer.wire(wire) : wire;
}

/** `tsk_` and 128 bits as 26 characters: the time, then chance. */
export function makeId(kind: 'tsk' | 'att'): string {
  const bytes = Buffer.concat([Buffer.alloc(6), randomBytes(10)]);
  bytes.writeUIntBE(Date.now(), 0, 6);
  const digits = '0123456789abcdefghjkmnpqrstvwxyz';
  let value = BigInt(`0x${bytes.toString('hex')}`);
  let text = '';
  for (let i = 0; i < 26; i++) {
    text = digits.charAt(Number(value & 31n)) + text;
    value >>= 5n;
  }
  return `${kind}_${text}`;
}
