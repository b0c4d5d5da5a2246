import type {
  Attempt,
  ReportAnswer,
  ReportOf,
  StuckHandler,
  TerminalReport,
} from '../contract/index.ts';
import { bounds } from '../contract/limits.ts';
import { typeKey } from '../contract/names.ts';
import {
  type AttemptEffect,
  type AttemptEvent,
  type AttemptState,
  claimedAttempt,
  isOver,
  renews,
  reportedAttempt,
  type Step,
  step,
  stuckAttempt,
  unstuckAttempt,
} from '../core/attempt.ts';
import { four } from '../core/attempt-report.ts';
import { jittered } from '../core/backoff.ts';
import { workerDefaults } from '../core/defaults.ts';
import { PassingMap } from '../core/passing-map.ts';
import type { SlotCount } from '../core/slots.ts';
import type { Here } from '../core/type-pauses.ts';
import type { Answer } from '../ports/transport.ts';
import type { RecoveredRunning, SpooledReport } from '../spool/index.ts';
import type { ServedHandler, WorkerContext } from './context.ts';
import { Held, type LeaseTimes, label, type Named, overInWords, stuckHandler } from './held.ts';
import { Seen } from './seen.ts';
import { SlotBook } from './slot-book.ts';

/**
 * The attempts of this process: feeds their machines, hands the effects to `run-attempt`, gives slots in the order of
 * claims. What was here once is remembered, so that an answer can never start a handler twice.
 */
export class Attempts {
  readonly #ctx: WorkerContext;
  readonly #held = new PassingMap<string, Held>();
  readonly #book = new SlotBook();
  /** Ids of the attempts that this process has had: the oldest go, by then their fences are long stale. */
  readonly #had = new Seen(REMEMBERED);
  readonly #carryOut: (held: Held, effects: readonly AttemptEffect[]) => void;
  #granting = false;
  #full = false;
  #fraction: number;

  constructor(
    ctx: WorkerContext,
    carryOut: (held: Held, effects: readonly AttemptEffect[]) => void,
  ) {
    this.#ctx = ctx;
    this.#carryOut = carryOut;
    this.#fraction = ctx.ports.random.fraction();
  }

  /** Whether this process or the records on disk have had the attempt. */
  had(attemptId: string): boolean {
    return this.#had.has(attemptId) || this.#held.has(attemptId);
  }

  remember(attemptId: string): void {
    this.#had.add(attemptId);
  }

  /** From a claim. @param sentAt when the claim was sent: the lease counts from there. */
  add(attempt: Attempt, handler: ServedHandler, sentAt: number): Held {
    const lease = this.#lease(attempt.leaseMs, sentAt);
    const held = new Held(attempt, claimedAttempt(attempt), sentAt, false, lease);
    held.work = { attempt, handler };
    return this.#add(held);
  }

  /**
   * With nothing left but a report to be answered: found on disk, or given back unread.
   * @param lease of a claim's answer; one found on disk is renewed at once to learn it.
   */
  addReported(
    attempt: Named,
    report: TerminalReport,
    record: SpooledReport | undefined,
    lease?: { readonly leaseMs: number; readonly sentAt: number },
  ): Held {
    const now = this.#ctx.ports.clock.now();
    const { leaseMs, sentAt } = lease ?? { leaseMs: workerDefaults.unknownLeaseMs, sentAt: now };
    const state = { ...reportedAttempt(attempt, report), followUp: record?.followUp ?? false };
    const held = new Held(
      attempt,
      state,
      sentAt,
      record !== undefined,
      this.#lease(leaseMs, sentAt),
    );
    if (lease === undefined) held.renewAt = now;
    held.leaseToldOut = lease === undefined;
    held.record = record;
    return this.#add(held);
  }

  /** One that could not be recorded, and so has no slot and has not begun. `false`: it is on its way out already. */
  giveBack(held: Held, reason: string): boolean {
    if (held.state.phase !== 'claimed' || held.state.slot) return false;
    held.state = reportedAttempt(held.attempt, { op: 'release', ...four(held.attempt), reason });
    this.#book.note(held);
    return true;
  }

  /** A loss that could not be written yet: the machine is at `ending`. Nobody works on it, so it is not renewed. */
  addEnding(attempt: Named, report: ReportOf<'lost'>): Held {
    const held = this.addReported(attempt, report, undefined);
    held.state = { ...held.state, phase: 'ending', begun: report.begun };
    held.renewAt = Number.POSITIVE_INFINITY;
    return held;
  }

  /** Of an earlier session, with processes that were killed and do not go. Nothing is renewed for it. */
  addStuck(record: RecoveredRunning, pids: readonly number[]): Held {
    const now = this.#ctx.ports.clock.now();
    const { type, schemaVersion } = record;
    const lease = this.#lease(workerDefaults.unknownLeaseMs, now);
    const named = { ...four(record), type, schemaVersion };
    const held = new Held(named, stuckAttempt(record), now, true, lease);
    held.renewAt = Number.POSITIVE_INFINITY;
    held.leaseToldOut = true;
    held.leftPids = pids;
    return this.#add(held);
  }

  /** It has gone: the machine is at `ending`. */
  unstick(held: Held, report: ReportOf<'lost'>): void {
    held.state = unstuckAttempt(held.state, report);
    this.#book.note(held);
    // Its slot may be claimed for: no event of the machine says so.
    this.#ctx.askForWork();
    this.#ctx.wake.presence.wake();
  }

  #lease(leaseMs: number, sentAt: number): LeaseTimes {
    return {
      leaseMs,
      leaseUntil: sentAt + leaseMs,
      renewAt: this.nextRenewal(leaseMs, sentAt),
    };
  }

  /** A third of the lease after that, varied: by the same share for all of a round, so that they stay together. */
  nextRenewal(leaseMs: number, sentAt: number): number {
    const third = Math.max(leaseMs * workerDefaults.renewShare, workerDefaults.renewGapMs);
    return sentAt + jittered(third, workerDefaults.renewJitter, this.#fraction);
  }

  /** A new round of renewals: a fleet must not renew in step. */
  varyRenewals(): void {
    this.#fraction = this.#ctx.ports.random.fraction();
  }

  #add(held: Held): Held {
    this.remember(held.attempt.attemptId);
    this.#held.set(held.attempt.attemptId, held);
    this.#book.note(held);
    return held;
  }

  get(attemptId: string): Held | undefined {
    return this.#held.get(attemptId);
  }

  [Symbol.iterator](): IterableIterator<Held> {
    return this.#held.values();
  }

  get size(): number {
    return this.#held.size;
  }

  /** Codes of handlers that run, or are to run. */
  *codes(): Generator<string> {
    for (const { work } of this.#held.values())
      if (work?.handler.code !== undefined) yield work.handler.code.id;
  }

  get slots(): SlotCount {
    return this.#book.count(this.#ctx.settings.maxConcurrent);
  }

  /** Whether all slots are held, also those whose reports are being written. */
  get full(): boolean {
    return this.#book.held >= this.#ctx.settings.maxConcurrent;
  }

  get #claimable(): number {
    return this.#book.claimable(this.#ctx.settings.maxConcurrent);
  }

  /** Whether something waits for a slot. */
  get someWait(): boolean {
    return this.#book.waits > 0;
  }

  /** Those that hold a slot or wait for one, oldest first. */
  get slotted(): Iterable<Held> {
    return this.#book;
  }

  /** Those that wait for a slot, oldest first. */
  get waiting(): Iterable<Held> {
    return this.#book.waiting;
  }

  /** Those that are to run here, or do. */
  *here(): Generator<Here> {
    for (const { attempt, claimedAt, state } of this.#book)
      if (state.phase === 'claimed' || state.phase === 'running')
        yield {
          type: typeKey(attempt.type, attempt.schemaVersion),
          begun: state.begun,
          claimedAt,
        };
  }

  /** Handlers that were killed and do not go; at most so many are told. */
  get stuck(): StuckHandler[] {
    return [...this.#book]
      .filter(({ state }) => state.stuck)
      .slice(0, bounds.stuck)
      .map(stuckHandler);
  }

  feed(held: Held, event: AttemptEvent): void {
    if (isOver(held.state)) return;
    const before = held.state;
    const taken = this.#step(held, event);
    if (taken === undefined) return;
    const [state, effects] = taken;
    const claimable = this.#claimable;
    held.state = state;
    this.#book.note(held);
    // The handler has gone: the next work may be fetched while the report is being written.
    if (this.#claimable > claimable) this.#ctx.slotFreed();
    if (isOver(state)) this.#over(held);
    this.#tellOutcome(held, before, state);
    this.#carryOut(held, effects);
    if (isOver(state)) held.letGo();
    if (before.slot !== state.slot || before.phase !== state.phase) this.#moved(before, state);
  }

  /** An event that cannot come is a bug of ours. It is told loudly; the other attempts must not die of it. */
  #step(held: Held, event: AttemptEvent): Step | undefined {
    try {
      return step(held.state, event);
    } catch (bug) {
      this.#ctx.ports.log.error('bug', bug instanceof Error ? bug.message : String(bug), {
        attemptId: held.attempt.attemptId,
      });
      return undefined;
    }
  }

  feedAll(event: AttemptEvent, which: (held: Held) => boolean = () => true): void {
    for (const held of [...this.#held.values()]) if (which(held)) this.feed(held, event);
  }

  /** Gives free slots to those that wait, oldest first. */
  grantSlots(): void {
    for (const held of this.#book.waiting) {
      if (this.#startable() <= 0) return;
      if (!held.recorded) continue;
      held.slotAt = this.#ctx.ports.clock.now();
      this.feed(held, { kind: 'slot-granted' });
      // Fewer wait: more may be claimed ahead.
      if (this.#ctx.workWanted) this.#ctx.wake.claim.wake();
    }
  }

  #startable(): number {
    return this.#book.startable(this.#ctx.settings.maxConcurrent, this.#ctx.heldBack);
  }

  /** After this step, so that the machine of one attempt never runs inside that of another. Once for all of a moment. */
  #grantSoon(): void {
    if (this.#granting || !this.someWait || this.#startable() <= 0) return;
    this.#granting = true;
    queueMicrotask(() => {
      this.#granting = false;
      this.grantSlots();
    });
  }

  /** An accepted report but a terminal one: the lease is longer, and a cancel may be asked for. */
  accepted(held: Held, answer: Extract<Answer<ReportAnswer>, { kind: 'ok' }>): void {
    const { leaseMs, cancelRequested } = answer.value;
    if (leaseMs !== undefined) {
      // The first answer about one found on disk, or a policy that changed: the schedule was made for another lease.
      if (leaseMs < held.leaseMs)
        held.renewAt = Math.min(held.renewAt, this.nextRenewal(leaseMs, answer.sentAt));
      held.leaseMs = leaseMs;
      held.leaseUntil = Math.max(held.leaseUntil, answer.sentAt + leaseMs);
      if (held.leaseUntil > this.#ctx.ports.clock.now()) held.leaseToldOut = false;
    }
    if (cancelRequested && !held.state.cancelRequested && held.canStop)
      this.feed(held, { kind: 'cancel-requested' });
  }

  toRenew(): Held[] {
    return [...this.#held.values()].filter((held) => renews(held.state));
  }

  #moved(before: AttemptState, state: AttemptState): void {
    const { wake } = this.#ctx;
    if (before.slot) this.#grantSoon();
    // A claim may wait for work from now on.
    if (before.slot && this.#book.held === 0) this.#ctx.claimSoon();
    const { full } = this;
    // What else presence tells of attempts wakes it where it happens.
    if (full !== this.#full || before.stuck !== state.stuck) wake.presence.wake();
    this.#full = full;
    wake.settled.wake();
  }

  /** Once: when its report is made, or with its end where there is none. */
  #tellOutcome({ attempt }: Held, before: AttemptState, state: AttemptState): void {
    if (before.report !== undefined) return;
    const outcome = state.report?.op ?? (isOver(state) ? state.phase : undefined);
    if (outcome === undefined) return;
    this.#ctx.meter.attempt(typeKey(attempt.type, attempt.schemaVersion), outcome);
  }

  #over(held: Held): void {
    this.#held.delete(held.attempt.attemptId);
    const { taskId } = held.attempt;
    const { level, says } = overInWords(held.state, taskId);
    this.#ctx.ports.log[level]('attempt.over', `${label(held)} ${says}`, {
      taskId,
      attemptId: held.attempt.attemptId,
      op: held.state.report?.op,
      phase: held.state.phase,
    });
  }
}

const REMEMBERED = 50_000;
