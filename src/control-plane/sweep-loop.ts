import { leaseAnew } from '../core/clock-back.ts';
import { isCurrent } from '../core/task.ts';
import { dueAtMs, sweepTask } from '../core/task-sweep.ts';
import type { Transaction } from '../ports/store.ts';
import { keepChange } from './change.ts';
import { putClockRight } from './clock-back.ts';
import type { Services } from './services.ts';

/**
 * Does what happens by itself: ends attempts whose lease is over, expires what waited too long, makes tasks
 * available whose time has come, forgets what is old. Woken by time: every `sweepEveryMs`, sooner where the
 * next row is due sooner, at once after a full batch. Ends with `stop`.
 */
export class SweepLoop {
  readonly #services: Services;
  #stop: AbortController | undefined;
  #running: Promise<void> = Promise.resolve();
  #forgotAt = Number.NEGATIVE_INFINITY;

  constructor(services: Services) {
    this.#services = services;
  }

  /**
   * First puts right what a clock ahead of ours has stored, and gives every open attempt a whole lease again: nobody could
   * renew while we were away (contract 1.35).
   */
  async start(): Promise<void> {
    if (this.#stop) return;
    this.#stop = new AbortController();
    await putClockRight(this.#services);
    await this.#extendLeases();
    this.#running = this.#run(this.#stop.signal);
  }

  async stop(): Promise<void> {
    this.#stop?.abort();
    await this.#running;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, timing, limits, log, store } = this.#services;
    let lookedAt = clock.now();
    let failures = store.stats.failures;
    let waitMs = this.#pauseMs(await this.#leftMs().catch(() => Infinity));
    for (;;) {
      if (!(await clock.sleep(waitMs, signal))) return;
      try {
        // The machine or the process stood still for longer than workers wait between renewals: theirs are
        // still on their way to us.
        const away = clock.now() - lookedAt - waitMs > limits.leaseMs.min / 3;
        lookedAt = clock.now();
        if (away) {
          log.warn('sweep.was-away', 'The control plane stood still; leases are given anew.');
          await this.#extendLeases();
        }
        // While nothing could be kept no renewal was taken: a lease that ran out meanwhile tells nothing of its worker.
        const refused = store.stats.failures;
        if (refused !== failures) {
          await this.#extendLeases();
          failures = refused;
        }
        await this.#forget();
        // Reading is cheap; the writer is not asked for nothing.
        let leftMs = await this.#leftMs();
        while (!signal.aborted && leftMs <= 0) {
          const swept = await this.#sweep();
          leftMs = await this.#leftMs();
          if (swept < timing.sweepBatch) break;
          lookedAt = clock.now();
        }
        waitMs = this.#pauseMs(leftMs);
      } catch (error) {
        if (signal.aborted) return;
        waitMs = timing.sweepEveryMs * FAILED_FACTOR;
        // Told once, where it was found.
        if (store.lost) continue;
        log.error('sweep.failed', 'A sweep failed; it is tried again.', { error });
      }
    }
  }

  #pauseMs(leftMs: number): number {
    return Math.min(this.#services.timing.sweepEveryMs, Math.max(SOONEST_MS, leftMs));
  }

  /** Until the next row is due; 0 or less: one is. */
  async #leftMs(): Promise<number> {
    const { store } = this.#services;
    const next = await store.nextTimeMs();
    return (next ?? Infinity) - (await store.nowMs());
  }

  /** @returns how many rows it touched. */
  #sweep(): Promise<number> {
    const { store, timing, random, log } = this.#services;
    return store.write(async (tx) => {
      const spots = await tx.makeAvailable(timing.sweepBatch);
      for (const spot of spots) tx.announce({ kind: 'available', ...spot });
      const due = await tx.due(timing.sweepBatch);
      for (const row of due) {
        const attempt = await tx.latestAttempt(row);
        const current = attempt && isCurrent(row.task, attempt.attempt) ? attempt : undefined;
        const change = sweepTask(tx.nowMs, row.task, current?.attempt, random.fraction());
        if (change) await keepChange(tx, row, current, change);
        else {
          // A due time that the machine does not know any more must not be found again and again.
          log.warn('sweep.nothing-due', 'A task was marked as due and is not.', {
            taskId: row.task.id,
          });
          await tx.saveDue(row, dueAtMs(row.task, current?.attempt));
        }
      }
      return Math.max(spots.length, due.length);
    });
  }

  async #extendLeases(): Promise<void> {
    const { store, timing, log } = this.#services;
    let after = 0;
    let extended = 0;
    for (;;) {
      const ref = after;
      const last = await store.write(async (tx) => extendFrom(tx, ref, timing.sweepBatch));
      extended += last.count;
      if (last.count < timing.sweepBatch) break;
      after = last.ref;
    }
    if (extended > 0)
      log.info(
        'sweep.leases-extended',
        `${extended === 1 ? '1 open attempt was' : `${extended} open attempts were`} given a whole lease again.`,
      );
  }

  async #forget(): Promise<void> {
    const { store, clock, timing } = this.#services;
    if (clock.now() - this.#forgotAt < timing.forgetEveryMs) return;
    this.#forgotAt = clock.now();
    const before = (await store.nowMs()) - timing.rememberMs;
    while ((await store.write((tx) => tx.forget(before, timing.sweepBatch))) >= timing.sweepBatch);
  }
}

/** A store that failed is asked again after this many sweeps, so that its log stays readable. */
const FAILED_FACTOR = 4;
/** A row that is due now and cannot be ended now is looked at again after this. */
const SOONEST_MS = 1;

async function extendFrom(
  tx: Transaction,
  afterRef: number,
  limit: number,
): Promise<{ count: number; ref: number }> {
  const open = await tx.openAttemptsAfter(afterRef, limit);
  for (const { row, attempt } of open) {
    await keepChange(tx, row, attempt, {
      task: row.task,
      attempt: leaseAnew(tx.nowMs, attempt.attempt),
      events: [],
    });
  }
  return { count: open.length, ref: open.at(-1)?.attempt.ref ?? afterRef };
}
