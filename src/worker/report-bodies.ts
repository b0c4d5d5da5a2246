import type { TerminalReport } from '../contract/index.ts';
import { workerDefaults } from '../core/defaults.ts';
import type { WorkerContext } from './context.ts';
import { type Held, label, reportOf } from './held.ts';
import type { PendingReport } from './pending-report.ts';
import { pauseMs } from './refusals.ts';

/**
 * What the reports say that wait for their answer: in memory up to a bound, beyond it only on disk, from where it is read
 * when it is to be sent. So a long outage costs disk, and what it left costs no memory at the next start.
 */
export class ReportBodies {
  readonly #ctx: WorkerContext;
  #bytes = 0;

  constructor(ctx: WorkerContext) {
    this.#ctx = ctx;
  }

  /** One more that waits. */
  add(held: Held): void {
    const { record } = held;
    if (!record || held.bodyOnDisk) return;
    if (this.#bytes + record.bytes <= workerDefaults.reportsInMemoryBytes) {
      held.keptBytes = record.bytes;
      this.#bytes += record.bytes;
      return;
    }
    held.state = { ...held.state, report: record.head };
    held.bodyOnDisk = true;
    // They hold its result and its input.
    held.job = undefined;
    held.work = undefined;
  }

  /** It waits no more. */
  remove(held: Held): void {
    this.#bytes -= held.keptBytes;
    held.keptBytes = 0;
  }

  /** `undefined`: it is only on disk. */
  inMemory({ held }: PendingReport): TerminalReport | undefined {
    return held.record && held.bodyOnDisk ? undefined : reportOf(held);
  }

  /** From disk. `undefined`: the disk does not give it now. It holds up no other, and is asked for again. */
  async read(pending: PendingReport): Promise<TerminalReport | undefined> {
    const { clock, log, random, spool } = this.#ctx.ports;
    const { held } = pending;
    if (!held.record) return reportOf(held);
    try {
      return await spool.body(held.record);
    } catch (cause) {
      if (pending.tries === 0)
        log.error(
          'report.unreadable',
          `The report of ${label(held)} cannot be read from the spool: ${cause instanceof Error ? cause.message : String(cause)} It is tried again.`,
          { attemptId: held.attempt.attemptId },
        );
      const pause = pauseMs(workerDefaults.retry, ++pending.tries, random.fraction(), undefined);
      pending.notBefore = clock.now() + pause;
      return undefined;
    }
  }
}
