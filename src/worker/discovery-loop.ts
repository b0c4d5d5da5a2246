/**
 * Learns what the control plane can and what its limits are: at the start until it answers, and again, with backoff,
 * while a report waits for an op that it did not know. Woken by such a report. Ends when told to.
 */
import type { WorkerContext } from './context.ts';
import { keyRetry, pauseMs } from './refusals.ts';
import type { ReportLoop } from './report-loop.ts';

export class DiscoveryLoop {
  readonly #ctx: WorkerContext;
  readonly #reports: ReportLoop;
  #done: Promise<void> | undefined;

  constructor(ctx: WorkerContext, reports: ReportLoop) {
    this.#ctx = ctx;
    this.#reports = reports;
  }

  start(): void {
    this.#done ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#ctx.wake.discovery.wake();
    await this.#done;
  }

  async #run(): Promise<void> {
    const { clock, random, transport } = this.#ctx.ports;
    let asked = 0;
    let notBefore = Number.NEGATIVE_INFINITY;
    while (!this.#ctx.stopped) {
      const needed = this.#ctx.discoveries === 0 || this.#reports.waitsForDiscovery;
      if (!needed) asked = 0;
      const left = needed ? notBefore - clock.now() : Number.POSITIVE_INFINITY;
      if (left > 0) {
        await this.#ctx.wake.discovery.wait(Math.ceil(left));
        continue;
      }
      const info = await transport.discover();
      const wait = info.kind === 'ok' ? undefined : info.retryAfterMs;
      notBefore = clock.now() + pauseMs(keyRetry, ++asked, random.fraction(), wait);
      if (info.kind === 'ok' && !this.#ctx.stopped) this.#ctx.learn(info.value);
    }
  }
}
