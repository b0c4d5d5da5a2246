/**
 * Ends the work of a worker in order: nothing new is claimed, what has no handler yet is given back, handlers end by
 * themselves or are stopped at the deadline, reports get their moment. Woken by whatever settles; sends nothing itself; ends
 * at its deadline at the latest, or when the worker has ended otherwise.
 */
import { isOver } from '../core/attempt.ts';
import { workerDefaults } from '../core/defaults.ts';
import { onDeadline, onDrainWish } from '../core/drain.ts';
import type { Clock } from '../ports/clock.ts';
import type { ClaimLoop } from './claim-loop.ts';
import type { WorkerContext } from './context.ts';
import type { Held } from './held.ts';
import type { RunAttempt } from './run-attempt.ts';

export class Drain {
  readonly #ctx: WorkerContext;
  readonly #run: RunAttempt;
  readonly #claims: ClaimLoop;
  /** Handlers that it stopped. */
  stopped = 0;

  constructor(ctx: WorkerContext, run: RunAttempt, claims: ClaimLoop) {
    this.#ctx = ctx;
    this.#run = run;
    this.#claims = claims;
  }

  /** Resolves with the number of handlers that would not go. @param started the start of the worker, which may wait. */
  async run(started: Promise<void> | undefined): Promise<number> {
    const { clock, log } = this.#ctx.ports;
    const { drainTimeoutMs } = this.#ctx.settings;
    const { attempts, reports } = this.#run;
    const last = clock.now() + drainTimeoutMs;
    this.#ctx.drain = onDrainWish(this.#ctx.drain);
    this.#ctx.drainUntil = last;
    log.info(
      'drain.begin',
      `Draining: nothing more is claimed, ${attempts.slots.held} running, at most ${Math.round(drainTimeoutMs / 1000)} s.`,
      { running: attempts.slots.held, waiting: attempts.slots.waiting },
    );
    attempts.feedAll({ kind: 'drain' });
    const { wake } = this.#ctx;
    wake.claim.wake();
    wake.presence.wake();
    const deadline = clock.timer(drainTimeoutMs - this.#graceMs(), () => {
      this.#ctx.drain = onDeadline(this.#ctx.drain);
      if (this.working().length > 0)
        log.warn(
          'drain.deadline',
          'The drain deadline has come: handlers are stopped and what they say is kept.',
        );
      this.stopHandlers();
    });
    // A start that still waits for its first answer must not hold the drain.
    await orUntil(clock, started, clock.now() + workerDefaults.goodbyeMs);
    const claims = this.#claims.stop();
    await this.#until(() => this.working().length === 0, last + workerDefaults.lastWordMs);
    if (this.working().length > 0) this.#claims.abandon();
    else await orUntil(clock, claims, last);
    await this.#until(() => this.working().length === 0, last);
    deadline.cancel();
    await this.#until(
      () => reports.unanswered === 0 && this.working().length === 0,
      this.#spoolUntil(last),
    );
    // A slow disk is no handler that would not go: its running record, or the report if it gets there, tells the next start.
    return this.working().filter(({ state }) => state.phase !== 'ending').length;
  }

  /** After a forced end: resolves when the handlers that would not go have ended and their reports have had their moment. */
  async afterLast(): Promise<void> {
    const { clock } = this.#ctx.ports;
    await this.#until(() => this.working().length === 0, Number.POSITIVE_INFINITY);
    await this.#until(
      () => this.#run.reports.unanswered === 0,
      clock.now() + workerDefaults.lastWordMs,
    );
  }

  /** Attempts that are not yet on disk or over. */
  working(): Held[] {
    return [...this.#run.attempts].filter(
      (held) => !isOver(held.state) && held.state.phase !== 'spooled',
    );
  }

  stopHandlers(): void {
    this.stopped += [...this.#run.attempts].filter(
      (held) => held.state.phase === 'running' && held.state.stop === undefined,
    ).length;
    this.#run.attempts.feedAll({ kind: 'drain-deadline' });
  }

  /** The grace lies inside the drain, and leaves handlers at least half of it to end by themselves. */
  #graceMs(): number {
    const { drainTimeoutMs, stopGraceMs } = this.#ctx.settings;
    return Math.min(stopGraceMs, drainTimeoutMs / 2);
  }

  /** Reports get a moment even after the deadline: what the stopped handlers said is worth a try. */
  #spoolUntil(last: number): number {
    const now = this.#ctx.ports.clock.now();
    if (this.#ctx.otherContract) return now;
    return Math.max(
      Math.min(last, now + workerDefaults.drainSpoolMs),
      now + workerDefaults.lastWordMs,
    );
  }

  async #until(done: () => boolean, last: number): Promise<void> {
    const { clock } = this.#ctx.ports;
    while (!done() && !this.#ctx.stopped) {
      const left = last - clock.now();
      if (left <= 0) return;
      await this.#ctx.wake.settled.wait(Math.ceil(left));
    }
  }
}

/** Waits for the work, at most until then, and for its failure as for its end. Leaves no timer behind: it would keep the process. */
export async function orUntil(
  clock: Clock,
  work: Promise<unknown> | undefined,
  last: number,
): Promise<void> {
  const over = new AbortController();
  await Promise.race([
    Promise.resolve(work).catch(() => {}),
    clock.sleep(Math.max(0, last - clock.now()), over.signal),
  ]);
  over.abort();
}
