/**
 * Keeps the leases. Woken by a claim's answer, a hint about an attempt, or the earliest renewal that is due. Sends all
 * that are due in one batch and waits for nothing: a call that hangs does not hold the next one. Also tells the machine
 * of an attempt when its lease has run out by our clock. Ends when told to.
 */
import { four } from '../core/attempt-report.ts';
import { backoffMs } from '../core/backoff.ts';
import { workerDefaults } from '../core/defaults.ts';
import type { RenewalResult } from '../ports/meter.ts';
import type { Attempts } from './attempts.ts';
import type { WorkerContext } from './context.ts';
import type { Held } from './held.ts';
import { isBusy, refusesKey } from './refusals.ts';
import { type ReportResult, sendReports } from './send-reports.ts';

export class RenewLoop {
  readonly #ctx: WorkerContext;
  readonly #attempts: Attempts;
  #done: Promise<void> | undefined;
  /** Rounds under way, and those of them with reports that wait to be sent. */
  #rounds = 0;
  #owedRounds = 0;

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
      for (const due of this.#due((held) => held.renewAt <= now + slack(held)))
        void this.#renew(due);
    }
  }

  /**
   * What goes out now, in rounds. After an outage thousands of reports may wait: their renewals go one batch at a time,
   * those whose lease ends first, and an attempt that is worked on never waits behind them.
   */
  #due(isDue: (held: Held) => boolean): Held[][] {
    const due = this.#attempts.toRenew().filter((held) => this.#mayGo(held) && isDue(held));
    const owed = due.filter(isOwed);
    const { batch } = this.#ctx.limits;
    if (owed.length <= batch) return due.length > 0 ? [due] : [];
    owed.sort((a, b) => a.leaseUntil - b.leaseUntil);
    const working = due.filter((held) => !isOwed(held));
    return [working, owed.slice(0, batch)].filter(({ length }) => length > 0);
  }

  #mayGo(held: Held): boolean {
    return isOwed(held) ? this.#owedRounds < OWED_ROUNDS : this.#rounds < MAX_ROUNDS;
  }

  #pause(): number {
    const now = this.#ctx.ports.clock.now();
    let next = Number.POSITIVE_INFINITY;
    for (const held of this.#attempts.toRenew()) {
      if (this.#mayGo(held)) next = Math.min(next, held.renewAt);
      if (!held.leaseToldOut) next = Math.min(next, held.leaseUntil);
    }
    return Math.ceil(Math.max(0, next - now));
  }

  #tellRunOut(now: number): void {
    for (const held of this.#attempts.toRenew()) {
      if (held.leaseToldOut || now < held.leaseUntil) continue;
      this.#ranOut(held);
    }
  }

  #ranOut(held: Held): void {
    if (!held.leaseToldOut) this.#ctx.meter.leaseLost();
    held.leaseToldOut = true;
    this.#attempts.feed(held, { kind: 'lease-ran-out' });
  }

  async #renew(due: readonly Held[]): Promise<void> {
    const now = this.#ctx.ports.clock.now();
    this.#attempts.varyRenewals();
    for (const held of due) {
      held.renewSentAt = now;
      held.renewEarlyAt = beforeItEnds(held, now);
      held.renewAt = Math.min(this.#attempts.nextRenewal(held.leaseMs, now), held.renewEarlyAt);
      // Nobody works on it any more, and its report asks for itself: an outage must not turn them all into load.
      if (held.leaseToldOut && held.state.phase === 'spooled')
        held.renewAt = Math.max(held.renewAt, now + workerDefaults.expiredRenewMs);
    }
    const owed = due.some(isOwed) ? 1 : 0;
    this.#rounds++;
    this.#owedRounds += owed;
    // Each call by itself: one that hangs holds up only those in it.
    const { batch } = this.#ctx.limits;
    const calls: Promise<void>[] = [];
    for (let from = 0; from < due.length; from += batch)
      calls.push(this.#call(due.slice(from, from + batch)));
    await Promise.all(calls);
    this.#rounds--;
    this.#owedRounds -= owed;
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
    const outcome = resultOf(result);
    this.#ctx.meter.renewal(outcome);
    if (result.kind === 'ok') {
      this.#ctx.contact.renewalOk();
      held.renewFailures = 0;
      this.#attempts.accepted(held, result);
      // Only a missing answer is asked for early; a hint that came meanwhile has changed the time and keeps it.
      if (held.renewAt === held.renewEarlyAt)
        held.renewAt = this.#attempts.nextRenewal(held.leaseMs, result.sentAt);
      return;
    }
    // Those two are answers about the attempt; nothing failed.
    if (outcome !== 'stale' && outcome !== 'expired') this.#ctx.contact.failed(result);
    if (result.kind === 'refused') {
      const { problem, status } = result;
      if (problem.code === 'STALE_ATTEMPT') this.#attempts.feed(held, { kind: 'stale' });
      else if (problem.code === 'LEASE_EXPIRED') this.#ranOut(held);
      else if (refusesKey(result, this.#ctx.project))
        void this.#ctx.keyRefused(status, problem, result.sentAt);
      // It was answered: the next one keeps to its third, also where the peer is busy and says for how long.
      if (!isBusy(status) || result.retryAfterMs !== undefined) return;
    }
    this.#sooner(held);
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

function resultOf(result: ReportResult): RenewalResult {
  if (result.kind !== 'refused') return result.kind;
  if (result.problem.code === 'STALE_ATTEMPT') return 'stale';
  return result.problem.code === 'LEASE_EXPIRED' ? 'expired' : 'refused';
}

/** Those due almost now go along. */
function slack(held: Held): number {
  return held.leaseMs * 0.05;
}

/**
 * When to ask again should no answer come: a machine that slept has little left of its lease, and its first renewal often
 * goes into a connection that died meanwhile, where it hangs. Never, where nothing is left to keep.
 */
function beforeItEnds(held: Held, now: number): number {
  const left = held.leaseUntil - now;
  if (held.leaseToldOut || left <= 0) return Number.POSITIVE_INFINITY;
  // Beyond the slack, within which it would be due at once.
  return now + Math.max(left / 2, 2 * slack(held));
}

/** A hanging call must not stop the next renewals; more than this at once would only add to the load. */
const MAX_ROUNDS = 4;
/** The others are kept for attempts that are worked on. */
const OWED_ROUNDS = 2;

/** Nobody works on it any more: its report waits to be sent. */
function isOwed({ state }: Held): boolean {
  return state.phase === 'spooled';
}
