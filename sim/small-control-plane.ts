import {
  type Attempt,
  type ClaimAnswer,
  type ClaimRequest,
  defaultPolicy,
  type PresenceAnswer,
  type Report,
  type ReportAnswer,
  type ServiceInfo,
  terminalOps,
} from '../src/contract/index.ts';
import { limits } from '../src/contract/limits.ts';
import { typeKey } from '../src/contract/names.ts';
import type { Clock } from '../src/ports/clock.ts';
import { type OfferedAttempt, ok, refused, type Said, sameReport } from './wire-words.ts';

/** What stands behind the simulated transport where no rule answers: it keeps the contract towards one worker. */
export class SmallControlPlane {
  readonly attempts = new Map<string, OfferedAttempt>();
  leaseMs = 3_000;
  project = 'default';
  pollAfterMs = 1_000;
  presentAfterMs = 15_000;
  needHandlers = false;
  drainWish = false;
  /** Grants whatever is there, also what no claim wants: not as the contract has it. */
  grantsUnwanted = false;
  features: string[] = [];
  batch: number = limits.batch;
  claimMax: number = limits.claimMax;
  readonly #time: Clock;
  readonly #queue: OfferedAttempt[] = [];
  readonly #claims = new Map<string, OfferedAttempt[]>();
  #made = 0;

  constructor(clock: Clock) {
    this.#time = clock;
  }

  /** Queues an attempt for the next claim. */
  offer(more: Partial<Attempt> & { type: string }): OfferedAttempt {
    const n = ++this.#made;
    const attempt: Attempt = {
      taskId: `tsk_${n}`,
      attemptId: `att_${n}`,
      fence: 1,
      leaseToken: `token-${n}`,
      leaseMs: this.leaseMs,
      attempt: 1,
      schemaVersion: 1,
      input: null,
      effectKey: `tsk_${n}`,
      effectSafety: 'pure',
      effectGate: 'start',
      pool: 'default',
      labels: {},
      policy: { ...defaultPolicy },
      cancelRequested: false,
      ...more,
    };
    const offered: OfferedAttempt = {
      attempt,
      sent: [],
      leaseUntil: 0,
      lapsedMs: 0,
      cancelRequested: attempt.cancelRequested,
    };
    this.#queue.push(offered);
    this.attempts.set(attempt.attemptId, offered);
    return offered;
  }

  protected hello(): Said<PresenceAnswer> {
    return ok({
      serverTime: '2026-01-01T00:00:00Z',
      project: this.project,
      presentAfterMs: this.presentAfterMs,
      offlineAfterMs: 45_000,
      needHandlers: this.needHandlers,
      drain: this.drainWish,
    });
  }

  protected info(): Said<ServiceInfo> {
    const { batch, claimMax, features } = this;
    const { logLineBytes, checkpointBytes, inlineBytes, leaseMs, batchBytes } = limits;
    return ok({
      contracts: [1],
      serverTime: '2026-01-01T00:00:00Z',
      limits: { inlineBytes, batch, claimMax, batchBytes, leaseMs, checkpointBytes, logLineBytes },
      features: [...features],
    });
  }

  protected grant(request: ClaimRequest): Said<ClaimAnswer> {
    if (request.max > this.claimMax) return refused(400, 'INVALID_REQUEST');
    const again = this.#claims.get(request.requestId);
    const granted = again ?? this.#take(request);
    this.#claims.set(request.requestId, granted);
    const alive = granted.filter(({ ended }) => ended === undefined);
    const now = this.#time.now();
    for (const one of alive) {
      one.grantedAt ??= now;
      this.#renew(one, again !== undefined);
    }
    return ok({
      attempts: alive.map(({ attempt }) => attempt),
      pollAfterMs: this.pollAfterMs,
      drain: this.drainWish,
    });
  }

  /** The oldest that are wanted, within the slots of each type. */
  #take({ max, want }: ClaimRequest): OfferedAttempt[] {
    if (this.grantsUnwanted) return this.#queue.splice(0, max);
    const slots = new Map(want.map((one) => [typeKey(one.type, one.schemaVersion), one.slots]));
    const taken: OfferedAttempt[] = [];
    for (const offered of this.#queue) {
      const key = typeKey(offered.attempt.type, offered.attempt.schemaVersion);
      const left = slots.get(key) ?? 0;
      if (left === 0 || taken.length === max) continue;
      slots.set(key, left - 1);
      taken.push(offered);
    }
    for (const offered of taken) this.#queue.splice(this.#queue.indexOf(offered), 1);
    return taken;
  }

  protected decide(report: Report): Said<ReportAnswer> {
    const { op, attemptId, fence } = report;
    const offered = this.attempts.get(attemptId);
    const accepted = { accepted: true as const, attemptId, fence, op };
    if (!offered) return refused(404, 'NOT_FOUND', { kind: 'attempt', project: this.project });
    if (offered.ended) {
      if (sameReport(offered.ended, report)) return ok({ ...accepted, replayed: true });
      return refused(409, op === 'renew' ? 'LEASE_EXPIRED' : 'STALE_ATTEMPT');
    }
    this.#renew(offered, true);
    if (terminalOps.has(op)) {
      offered.ended = report;
      return ok(accepted);
    }
    const { cancelRequested } = offered;
    const cancel = cancelRequested ? { cancelRequested } : {};
    return ok({ ...accepted, leaseMs: offered.attempt.leaseMs, ...cancel });
  }

  #renew(offered: OfferedAttempt, counted: boolean): void {
    const now = this.#time.now();
    if (counted) offered.lapsedMs = Math.max(offered.lapsedMs, now - offered.leaseUntil);
    offered.leaseUntil = now + offered.attempt.leaseMs;
  }
}
