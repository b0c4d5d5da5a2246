/**
 * The worker: puts the loops together, starts them, and ends them in order. The only file that knows them all.
 *
 * Runs at the same time: claim-loop, renew-loop, report-loop, presence-loop, hint-loop, discovery-loop, and one
 * run-attempt for each attempt. They share `WorkerContext` and `Attempts` and wake each other through flags; none waits for another.
 */
import type { PresenceAnswer } from '../contract/index.ts';
import { isOver } from '../core/attempt.ts';
import { workerDefaults } from '../core/defaults.ts';
import { onDeadline, onDrainWish, onSignal } from '../core/drain.ts';
import type { Answer } from '../ports/transport.ts';
import { ClaimLoop } from './claim-loop.ts';
import { WorkerContext, type WorkerPorts, type WorkerSettings } from './context.ts';
import { DiscoveryLoop } from './discovery-loop.ts';
import { HintLoop } from './hint-loop.ts';
import { PresenceLoop } from './presence-loop.ts';
import { recover } from './recovery.ts';
import { RenewLoop } from './renew-loop.ts';
import { RunAttempt } from './run-attempt.ts';
import { type WorkerStatus, workerStatus } from './status.ts';

export type { ServedHandler, WorkerPorts, WorkerSettings } from './context.ts';
export type { WorkerStatus } from './status.ts';

export interface WorkerEnd {
  /**
   * `drained`: all handlers ended by themselves · `stopped-handlers`: the deadline or a second signal stopped some ·
   * `superseded`: another process has our worker id · `key-refused`: at the first start · `spool-lost`: the
   * spool was taken by another process, removed or moved · `forced`: left at once, by a third signal or because handlers would not go.
   */
  readonly why:
    | 'drained'
    | 'stopped-handlers'
    | 'superseded'
    | 'key-refused'
    | 'spool-lost'
    | 'forced';
  /** Reports that are still on disk: the next start sends them. */
  readonly unsent: number;
  /** Handlers that were stopped by the drain. */
  readonly stopped: number;
  readonly detail?: string;
}

export class Worker {
  readonly #ctx: WorkerContext;
  readonly #run: RunAttempt;
  readonly #claims: ClaimLoop;
  readonly #renewals: RenewLoop;
  readonly #presence: PresenceLoop;
  readonly #hints: HintLoop;
  readonly #discovery: DiscoveryLoop;
  readonly #end = deferred<WorkerEnd>();
  #started: Promise<void> | undefined;
  #draining: Promise<void> | undefined;
  #special: { why: WorkerEnd['why']; detail: string } | undefined;
  #stoppedHandlers = 0;
  #closed = false;

  constructor(ports: WorkerPorts, settings: WorkerSettings) {
    this.#ctx = new WorkerContext(ports, settings);
    this.#run = new RunAttempt(this.#ctx);
    this.#claims = new ClaimLoop(this.#ctx, this.#run.attempts, this.#run.reports);
    this.#renewals = new RenewLoop(this.#ctx, this.#run.attempts);
    this.#presence = new PresenceLoop(this.#ctx, this.#run.attempts);
    this.#hints = new HintLoop(this.#ctx, this.#renewals, this.#presence);
    this.#discovery = new DiscoveryLoop(this.#ctx, this.#run.reports);
    this.#ctx.onSpoolLost = (why) => this.spoolLost(why);
    this.#ctx.onDrainWish = () => {
      if (!this.#ctx.draining)
        this.#ctx.ports.log.info('drain.asked', 'An operator asked this worker to drain.');
      void this.drain();
    };
    this.#ctx.onSuperseded = (why) => this.#superseded(why);
  }

  /** Resolves when the worker has ended, once. Never rejects. */
  get ended(): Promise<WorkerEnd> {
    return this.#end.promise;
  }

  /** Ends what an earlier process left, says hello, starts the loops. An outage does not fail it. Twice is once. */
  start(): Promise<void> {
    this.#started ??= this.#start();
    return this.#started;
  }

  async #start(): Promise<void> {
    const { log, spool } = this.#ctx.ports;
    if (this.#closed) return;
    // What it told before we were there to hear it.
    const { ok, why } = spool.stats();
    if (!ok) this.#ctx.trouble('spool', why);
    const lost = await recover(this.#ctx, this.#run);
    if (this.#closed) return;
    let hello = await this.#presence.first();
    if (keyRefused(hello) && (await this.#ctx.readKeyAgain(hello.sentAt)))
      hello = await this.#presence.first();
    if (keyRefused(hello)) {
      const { problem, status } = hello;
      await this.#finish({
        why: 'key-refused',
        detail: `${status} ${problem.code}: ${problem.detail ?? problem.title ?? ''}`,
      });
      return;
    }
    if (this.#closed) return;
    if (hello.kind === 'no-answer')
      log.warn(
        'presence.no-answer',
        `The control plane does not answer yet: ${hello.why} The worker goes on and asks again.`,
      );
    // Reports and renewals first: what is owed comes before what is new, also while draining.
    const told = this.#run.reports.tried(lost);
    this.#run.reports.start();
    this.#renewals.start();
    this.#presence.start();
    this.#discovery.start();
    if (this.#ctx.draining) return;
    this.#hints.start();
    // Nothing is claimed before the control plane was told what the earlier session lost.
    if (lost.length === 0) this.#claims.start();
    else void told.then(() => this.#claims.start());
  }

  /** SIGTERM or SIGINT: the first drains, a second (at least 1 s later) stops the handlers, a third leaves now. */
  signal(): void {
    const { clock, log } = this.#ctx.ports;
    const before = this.#ctx.drain.phase;
    const next = onSignal(this.#ctx.drain, clock.now());
    // Also where the phase stays: the first signal after an operator's wish counts as the first.
    this.#ctx.drain = next;
    if (next.phase === before) return;
    if (next.phase === 'draining') void this.drain();
    if (next.phase === 'stopping') {
      log.warn(
        'drain.stopping',
        'A second signal: handlers are stopped and what they say is kept. A third one leaves at once.',
      );
      this.#stopHandlers();
    } else if (next.phase === 'leaving') {
      log.error('drain.leaving', 'A third signal: leaving now.');
      void this.#finish({ why: 'forced', detail: 'a third signal' });
    }
  }

  /** Claims no more, gives back what has no handler yet, finishes the rest. Resolves when the worker has ended. */
  drain(): Promise<WorkerEnd> {
    this.#draining ??= this.#drain();
    return this.#end.promise;
  }

  /** The spool was taken by another process, removed or moved: nothing more may be claimed, written or sent. */
  spoolLost(detail: string): void {
    this.#ctx.spoolGone = true;
    if (this.#closed) return;
    this.#ctx.ports.log.error(
      'spool.lost',
      `This worker has no spool any more, and stops at once: ${detail}`,
    );
    void this.#finish({ why: 'spool-lost', detail });
  }

  /** The spool can take nothing (or, with `undefined`, can again): claiming pauses. See `SpoolOptions.onTrouble`. */
  spoolTrouble(why: string | undefined): void {
    this.#ctx.trouble('spool', why);
  }

  status(): WorkerStatus {
    return workerStatus(this.#ctx, this.#run);
  }

  #superseded(why: string): void {
    if (this.#special !== undefined) return;
    this.#special = { why: 'superseded', detail: why };
    this.#ctx.ports.log.error(
      'session.superseded',
      `Another process took over worker id "${this.#ctx.settings.workerId}": ${why} This one finishes what it has and ends. Give each worker a --worker-id of its own.`,
    );
    void this.drain();
  }

  async #drain(): Promise<void> {
    if (this.#closed) return;
    const { clock, log } = this.#ctx.ports;
    const { drainTimeoutMs } = this.#ctx.settings;
    const { attempts } = this.#run;
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
      if (this.#working().length > 0)
        log.warn(
          'drain.deadline',
          'The drain deadline has come: handlers are stopped and what they say is kept.',
        );
      this.#stopHandlers();
    });
    // A start that still waits for its first answer must not hold the drain.
    await this.#orUntil(this.#started, clock.now() + workerDefaults.goodbyeMs);
    const claims = this.#claims.stop();
    await this.#until(() => this.#working().length === 0, last + workerDefaults.lastWordMs);
    if (this.#working().length > 0) this.#claims.abandon();
    else await this.#orUntil(claims, last);
    await this.#until(() => this.#working().length === 0, last);
    deadline.cancel();
    const { reports } = this.#run;
    await this.#until(
      () => reports.unanswered === 0 && this.#working().length === 0,
      this.#spoolUntil(last),
    );
    // A slow disk is no handler that would not go: its running record, or the report if it gets there, tells the next start.
    const left = this.#working().filter(({ state }) => state.phase !== 'ending').length;
    if (left > 0)
      await this.#finish({
        why: 'forced',
        detail: `${left} handler${left === 1 ? '' : 's'} would not go`,
      });
    else
      await this.#finish(
        this.#special ?? { why: this.#stoppedHandlers > 0 ? 'stopped-handlers' : 'drained' },
      );
  }

  /** The grace lies inside the drain, and leaves handlers at least half of it to end by themselves. */
  #graceMs(): number {
    const { drainTimeoutMs, stopGraceMs } = this.#ctx.settings;
    return Math.min(stopGraceMs, drainTimeoutMs / 2);
  }

  /** Reports get a moment even after the deadline: what the stopped handlers said is worth a try. */
  #spoolUntil(last: number): number {
    const now = this.#ctx.ports.clock.now();
    return Math.max(
      Math.min(last, now + workerDefaults.drainSpoolMs),
      now + workerDefaults.lastWordMs,
    );
  }

  /** Attempts that are not yet on disk or over. */
  #working() {
    return [...this.#run.attempts].filter(
      (held) => !isOver(held.state) && held.state.phase !== 'spooled',
    );
  }

  #stopHandlers(): void {
    this.#stoppedHandlers += [...this.#run.attempts].filter(
      (held) => held.state.phase === 'running' && held.state.stop === undefined,
    ).length;
    this.#run.attempts.feedAll({ kind: 'drain-deadline' });
  }

  async #until(done: () => boolean, last: number): Promise<void> {
    const { clock } = this.#ctx.ports;
    while (!done() && !this.#closed) {
      const left = last - clock.now();
      if (left <= 0) return;
      await this.#ctx.wake.settled.wait(Math.ceil(left));
    }
  }

  /** Waits for the work, at most until then. Leaves no timer behind: it would keep the process. */
  async #orUntil(work: Promise<unknown> | undefined, last: number): Promise<void> {
    const { clock } = this.#ctx.ports;
    const over = new AbortController();
    await Promise.race([
      Promise.resolve(work).catch(() => {}),
      clock.sleep(Math.max(0, last - clock.now()), over.signal),
    ]);
    over.abort();
  }

  async #finish(end: { why: WorkerEnd['why']; detail?: string }): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const { carrier, clock, log, spool, transport } = this.#ctx.ports;
    const atOnce = end.why === 'forced' || end.why === 'spool-lost';
    this.#ctx.drain = {
      ...this.#ctx.drain,
      phase: this.#ctx.drain.phase === 'working' ? 'draining' : this.#ctx.drain.phase,
    };
    this.#ctx.stopping.abort();
    this.#run.stop();
    this.#claims.abandon();
    for (const wakeup of Object.values(this.#ctx.wake)) wakeup.wake();
    if (atOnce) for (const held of this.#run.attempts) held.job?.stop('drain', 0);
    if (end.why !== 'spool-lost' && end.why !== 'key-refused') await this.#presence.goodbye();
    const unwritten = this.#working().filter(({ state }) => state.phase === 'ending').length;
    const unsent = this.#run.reports.unanswered + unwritten;
    const closing = Promise.all([
      this.#hints.stop(),
      carrier.close(),
      transport.close(),
      end.why === 'spool-lost' ? undefined : spool.close(),
    ]);
    await this.#orUntil(
      closing.catch((cause) =>
        log.error(
          'close.failed',
          `Could not close in order: ${cause instanceof Error ? cause.message : String(cause)}`,
        ),
      ),
      clock.now() + workerDefaults.goodbyeMs,
    );
    this.#end.resolve({
      why: end.why,
      unsent,
      stopped: this.#stoppedHandlers,
      ...(end.detail === undefined ? {} : { detail: end.detail }),
    });
  }
}

function keyRefused(
  answer: Answer<PresenceAnswer>,
): answer is Extract<Answer<PresenceAnswer>, { kind: 'refused' }> {
  return answer.kind === 'refused' && (answer.status === 401 || answer.status === 403);
}

/** `Promise.withResolvers`, which Node 20 has not: the SDK's worker runs there too. */
function deferred<T>(): { readonly promise: Promise<T>; resolve(value: T): void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve: (value) => resolve(value) };
}
