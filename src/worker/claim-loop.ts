/**
 * Asks for work. Woken by a hint, a freed slot, a full answer, the end of a trouble, or its poll timer. Sends one claim
 * at a time for the slots that are free, and for a few milliseconds of work ahead where handlers are short; an unanswered one is repeated with the same request id, so that the same
 * attempts come back. Ends when a drain begins: what an answer still brings is given back, never dropped.
 */
import { CLAIM_WAIT, type ClaimAnswer, type ClaimRequest, type Want } from '../contract/index.ts';
import { backoffMs } from '../core/backoff.ts';
import { type Ahead, nothingAhead } from '../core/claim-ahead.ts';
import { claimWaitDefaults } from '../core/claim-wait-defaults.ts';
import { workerDefaults } from '../core/defaults.ts';
import { afterClaim, firstPoll, pollDelayMs, slowest } from '../core/polling.ts';
import type { Answer } from '../ports/transport.ts';
import { ClaimedAhead } from './ahead.ts';
import type { Attempts } from './attempts.ts';
import { Claimed } from './claimed.ts';
import type { WorkerContext } from './context.ts';
import { keyRetry, pauseMs, refusesKey, refusesWhole } from './refusals.ts';
import type { ReportLoop } from './report-loop.ts';
import { type WaitedFor, waitingClaim, withoutWait } from './waiting-claim.ts';

export class ClaimLoop {
  readonly #ctx: WorkerContext;
  readonly #attempts: Attempts;
  readonly #claimed: Claimed;
  readonly #ahead: ClaimedAhead;
  /** As things stand; made anew after each wait. */
  #plan: Ahead = nothingAhead;
  readonly #abort = new AbortController();
  /** A claim without an answer: asked again as it was. */
  #unanswered: ClaimRequest | undefined;
  #failures = 0;
  /** It was told that claims get no answer. */
  #silent = false;
  /** Not before that, whatever wakes it: after a failure, or as the control plane asked. */
  #retryAt = Number.NEGATIVE_INFINITY;
  /** Of the last claim that brought nothing and came after another that brought nothing, or ended the wait of one. */
  #fruitlessAt = Number.NEGATIVE_INFINITY;
  #polling = firstPoll;
  /** The last claim brought nothing and could not wait: something was worked on, or it was the first. */
  #wantsWait = false;
  /** Claims that waited and failed, in a row. */
  #waitsFailed = 0;
  #mayWaitAt = Number.NEGATIVE_INFINITY;
  #answeredAt = Number.NEGATIVE_INFINITY;
  /** When the last claim was made up: a pause of a type that ran out later is a reason to ask. */
  #madeAt = Number.NEGATIVE_INFINITY;
  #pollAfterMs: number = workerDefaults.pollMinMs;
  /** Chance of the present pause, so that looking at it twice does not change it. */
  #fraction = 0;
  #done: Promise<void> | undefined;

  constructor(ctx: WorkerContext, attempts: Attempts, reports: ReportLoop) {
    this.#ctx = ctx;
    this.#attempts = attempts;
    this.#ahead = new ClaimedAhead(ctx, attempts, reports);
    this.#claimed = new Claimed(ctx, attempts, reports, this.#ahead);
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
    while (!this.#over()) {
      this.#plan = this.#ahead.plan(this.#polling.full === true);
      this.#ctx.contact.claimsDue(this.#everyMs(), this.#failures > 0);
      const left = this.#dueAt() - this.#ctx.ports.clock.now();
      if (left > 0) {
        await this.#ctx.wake.claim.wait(Math.ceil(left));
        continue;
      }
      await this.#claim();
    }
    this.#ahead.stop();
  }

  /** Longest wait between two claims as things stand; `undefined`: none is due. */
  #everyMs(): number | undefined {
    const { heldBack, hintsWork, settings } = this.#ctx;
    if (heldBack || this.#want().length === 0 || this.#most === 0) return undefined;
    const facts = { hintsWork, pollAfterMs: this.#pollAfterMs, maxMs: settings.pollMaxMs };
    return pollDelayMs(slowest, facts, 0) + (this.#mayWait() ? claimWaitDefaults.waitMs : 0);
  }

  #over(): boolean {
    return this.#ctx.draining || this.#ctx.stopped;
  }

  /** When the next claim may be sent, as things stand; looked at again after every wake. */
  #dueAt(): number {
    const { heldBack, hintsWork, pauses, ports, settings, workWanted } = this.#ctx;
    if (heldBack || settings.handlers.length === 0) return Number.POSITIVE_INFINITY;
    if (this.#most === 0) return Number.POSITIVE_INFINITY;
    const soonest = Math.max(this.#retryAt, this.#fruitlessAt + workerDefaults.claimGapMs);
    // An unanswered claim may have brought something that nobody renews: as soon as it may be asked again.
    if (this.#unanswered) return soonest;
    if (this.#want().length === 0) return Math.max(soonest, pauses.nextTrial(ports.clock.now()));
    if (workWanted) return Math.max(soonest, this.#withReport());
    if (this.#wantsWait && this.#mayWait()) return soonest;
    const facts = { hintsWork, pollAfterMs: this.#pollAfterMs, maxMs: settings.pollMaxMs };
    const pause = pollDelayMs(this.#polling, facts, this.#fraction);
    const trial = pauses.nextTrial(this.#madeAt);
    return Math.max(soonest, Math.min(this.#answeredAt + pause, trial));
  }

  /**
   * Nothing was left to be claimed, and a slot is free since then: the report of what had it goes first, and the control plane
   * keeps both in one commit.
   */
  #withReport(): number {
    const { freedAt } = this.#ctx;
    if (freedAt === undefined || this.#polling.full) return Number.NEGATIVE_INFINITY;
    return freedAt + workerDefaults.claimWithReportMs;
  }

  async #claim(): Promise<void> {
    const { clock, random, transport } = this.#ctx.ports;
    const request = this.#unanswered ?? this.#request();
    // Also of a repeated one: nothing else was claimed since it was made up.
    const asked = { max: request.max, waits: request.waitMs !== undefined };
    const sentAt = clock.now();
    this.#ctx.contact.claimingSince = sentAt + (request.waitMs ?? 0);
    // From here on a wake means: after this answer, once more.
    this.#ctx.workWanted = false;
    this.#ctx.freedAt = undefined;
    const { signal } = this.#abort;
    this.#ctx.onClaim();
    const { answer, endedAt = sentAt }: WaitedFor =
      request.waitMs === undefined
        ? { answer: await transport.claim(request, signal) }
        : await waitingClaim(this.#ctx, request, signal);
    this.#fraction = random.fraction();
    this.#ctx.contact.ended();
    if (answer.kind === 'ok') await this.#answered(answer, { sentAt, endedAt }, asked);
    else await this.#notAnswered(request, answer);
    this.#ctx.contact.claimingSince = undefined;
  }

  /** What may be claimed now: nothing of a type that is paused. */
  #want(): Want[] {
    const { settings, pauses } = this.#ctx;
    const handlers = this.#plan.shortOnly ? this.#ahead.short() : settings.handlers;
    return pauses.want(this.#most, this.#attempts.here(), handlers);
  }

  get #most(): number {
    return Math.min(this.#attempts.slots.claimable + this.#plan.extra, this.#ctx.limits.claimMax);
  }

  #request(): ClaimRequest {
    const { settings, pauses, ports } = this.#ctx;
    this.#madeAt = ports.clock.now();
    if (!this.#plan.shortOnly) this.#ahead.allAsked();
    return {
      workerId: settings.workerId,
      sessionId: settings.sessionId,
      ...(ports.spool.earlierSessions.length === 0
        ? {}
        : { earlierSessions: [...ports.spool.earlierSessions] }),
      requestId: this.#ctx.id('req'),
      pools: [...settings.pools],
      want: this.#want(),
      max: pauses.most(this.#most),
      ...(this.#mayWait() ? { waitMs: claimWaitDefaults.waitMs } : {}),
    };
  }

  /**
   * Whether the claim may wait at the control plane: nothing is worked on or waits here, and the last claim was answered. What
   * is claimed meanwhile is then all that there is room for.
   */
  #mayWait(): boolean {
    const { contact, features, pauses, ports } = this.#ctx;
    const { slots } = this.#attempts;
    return (
      features.includes(CLAIM_WAIT) &&
      this.#failures === 0 &&
      contact.claimOkAt !== undefined &&
      slots.held + slots.waiting === 0 &&
      !pauses.some &&
      ports.clock.now() >= this.#mayWaitAt
    );
  }

  /** Something on the way may not let a call wait: hints and polls do as well. */
  #waitFailed(): void {
    const pause = backoffMs(claimWaitDefaults.retry, ++this.#waitsFailed, this.#fraction);
    this.#mayWaitAt = this.#ctx.ports.clock.now() + pause;
  }

  async #answered(
    answer: Extract<Answer<ClaimAnswer>, { kind: 'ok' }>,
    { sentAt, endedAt }: { readonly sentAt: number; readonly endedAt: number },
    { max, waits }: { readonly max: number; readonly waits: boolean },
  ): Promise<void> {
    const { clock } = this.#ctx.ports;
    this.#unanswered = undefined;
    if (this.#failures > 0 && this.#silent)
      this.#ctx.ports.log.info('claim.answered', 'Claims are answered again.', {
        failures: this.#failures,
      });
    this.#silent = false;
    this.#failures = 0;
    this.#answeredAt = clock.now();
    this.#pollAfterMs = answer.value.pollAfterMs;
    this.#ctx.contact.claimOk();
    this.#ctx.keyAccepted();
    if (answer.value.drain) this.#ctx.onDrainWish();
    // Leases began no sooner than that.
    const leasesFrom = Math.min(answer.sentAt + (answer.value.waitedMs ?? 0), this.#answeredAt);
    const taken = await this.#claimed.take(answer.value.attempts, leasesFrom, max);
    this.#ctx.meter.claim(taken.granted > 0 ? 'granted' : 'empty');
    this.#retryAt = taken.notBefore;
    // One look after work was found holds nothing back: else the task that is submitted next would wait for it.
    if (taken.granted === 0 && (this.#polling.idle > 0 || endedAt > sentAt))
      this.#fruitlessAt = endedAt;
    const waitedMs = waits ? this.#answeredAt - sentAt : 0;
    if (waits) this.#waitsFailed = 0;
    this.#wantsWait = !waits && taken.granted === 0;
    const next = afterClaim(this.#polling, { granted: taken.granted, asked: max, waitedMs });
    this.#polling = next.polling;
    if (next.atOnce) this.#ctx.askForWork();
  }

  async #notAnswered(
    request: ClaimRequest,
    answer: Exclude<Answer<ClaimAnswer>, { kind: 'ok' }>,
  ): Promise<void> {
    const { clock, log } = this.#ctx.ports;
    this.#ctx.meter.claim(answer.kind);
    this.#ctx.contact.failed(answer);
    if (
      answer.kind === 'refused' &&
      refusesWhole(answer.status) &&
      this.#ctx.claimRefused(request.max)
    ) {
      this.#unanswered = undefined;
      this.#retryAt = clock.now() + (answer.retryAfterMs ?? 0);
      log.info(
        'claim.fewer',
        `The claim for ${request.max} was refused (${answer.status} ${answer.problem.code}). Claims ask for ${this.#ctx.limits.claimMax} at most until the control plane has told its limits again.`,
        { code: answer.problem.code },
      );
      this.#ctx.askForWork();
      return;
    }
    this.#failures++;
    const keyRefused = answer.kind === 'refused' && refusesKey(answer);
    const backoff = keyRefused
      ? keyRetry
      : { ...workerDefaults.retry, maxMs: this.#longestPollMs() };
    const pause = pauseMs(backoff, this.#failures, this.#fraction, answer.retryAfterMs);
    this.#retryAt = clock.now() + pause;
    if (request.waitMs !== undefined) this.#waitFailed();
    const level = this.#failures === 1 ? 'warn' : 'debug';
    if (answer.kind === 'no-answer') {
      this.#unanswered = withoutWait(request);
      if (answer.cause !== 'aborted') {
        this.#silent ||= level === 'warn';
        log[level](
          'claim.no-answer',
          `The claim got no answer: ${answer.why} ${this.#goesOn(pause)}`,
          { failures: this.#failures },
        );
      }
      return;
    }
    // Refused for now, it may still have been carried out; refused for good, a repetition needs no memory of it.
    this.#unanswered = answer.status >= 500 ? withoutWait(request) : undefined;
    if (answer.problem.code === 'SESSION_SUPERSEDED')
      this.#ctx.onSuperseded(answer.problem.detail ?? 'another worker took over this worker id');
    else if (keyRefused) {
      // The key trouble holds this loop; presence asks on and lifts it.
      if (!(await this.#ctx.keyRefused(answer.status, answer.problem, answer.sentAt))) return;
      this.#retryAt = Number.NEGATIVE_INFINITY;
      this.#ctx.keyAccepted();
    } else
      log[level](
        'claim.refused',
        `The claim was refused (${answer.status} ${answer.problem.code}): ${answer.problem.detail ?? ''}`,
        { code: answer.problem.code, failures: this.#failures },
      );
  }

  #goesOn(pauseMs: number): string {
    return this.#over()
      ? 'It is not repeated, since this worker drains: what it may have been given goes to others when its lease is over.'
      : `It is repeated with the same request id in ${(pauseMs / 1000).toFixed(1)} s.`;
  }

  /** An outage must not cost more than one polling interval once it is over. */
  #longestPollMs(): number {
    const { hintsWork, settings } = this.#ctx;
    const max = hintsWork ? workerDefaults.pollMaxMs : workerDefaults.pollMaxWithoutHintsMs;
    return Math.min(max, settings.pollMaxMs) / (1 + workerDefaults.retry.jitter);
  }
}
