import type { Report } from '../contract/index.ts';
import type { WorkerContext } from './context.ts';
import { type ReportResult, sendReports } from './send-reports.ts';

/**
 * Reports that somebody waits for: gates, lazy starts, progress, log lines. What is ready at the same moment goes in one
 * call; while one is under way the next gather, so batches form by themselves and a lone report waits for nobody.
 */
export class QuickReports {
  readonly #ctx: WorkerContext;
  #waiting: { report: Report; resolve: (result: ReportResult) => void }[] = [];
  #inFlight = 0;

  constructor(ctx: WorkerContext) {
    this.#ctx = ctx;
  }

  send(report: Report): Promise<ReportResult> {
    return new Promise((resolve) => {
      this.#waiting.push({ report, resolve });
      if (this.#waiting.length === 1) queueMicrotask(() => this.#flush());
    });
  }

  #flush(): void {
    if (this.#waiting.length === 0 || this.#inFlight >= MAX_IN_FLIGHT) return;
    const batch = this.#waiting;
    this.#waiting = [];
    this.#inFlight++;
    void sendReports(
      this.#ctx,
      batch.map((item) => item.report),
    ).then((results) => {
      this.#inFlight--;
      for (const [i, item] of batch.entries()) {
        const result = results[i];
        if (result) item.resolve(result);
      }
      this.#flush();
    });
  }
}

/** A slow answer to one group must not hold up the next. */
const MAX_IN_FLIGHT = 4;
