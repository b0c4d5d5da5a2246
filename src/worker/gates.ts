import type { ReportOf } from '../contract/index.ts';
import type { GateAnswer } from '../core/attempt.ts';
import { four } from '../core/attempt-report.ts';
import { workerDefaults } from '../core/defaults.ts';
import type { Attempts, Held } from './attempts.ts';
import type { WorkerContext } from './context.ts';
import type { QuickReports } from './quick-reports.ts';
import { isBusy, pauseMs, refusesKey } from './refusals.ts';
import type { ReportResult } from './send-reports.ts';

/** Asks the gates of attempts (`start`, `effect`), with the same body until there is an answer. It decides nothing. */
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
    let failures = 0;
    if (after === 'pause') await this.#pause(++failures, undefined);
    if (after === 'renewal') {
      while (asking()) {
        const renewal = await this.#quick.send({ op: 'renew', ...four(held.attempt) });
        if (renewal.kind === 'ok') this.#attempts.accepted(held, renewal);
        const said = await this.#meaning(renewal);
        if (said === 'stale') {
          this.#attempts.feed(held, { kind: 'stale' });
          return;
        }
        if (said !== 'no-answer') break;
        await this.#pause(++failures, renewal);
      }
    }
    const report: ReportOf<'start' | 'effect'> = {
      op,
      ...four(held.attempt),
      sessionId: this.#ctx.settings.sessionId,
    };
    while (asking()) {
      const result = await this.#quick.send(report);
      if (result.kind === 'ok') this.#attempts.accepted(held, result);
      const answer = await this.#meaning(result);
      if (answer !== 'no-answer') {
        this.#attempts.feed(held, { kind: 'gate-answered', answer });
        return;
      }
      await this.#pause(++failures, result);
    }
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
      this.#ctx.onSuperseded(problem.detail ?? 'another process took over this worker id');
      return 'superseded';
    }
    if (refusesKey(result, this.#ctx.project)) {
      await this.#ctx.keyRefused(status, problem, result.sentAt);
      return 'no-answer';
    }
    return isBusy(status) ? 'no-answer' : 'refused';
  }
}
