/**
 * Learns what the control plane can, what its limits are and which versions of the contract it speaks: at the start until
 * it answers, and again, with backoff, while a report waits for an op that it did not know, after a call was refused for
 * its version, or after a batch was refused whole. Woken by those. Ends when told to.
 */

import type { ServiceInfo } from '../contract/index.ts';
import { CONTRACT_VERSION } from '../contract/limits.ts';
import type { Answer } from '../ports/transport.ts';
import type { WorkerContext } from './context.ts';
import { keyRetry, pauseMs } from './refusals.ts';
import type { ReportLoop } from './report-loop.ts';

export class DiscoveryLoop {
  readonly #ctx: WorkerContext;
  readonly #reports: ReportLoop;
  #done: Promise<void> | undefined;
  #wasAsked: () => void = () => {};
  /** Resolves when it was asked once, whatever came of it. */
  readonly asked = new Promise<void>((resolve) => {
    this.#wasAsked = resolve;
  });

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
      const { contractDoubted, limitsDoubted, discoveries } = this.#ctx;
      const doubted = contractDoubted || limitsDoubted;
      const needed = discoveries === 0 || doubted || this.#reports.waitsForDiscovery;
      if (!needed) asked = 0;
      const left = needed ? notBefore - clock.now() : Number.POSITIVE_INFINITY;
      if (left > 0) {
        await this.#ctx.wake.discovery.wait(Math.ceil(left));
        continue;
      }
      const info = await transport.discover();
      const wait = info.kind === 'ok' ? undefined : info.retryAfterMs;
      notBefore = clock.now() + pauseMs(keyRetry, ++asked, random.fraction(), wait);
      if (!this.#ctx.stopped) this.#heard(info);
      this.#wasAsked();
    }
  }

  #heard(answer: Answer<ServiceInfo>): void {
    if (answer.kind === 'ok') {
      this.#ctx.learn(answer.value);
      return;
    }
    // Of another version altogether. A 426 that does not tell what is spoken may be a proxy's: it is asked again.
    const supported = answer.kind === 'refused' ? answer.problem.supported : undefined;
    if (supported && !supported.includes(CONTRACT_VERSION)) this.#ctx.onOtherContract(supported);
  }
}
