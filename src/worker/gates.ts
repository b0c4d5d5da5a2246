import type { ReportOf } from '../contract/index.ts';
import type { GateAnswer } from '../core/attempt.ts';
import { four } from '../core/attempt-report.ts';
import { workerDefaults } from '../core/defaults.ts';
import type { Attempts } from './attempts.ts';
import type { WorkerContext } from './context.ts';
import { codeOf, type Held } from './held.ts';
import type { QuickReports } from './quick-reports.ts';
import { isBusy, pauseMs, refusesKey } from './refusals.ts';
import type { ReportResult } from './send-reports.ts';

/**
 * Asks the gates of attempts (`start`, `effect`), with the same body until there is an answer. It decides nothing. Where
 * the lease has run out by our clock a renewal is answered first, before the gate is asked and before it opens.
 */
export class Gates {
  readonly #ctx: WorkerContext;
  readonly #attempts: Attempts;
  readonly #quick: QuickReports;

  constructor(ctx: WorkerContext, attempts: Attempts, quick: QuickReports) {
    this.#ctx = ctx;
    this.#attempts = attempts;
    this.#quick = quick;
  }

  /** @param after a renewal: the lease was found expired. */
  async ask(
    held: Held,
    op: 'start' | 'effect',
    after: 'nothing' | 'renewal' | 'pause',
  ): Promise<void> {
    const asking = () => {
      const { gate, phase } = held.state;
      return (
        gate === 'asking' && (phase === 'claimed' || phase === 'running') && !this.#ctx.stopped
      );
    };
    const renewal: ReportOf<'renew'> = { op: 'renew', ...four(held.attempt) };
    const report: ReportOf<'start' | 'effect'> = {
      op,
      ...four(held.attempt),
      sessionId: this.#ctx.settings.sessionId,
      ...codeOf(held),
    };
    const tell = (answer: GateAnswer) =>
      this.#attempts.feed(held, { kind: 'gate-answered', answer });
    let failures = 0;
    let renewFirst = after === 'renewal';
    let despite = false;
    let accepted = false;
    if (after === 'pause') await this.#pause(++failures, undefined);
    while (asking()) {
      const renew = renewFirst || (this.#ranOut(held) && !despite);
      const result = await this.#quick.send(renew ? renewal : report);
      if (result.kind === 'ok') this.#attempts.accepted(held, result);
      const said = await this.#meaning(result);
      if (said === 'no-answer') {
        await this.#pause(++failures, result);
        continue;
      }
      if (said === 'stale') {
        this.#attempts.feed(held, { kind: 'stale' });
        return;
      }
      if (renew) {
        renewFirst = false;
        // A refused renewal decides nothing about a gate that was not asked yet; one that was accepted stays shut.
        if (said !== 'accepted') {
          if (accepted) return tell('refused');
          despite = true;
        } else if (accepted && !this.#ranOut(held)) return tell('accepted');
        continue;
      }
      // The machine slept, or the answer was on its way for a whole lease: the lease must be known to live first.
      despite = false;
      accepted = said === 'accepted';
      if (!accepted || !this.#ranOut(held)) return tell(said);
    }
  }

  /** By our clock, suspended time included. */
  #ranOut(held: Held): boolean {
    return this.#ctx.ports.clock.now() >= held.leaseUntil;
  }

  async #pause(failures: number, result: ReportResult | undefined): Promise<void> {
    const { random } = this.#ctx.ports;
    const asked = result && result.kind !== 'ok' ? result.retryAfterMs : undefined;
    const backoff = { ...workerDefaults.retry, maxMs: workerDefaults.gateRetryMaxMs };
    await this.#ctx.pause(pauseMs(backoff, failures, random.fraction(), asked));
  }

  async #meaning(result: ReportResult): Promise<GateAnswer> {
    if (result.kind !== 'refused') return result.kind === 'ok' ? 'accepted' : 'no-answer';
    const { status, problem } = result;
    if (problem.code === 'STALE_ATTEMPT') return 'stale';
    if (problem.code === 'LEASE_EXPIRED') return 'lease-expired';
    if (problem.code === 'SESSION_SUPERSEDED') {
      this.#ctx.onSuperseded(problem.detail ?? 'another worker took over this worker id');
      return 'superseded';
    }
    if (refusesKey(result, this.#ctx.project)) {
      await this.#ctx.keyRefused(status, problem, result.sentAt);
      return 'no-answer';
    }
    return isBusy(status) ? 'no-answer' : 'refused';
  }
}
