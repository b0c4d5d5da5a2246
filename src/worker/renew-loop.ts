/**
 * Keeps the leases. Woken by a claim's answer, a hint about an attempt, or the earliest renewal that is due. Sends all
 * that are due in one batch and waits for nothing: a call that hangs does not hold the next one. Also tells the machine
 * of an attempt when its lease has run out by our clock. Ends when told to.
 */
import { four } from '../core/attempt-report.ts';
import { backoffMs } from '../core/backoff.ts';
import { workerDefaults } from '../core/defaults.ts';
import type { Attempts, Held } from './attempts.ts';
import type { WorkerContext } from './context.ts';
import { isBusy, refusesKey } from './refusals.ts';
import { type ReportResult, sendReports } from './send-reports.ts';

export class RenewLoop {
  readonly #ctx: WorkerContext;
  readonly #attempts: Attempts;
  #done: Promise<void> | undefined;
  /** Rounds under way. */
  #rounds = 0;

  constructor(ctx: WorkerContext, attempts: Attempts) {
    this.#ctx = ctx;
    this.#attempts = attempts;
  }

  start(): void {
    this.#done ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#ctx.wake.renew.wake();
    await this.#done;
  }

  /** A hint says that something is up with the attempt: its renewal tells the truth. */
  soon(attemptId: string): void {
    const held = this.#attempts.get(attemptId);
    if (!held) return;
    // However many hints come: as seldom as claims.
    const soonest = held.renewSentAt + workerDefaults.claimGapMs + slack(held);
    held.renewAt = Math.min(held.renewAt, soonest);
    this.#ctx.wake.renew.wake();
  }

  async #run(): Promise<void> {
    const { clock } = this.#ctx.ports;
    while (!this.#ctx.stopped) {
      await this.#ctx.wake.renew.wait(this.#pause());
      if (this.#ctx.stopped) return;
      this.#tellRunOut(clock.now());
      const now = clock.now();
      const due = this.#attempts.toRenew().filter((held) => held.renewAt <= now + slack(held));
      if (due.length > 0 && this.#rounds < MAX_ROUNDS) void this.#renew(due);
    }
  }

  #pause(): number {
    const now = this.#ctx.ports.clock.now();
    let next = Number.POSITIVE_INFINITY;
    for (const held of this.#attempts.toRenew()) {
      if (this.#rounds < MAX_ROUNDS) next = Math.min(next, held.renewAt);
      if (!held.leaseToldOut) next = Math.min(next, held.leaseUntil);
    }
    return Math.ceil(Math.max(0, next - now));
  }

  #tellRunOut(now: number): void {
    for (const held of this.#attempts.toRenew()) {
      if (held.leaseToldOut || now < held.leaseUntil) continue;
      held.leaseToldOut = true;
      this.#attempts.feed(held, { kind: 'lease-ran-out' });
    }
  }

  async #renew(due: readonly Held[]): Promise<void> {
    const now = this.#ctx.ports.clock.now();
    this.#attempts.varyRenewals();
    for (const held of due) {
      held.renewSentAt = now;
      held.renewAt = this.#attempts.nextRenewal(held.leaseMs, now);
      // Nobody works on it any more, and its report asks for itself: an outage must not turn them all into load.
      if (held.leaseToldOut && held.state.phase === 'spooled')
        held.renewAt = Math.max(held.renewAt, now + workerDefaults.expiredRenewMs);
    }
    this.#rounds++;
    // Each call by itself: one that hangs holds up only those in it.
    const { batch } = this.#ctx.limits;
    const calls: Promise<void>[] = [];
    for (let from = 0; from < due.length; from += batch)
      calls.push(this.#call(due.slice(from, from + batch)));
    await Promise.all(calls);
    this.#rounds--;
    this.#ctx.wake.renew.wake();
  }

  async #call(due: readonly Held[]): Promise<void> {
    const results = await sendReports(
      this.#ctx,
      due.map((held) => ({ op: 'renew' as const, ...four(held.attempt) })),
    );
    for (const [i, held] of due.entries()) {
      const result = results[i];
      if (result) this.#answered(held, result);
    }
    this.#ctx.wake.renew.wake();
  }

  #answered(held: Held, result: ReportResult): void {
    if (result.kind === 'ok') {
      held.renewFailures = 0;
      this.#attempts.accepted(held, result);
      return;
    }
    if (result.kind === 'refused') {
      const { problem, status } = result;
      if (problem.code === 'STALE_ATTEMPT') this.#attempts.feed(held, { kind: 'stale' });
      else if (problem.code === 'LEASE_EXPIRED') this.#expired(held);
      else if (refusesKey(result, this.#ctx.project))
        void this.#ctx.keyRefused(status, problem, result.sentAt);
      // It was answered: the next one keeps to its third, also where the peer is busy and says for how long.
      if (!isBusy(status) || result.retryAfterMs !== undefined) return;
    }
    this.#sooner(held);
  }

  #expired(held: Held): void {
    held.leaseToldOut = true;
    this.#attempts.feed(held, { kind: 'lease-ran-out' });
  }

  /** Not renewed: sooner than a third of the lease, while there is a lease to keep. */
  #sooner(held: Held): void {
    if (held.leaseToldOut) return;
    const { clock, random } = this.#ctx.ports;
    const third = held.leaseMs * workerDefaults.renewShare;
    const pause = backoffMs(
      { ...workerDefaults.retry, maxMs: third },
      ++held.renewFailures,
      random.fraction(),
    );
    held.renewAt = Math.min(held.renewAt, clock.now() + pause);
  }
}

/** Those due almost now go along. */
function slack(held: Held): number {
  return held.leaseMs * 0.05;
}

/** A hanging call must not stop the next renewals; more than this at once would only add to the load. */
const MAX_ROUNDS = 4;
