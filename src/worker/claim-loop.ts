/**
 * Asks for work. Woken by a hint, a freed slot, a full answer, the end of a trouble, or its poll timer. Sends one claim
 * at a time for the slots that are free; an unanswered one is repeated with the same request id, so that the same
 * attempts come back. Ends when a drain begins: what an answer still brings is given back, never dropped.
 */
import {
  type Attempt,
  attemptIdentity,
  attempt as attemptSchema,
  type ClaimAnswer,
  type ClaimRequest,
} from '../contract/index.ts';
import { bounds } from '../contract/limits.ts';
import { typeKey } from '../contract/names.ts';
import { four } from '../core/attempt-report.ts';
import { backoffMs } from '../core/backoff.ts';
import { workerDefaults } from '../core/defaults.ts';
import { afterClaim, firstPoll, pollDelayMs } from '../core/polling.ts';
import { wanted } from '../core/slots.ts';
import type { Answer } from '../ports/transport.ts';
import { type Attempts, type Held, label, type Named } from './attempts.ts';
import { refusesKey, type ServedHandler, type WorkerContext } from './context.ts';
import type { ReportLoop } from './report-loop.ts';
import type { RunningRecord } from './spool.ts';

export class ClaimLoop {
  readonly #ctx: WorkerContext;
  readonly #attempts: Attempts;
  readonly #reports: ReportLoop;
  readonly #handlers: ReadonlyMap<string, ServedHandler>;
  readonly #abort = new AbortController();
  /** A claim without an answer: asked again as it was. */
  #unanswered: ClaimRequest | undefined;
  #failures = 0;
  #sentAt = Number.NEGATIVE_INFINITY;
  #polling = firstPoll;
  /** The last answer filled every slot that was asked for: more may wait. */
  #lastWasFull = false;
  /** The poll counts from here; `undefined`: ask as soon as a slot is free. */
  #answeredAt: number | undefined;
  #chance = 0;
  #pollAfterMs: number = workerDefaults.pollMinMs;
  #done: Promise<void> | undefined;
  /** When something was last granted or answered; for status. */
  lastAnswerAt: number | undefined;

  constructor(ctx: WorkerContext, attempts: Attempts, reports: ReportLoop) {
    this.#ctx = ctx;
    this.#attempts = attempts;
    this.#reports = reports;
    this.#handlers = new Map(
      ctx.settings.handlers.map((handler) => [
        typeKey(handler.type, handler.schemaVersion),
        handler,
      ]),
    );
  }

  start(): void {
    this.#done ??= this.#run();
  }

  /** Ends the loop. A claim under way is waited for: its answer may hold attempts. */
  async stop(): Promise<void> {
    this.#ctx.wake.claim.wake();
    await this.#done;
  }

  /** Gives up waiting for an answer (forced stop). */
  abandon(): void {
    this.#abort.abort();
  }

  async #run(): Promise<void> {
    let waitMs = 0;
    while (!this.#over()) {
      const woken = await this.#ctx.wake.claim.wait(waitMs);
      if (this.#over()) return;
      waitMs = await this.#turn(woken);
    }
  }

  #over(): boolean {
    return this.#ctx.draining || this.#ctx.stopped;
  }

  /** One look: returns how long to wait for the next, unless woken. */
  async #turn(woken: boolean): Promise<number> {
    const { clock, random } = this.#ctx.ports;
    if (this.#ctx.notClaiming !== undefined || this.#handlers.size === 0)
      return Number.POSITIVE_INFINITY;
    if (this.#attempts.slots.claimable === 0) return Number.POSITIVE_INFINITY;
    if (this.#failures > 0 && this.#retryAt > clock.now()) return this.#retryAt - clock.now();
    const rest = this.#pollAt() - clock.now();
    if (rest > 0 && !this.#mayFindWork()) return rest;
    const gap = this.#sentAt + workerDefaults.claimGapMs - clock.now();
    if (woken && gap > 0 && this.#polling.idle > 0) {
      await clock.sleep(gap);
      if (this.#over()) return 0;
    }
    const request = this.#unanswered ?? this.#request();
    this.#sentAt = clock.now();
    this.#ctx.workHinted = false;
    const answer = await this.#ctx.ports.transport.claim(request, this.#abort.signal);
    if (answer.kind === 'ok') {
      this.#unanswered = undefined;
      this.#failures = 0;
      this.#ctx.keyAccepted();
      await this.#answered(request, answer);
      return this.#pollAt() - clock.now();
    }
    return this.#notAnswered(request, answer, random.fraction());
  }

  /**
   * Whether asking before the poll is worth a call. While hints work an answer that left slots empty says that nothing
   * waits, so a freed slot alone asks for nothing: its empty answer would only hold back the next hint's claim.
   */
  #mayFindWork(): boolean {
    const { workHinted, hintsWork } = this.#ctx;
    return workHinted || this.#lastWasFull || !hintsWork || this.#failures > 0;
  }

  /** When the poll is due, by the clock. */
  #pollAt(): number {
    if (this.#answeredAt === undefined) return Number.NEGATIVE_INFINITY;
    const { hintsWork, settings } = this.#ctx;
    const facts = { hintsWork, pollAfterMs: this.#pollAfterMs, maxMs: settings.pollMaxMs };
    return this.#answeredAt + pollDelayMs(this.#polling, facts, this.#chance);
  }

  #retryAt = 0;

  #request(): ClaimRequest {
    const { settings, ports } = this.#ctx;
    const claimable = Math.min(this.#attempts.slots.claimable, bounds.claimMax);
    return {
      workerId: settings.workerId,
      sessionId: settings.sessionId,
      ...(ports.spool.earlierSessions.length === 0
        ? {}
        : { earlierSessions: [...ports.spool.earlierSessions] }),
      requestId: this.#ctx.id('req'),
      pools: [...settings.pools],
      want: wanted(claimable, settings.handlers),
      max: claimable,
    };
  }

  async #answered(
    request: ClaimRequest,
    answer: Extract<Answer<ClaimAnswer>, { kind: 'ok' }>,
  ): Promise<void> {
    const { clock, random } = this.#ctx.ports;
    this.lastAnswerAt = clock.now();
    if (answer.value.drain) this.#ctx.onDrainWish();
    const granted = await this.#take(answer.value.attempts, answer.sentAt);
    const next = afterClaim(this.#polling, { granted, asked: request.max });
    this.#polling = next.polling;
    this.#pollAfterMs = answer.value.pollAfterMs;
    this.#lastWasFull = next.atOnce;
    this.#answeredAt = next.atOnce ? undefined : clock.now();
    this.#chance = random.fraction();
  }

  async #notAnswered(
    request: ClaimRequest,
    answer: Exclude<Answer<ClaimAnswer>, { kind: 'ok' }>,
    fraction: number,
  ): Promise<number> {
    const { clock, log } = this.#ctx.ports;
    this.#failures++;
    const slow = answer.kind === 'refused' && refusesKey(answer.status);
    const pause = backoffMs(
      {
        ...workerDefaults.retry,
        maxMs: slow ? workerDefaults.refusedKeyRetryMaxMs : workerDefaults.retry.maxMs,
      },
      this.#failures,
      fraction,
    );
    const waitMs = Math.max(pause, answer.retryAfterMs ?? 0);
    this.#retryAt = clock.now() + waitMs;
    if (answer.kind === 'no-answer') {
      this.#unanswered = request;
      if (answer.cause === 'aborted') return waitMs;
      const level = this.#failures === 1 ? 'warn' : 'debug';
      log[level](
        'claim.no-answer',
        `The claim got no answer: ${answer.why} It is repeated with the same request id in ${Math.round(waitMs / 1000)} s.`,
        { failures: this.#failures },
      );
      return waitMs;
    }
    // Refused for good or for now: a repetition of a refused claim needs no memory of it.
    this.#unanswered = answer.status >= 500 ? request : undefined;
    if (answer.problem.code === 'SESSION_SUPERSEDED') {
      this.#ctx.onSuperseded(answer.problem.detail ?? 'another process took over this worker id');
      return 0;
    }
    if (slow) {
      if (await this.#ctx.keyRefused(answer.status, answer.problem)) {
        this.#retryAt = 0;
        this.#ctx.keyAccepted();
        return 0;
      }
      // The key trouble holds this loop; presence asks on and lifts it.
      return waitMs;
    }
    log.warn(
      'claim.refused',
      `The claim was refused (${answer.status} ${answer.problem.code}): ${answer.problem.detail ?? ''}`,
      { code: answer.problem.code },
    );
    return waitMs;
  }

  /** Takes what an answer brought. Returns how many were granted. */
  async #take(items: readonly unknown[], sentAt: number): Promise<number> {
    const fresh: Held[] = [];
    let granted = 0;
    let room = this.#attempts.slots.claimable;
    for (const item of items) {
      const read = this.#read(item);
      if (read === undefined) continue;
      granted++;
      if (room <= 0) {
        this.#giveBack(read.attempt, 'no-slot');
        continue;
      }
      room--;
      fresh.push(this.#attempts.add(read.attempt, read.handler, sentAt));
    }
    if (fresh.length === 0) return granted;
    this.#ctx.wake.renew.wake();
    for (const held of fresh)
      this.#ctx.ports.log.info('attempt.claimed', `${label(held)} was claimed.`, {
        taskId: held.attempt.taskId,
        attemptId: held.attempt.attemptId,
        fence: held.attempt.fence,
        attempt: held.work?.attempt.attempt,
      });
    if (await this.#record(fresh)) {
      for (const held of fresh) held.recorded = true;
      if (this.#ctx.draining)
        for (const held of fresh) this.#attempts.feed(held, { kind: 'drain' });
      this.#attempts.grantSlots();
    }
    return granted;
  }

  /** The running records are durable before anything is started for them; without them nothing is begun. */
  async #record(fresh: readonly Held[]): Promise<boolean> {
    const { spool, clock } = this.#ctx.ports;
    try {
      await spool.recordClaim(fresh.map((held) => runningRecord(held, this.#ctx, clock.wall())));
      return true;
    } catch (cause) {
      this.#ctx.trouble('spool', cause instanceof Error ? cause.message : String(cause));
      for (const held of fresh) this.#attempts.feed(held, { kind: 'drain' });
      return false;
    }
  }

  #read(item: unknown): { attempt: Attempt; handler: ServedHandler } | undefined {
    const parsed = attemptSchema.safeParse(item);
    if (!parsed.success) {
      const identity = attemptIdentity.safeParse(item);
      if (identity.success && !this.#attempts.had(identity.data.attemptId)) {
        this.#ctx.ports.log.error(
          'attempt.undecodable',
          `Attempt ${identity.data.attemptId} could not be read and is given back: ${parsed.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`).join('; ')}`,
          { attemptId: identity.data.attemptId },
        );
        this.#giveBack({ type: 'unknown', schemaVersion: 1, ...identity.data }, 'undecodable');
      }
      return undefined;
    }
    const attempt = parsed.data;
    // An attempt is begun once, whatever an answer says: a repeated claim brings back what we already have.
    if (this.#attempts.had(attempt.attemptId)) {
      const held = this.#attempts.get(attempt.attemptId);
      if (held === undefined)
        this.#ctx.ports.log.debug(
          'attempt.known',
          `Attempt ${attempt.attemptId} was here before; it is not run again.`,
        );
      return undefined;
    }
    const handler = this.#handlers.get(typeKey(attempt.type, attempt.schemaVersion));
    if (handler === undefined) {
      this.#ctx.ports.log.warn(
        'attempt.no-handler',
        `${label({ attempt })} is given back: there is no handler for it here.`,
        { attemptId: attempt.attemptId },
      );
      this.#giveBack(attempt, 'no-handler');
      return undefined;
    }
    return { attempt, handler };
  }

  #giveBack(attempt: Named, reason: string): void {
    this.#reports.add(
      this.#attempts.addReported(attempt, { op: 'release', ...four(attempt), reason }, undefined),
    );
  }
}

function runningRecord(held: Held, ctx: WorkerContext, wallMs: number): RunningRecord {
  const { effectSafety, effectGate } = held.state;
  return {
    ...four(held.attempt),
    type: held.attempt.type,
    schemaVersion: held.attempt.schemaVersion,
    effectSafety,
    effectGate,
    ...(ctx.project === undefined ? {} : { project: ctx.project }),
    claimedAt: new Date(wallMs).toISOString(),
  };
}
