/**
 * The worker: puts the loops together, starts them, and ends them in order. The only file that knows them all.
 *
 * Runs at the same time: claim-loop, renew-loop, report-loop, presence-loop, hint-loop, discovery-loop, and one
 * run-attempt for each attempt. They share `WorkerContext` and `Attempts` and wake each other through flags; none waits for another.
 */
import type { KeptHandler, UnservedHandler } from '../contract/index.ts';
import { CONTRACT_VERSION } from '../contract/limits.ts';
import { noCommonContract } from '../core/contract-versions.ts';
import { workerDefaults } from '../core/defaults.ts';
import { onSignal } from '../core/drain.ts';
import type { Contact } from '../core/readiness.ts';
import { ClaimLoop } from './claim-loop.ts';
import { contactOf } from './contact.ts';
import {
  type LiveSettings,
  type ServedHandler,
  WorkerContext,
  type WorkerPorts,
  type WorkerSettings,
} from './context.ts';
import { DiscoveryLoop } from './discovery-loop.ts';
import { Drain, orUntil } from './drain.ts';
import { HintLoop } from './hint-loop.ts';
import { PresenceLoop } from './presence-loop.ts';
import { recover } from './recovery.ts';
import { endsStart, limitOf } from './refusals.ts';
import { RenewLoop } from './renew-loop.ts';
import { RunAttempt } from './run-attempt.ts';
import { Served } from './served.ts';
import { type WorkerStatus, workerStatus } from './status.ts';
import type { WorkerEnd } from './worker-end.ts';

export type { LiveSettings, ServedHandler, WorkerPorts, WorkerSettings } from './context.ts';
export type { WorkerStatus } from './status.ts';
export type { WorkerEnd } from './worker-end.ts';

export class Worker {
  readonly #ctx: WorkerContext;
  readonly #run: RunAttempt;
  readonly #claims: ClaimLoop;
  readonly #renewals: RenewLoop;
  readonly #presence: PresenceLoop;
  readonly #hints: HintLoop;
  readonly #discovery: DiscoveryLoop;
  readonly #ending: Drain;
  readonly #end = deferred<WorkerEnd>();
  readonly #gone = deferred<void>();
  #started: Promise<void> | undefined;
  #draining: Promise<void> | undefined;
  #special: { why: WorkerEnd['why']; detail: string } | undefined;
  #closed = false;

  constructor(ports: WorkerPorts, settings: WorkerSettings) {
    this.#ctx = new WorkerContext(ports, settings);
    this.#run = new RunAttempt(this.#ctx);
    this.#claims = new ClaimLoop(this.#ctx, this.#run.attempts, this.#run.reports);
    this.#renewals = new RenewLoop(this.#ctx, this.#run.attempts);
    this.#presence = new PresenceLoop(this.#ctx, this.#run.attempts);
    this.#hints = new HintLoop(this.#ctx, this.#renewals, this.#presence);
    this.#discovery = new DiscoveryLoop(this.#ctx, this.#run.reports);
    this.#ending = new Drain(this.#ctx, this.#run, this.#claims);
    this.#ctx.onSpoolLost = (why) => this.spoolLost(why);
    this.#ctx.onDrainWish = () => {
      if (!this.#ctx.draining)
        this.#ctx.ports.log.info('drain.asked', 'An operator asked this worker to drain.');
      void this.drain();
    };
    this.#ctx.onSuperseded = (why) => this.#superseded(why);
    this.#ctx.onOtherContract = (theirs) => this.#otherContract(theirs);
  }

  /** Resolves when the worker has ended, once. Never rejects. */
  get ended(): Promise<WorkerEnd> {
    return this.#end.promise;
  }

  /**
   * Resolves when nothing of it is left: with `ended`, or later where handlers inside this program would not go. Until the
   * last of those has ended the worker keeps their leases and its spool, so that nobody begins their tasks a second time,
   * and delivers what they say. Never rejects.
   */
  get gone(): Promise<void> {
    return this.#gone.promise;
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
    if (endsStart(hello) && (await this.#ctx.readKeyAgain(hello.sentAt)))
      hello = await this.#presence.first();
    if (endsStart(hello)) {
      const { problem, status } = hello;
      await this.#finish({
        why: 'key-refused',
        detail: `${status} ${problem.code}: ${problem.detail ?? problem.title ?? ''}`,
        ...limitOf(problem),
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
    // Nothing is claimed before the control plane was asked what it speaks, and told what the earlier session lost.
    void Promise.all([this.#discovery.asked, lost.length === 0 ? undefined : told]).then(() =>
      this.#claims.start(),
    );
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
      this.#ending.stopHandlers();
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

  /** What readiness and the watchdog are decided from (`core/readiness.ts`). */
  contact(): Contact {
    return contactOf(this.#ctx, this.#run.attempts);
  }

  /**
   * Other handlers from now on: new claims are for them, attempts that are here go on with those they were claimed for.
   * @param why nothing is left to serve, in words; then nothing is claimed.
   */
  serve(
    handlers: readonly ServedHandler[],
    kept: readonly KeptHandler[],
    why?: string,
    unserved: readonly UnservedHandler[] = [],
  ): void {
    this.#ctx.serve(new Served(handlers, kept, unserved));
    this.#ctx.trouble('handlers', why);
  }

  /** Other settings from now on. */
  adjust(changed: Partial<LiveSettings>): void {
    this.#ctx.settings = { ...this.#ctx.settings, ...changed };
    this.#run.attempts.grantSlots();
    this.#ctx.askForWork();
    this.#ctx.wake.presence.wake();
  }

  /** Reads the key again. `true`: it is another. */
  async reloadKey(): Promise<boolean> {
    const { clock } = this.#ctx.ports;
    return this.#ctx.readKeyAgain(clock.now());
  }

  /** Ids of code that is served, or that attempts which are here were claimed for. */
  codesInUse(): Set<string> {
    const served = this.#ctx.served.handlers.flatMap(({ code }) => code?.id ?? []);
    return new Set([...served, ...this.#run.attempts.codes()]);
  }

  /** The control plane has answered a presence of this worker. */
  get heard(): boolean {
    return this.#ctx.project !== undefined;
  }

  status(): WorkerStatus {
    return workerStatus(this.#ctx, this.#run);
  }

  #superseded(why: string): void {
    if (this.#special !== undefined) return;
    this.#special = { why: 'superseded', detail: why };
    this.#ctx.ports.log.error(
      'session.superseded',
      `Another worker took over worker id "${this.#ctx.settings.workerId}": ${why} This one finishes what it has and ends. Give each worker an id of its own.`,
    );
    void this.drain();
  }

  /** What runs may end, since nobody else may do it meanwhile; what it says is kept for a version that can tell it. */
  #otherContract(theirs: readonly number[]): void {
    const { says = '', next = '' } = noCommonContract(theirs, CONTRACT_VERSION) ?? {};
    if (this.#special !== undefined) return;
    this.#ctx.otherContract = true;
    this.#special = { why: 'contract-mismatch', detail: `${says}. ${next}` };
    this.#ctx.ports.log.error(
      'contract.mismatch',
      `No version of the contract is spoken by both sides: ${says}. This worker claims nothing, finishes what it has, keeps its reports and ends. ${next}`,
      { theirs, ours: CONTRACT_VERSION },
    );
    void this.drain();
  }

  async #drain(): Promise<void> {
    if (this.#closed) return;
    const left = await this.#ending.run(this.#started);
    if (left > 0) await this.#force(left);
    else
      await this.#finish(
        this.#special ?? { why: this.#ending.stopped > 0 ? 'stopped-handlers' : 'drained' },
      );
  }

  /** Handlers would not go. Where nobody can make them, the end is told and the rest of it waits for them. */
  async #force(left: number): Promise<void> {
    const handlers = `${left} handler${left === 1 ? '' : 's'}`;
    const end = { why: 'forced', detail: `${handlers} would not go` } as const;
    const { carrier, log } = this.#ctx.ports;
    if (carrier.inProgram && !this.#closed) {
      log.error(
        'drain.forced',
        `The drain ends although ${handlers} would not go. What runs inside this program cannot be killed: until it has ended, its lease is renewed, the spool stays taken, and what it says is delivered.`,
        { running: left },
      );
      this.#end.resolve(this.#endOf(end));
      await this.#ending.afterLast();
    }
    await this.#finish(end);
  }

  #endOf(end: Pick<WorkerEnd, 'why' | 'detail' | 'beyond'>): WorkerEnd {
    const unwritten = this.#ending.working().filter(({ state }) => state.phase === 'ending').length;
    return {
      why: end.why,
      unsent: this.#run.reports.unanswered + unwritten,
      stopped: this.#ending.stopped,
      ...(end.detail === undefined ? {} : { detail: end.detail }),
      ...(end.beyond === undefined ? {} : { beyond: end.beyond }),
    };
  }

  async #finish(end: Pick<WorkerEnd, 'why' | 'detail' | 'beyond'>): Promise<void> {
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
    if (!SILENT.includes(end.why)) await this.#presence.goodbye();
    const told = this.#endOf(end);
    const closing = Promise.all([
      this.#hints.stop(),
      carrier.close(),
      transport.close(),
      end.why === 'spool-lost' ? undefined : spool.close(),
    ]);
    await orUntil(
      clock,
      closing.catch((cause) =>
        log.error(
          'close.failed',
          `Could not close in order: ${cause instanceof Error ? cause.message : String(cause)}`,
        ),
      ),
      clock.now() + workerDefaults.goodbyeMs,
    );
    // In this order: who hears of the end finds out whether anything is left.
    this.#gone.resolve();
    this.#end.resolve(told);
  }
}

/** Ends after which nobody would hear a goodbye, or nothing may be said any more. */
const SILENT: readonly WorkerEnd['why'][] = ['spool-lost', 'key-refused', 'contract-mismatch'];

/** `Promise.withResolvers`, which Node 20 has not: the SDK's worker runs there too. */
function deferred<T>(): { readonly promise: Promise<T>; resolve(value: T): void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve: (value) => resolve(value) };
}
