/**
 * Keeps the leases. Woken by a claim's answer, a hint about an attempt, or the earliest renewal that is due. Sends one
 * batch for all that are due and waits for nothing: a call that hangs does not hold the next one. Also tells the machine
 * of an attempt when its lease has run out by our clock. Ends when told to.
 */
import { four } from '../core/attempt-report.ts';
import { backoffMs, jittered } from '../core/backoff.ts';
import { workerDefaults } from '../core/defaults.ts';
import type { Attempts, Held } from './attempts.ts';
import { refusesKey, type WorkerContext } from './context.ts';
import { type ReportResult, sendReports } from './send-reports.ts';

export class RenewLoop {
  readonly #ctx: WorkerContext;
  readonly #attempts: Attempts;
  #done: Promise<void> | undefined;
  #calls = 0;
  /** When a renewal was last accepted, by the clock; for status. */
  lastAcceptedAt: number | undefined;

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
    held.renewAt = 0;
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
      if (due.length > 0 && this.#calls < MAX_CALLS) void this.#renew(due);
    }
  }

  #pause(): number {
    const now = this.#ctx.ports.clock.now();
    let next = Number.POSITIVE_INFINITY;
    for (const held of this.#attempts.toRenew()) {
      if (this.#calls < MAX_CALLS) next = Math.min(next, held.renewAt);
      if (!held.leaseToldOut) next = Math.min(next, held.leaseUntil);
    }
    return Math.max(0, next - now);
  }

  #tellRunOut(now: number): void {
    for (const held of this.#attempts.toRenew()) {
      if (held.leaseToldOut || now < held.leaseUntil) continue;
      held.leaseToldOut = true;
      this.#attempts.feed(held, { kind: 'lease-ran-out' });
    }
  }

  async #renew(due: readonly Held[]): Promise<void> {
    const { clock, random } = this.#ctx.ports;
    for (const held of due)
      held.renewAt =
        clock.now() +
        jittered(
          held.leaseMs * workerDefaults.renewShare,
          workerDefaults.renewJitter,
          random.fraction(),
        );
    this.#calls++;
    const results = await sendReports(
      this.#ctx,
      due.map((held) => ({ op: 'renew' as const, ...four(held.attempt) })),
    );
    this.#calls--;
    for (const [i, held] of due.entries()) {
      const result = results[i];
      if (result) this.#answered(held, result);
    }
    this.#ctx.wake.renew.wake();
  }

  #answered(held: Held, result: ReportResult): void {
    const { clock, random } = this.#ctx.ports;
    if (result.kind === 'ok') {
      this.lastAcceptedAt = clock.now();
      this.#attempts.accepted(held, result);
      return;
    }
    if (result.kind === 'refused') {
      const { problem, status } = result;
      if (problem.code === 'STALE_ATTEMPT') this.#attempts.feed(held, { kind: 'stale' });
      else if (problem.code === 'LEASE_EXPIRED')
        this.#attempts.feed(held, { kind: 'lease-ran-out' });
      else if (refusesKey(status)) void this.#ctx.keyRefused(status, problem);
      if (status === 409) return;
    }
    // Not renewed: sooner than a third of the lease, while there is a lease to keep.
    held.renewAt = Math.min(
      held.renewAt,
      clock.now() +
        backoffMs(
          { ...workerDefaults.retry, maxMs: held.leaseMs * workerDefaults.renewShare },
          1,
          random.fraction(),
        ),
    );
  }
}

/** Those due almost now go along. */
function slack(held: Held): number {
  return held.leaseMs * 0.05;
}

/** A hanging call must not stop the next renewals; more than this at once would only add to the load. */
const MAX_CALLS = 4;
