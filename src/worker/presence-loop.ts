/**
 * Says who we are and how we are: every 15 s (or as the control plane wishes), and soon after something changed. Also
 * the door through which a refused key, an operator's drain and a superseded session are noticed when nothing is
 * claimed. Ends with a last `offline` at the end of a drain.
 */
import type { PresenceAnswer, PresenceRequest, WorkerState } from '../contract/index.ts';
import { bounds } from '../contract/limits.ts';
import { workerDefaults } from '../core/defaults.ts';
import type { Answer } from '../ports/transport.ts';
import type { Attempts } from './attempts.ts';
import type { WorkerContext } from './context.ts';
import { endsStart, keyRetry, pauseMs, refusesKey } from './refusals.ts';
import { refusedKeyWords } from './refused-key.ts';

export class PresenceLoop {
  readonly #ctx: WorkerContext;
  readonly #attempts: Attempts;
  #sendHandlers = true;
  /** Hash of the handlers that were told last. */
  #handlersTold: string | undefined;
  #everyMs: number = workerDefaults.presentEveryMs;
  #failures = 0;
  #notBefore = Number.NEGATIVE_INFINITY;
  #dueAt = Number.NEGATIVE_INFINITY;
  #sending: Promise<unknown> = Promise.resolve();
  #told: string | undefined;
  #asked = false;
  #done: Promise<void> | undefined;

  constructor(ctx: WorkerContext, attempts: Attempts) {
    this.#ctx = ctx;
    this.#attempts = attempts;
  }

  start(): void {
    this.#done ??= this.#run();
  }

  /** Something is to be heard from the control plane: ask now. */
  soon(): void {
    this.#asked = true;
    this.#ctx.wake.presence.wake();
  }

  async stop(): Promise<void> {
    this.#ctx.wake.presence.wake();
    await this.#done;
  }

  /** The first one, before anything else is sent. The answer is for the caller too. */
  async first(): Promise<Answer<PresenceAnswer>> {
    const answer = await this.#send(this.#state());
    await this.#after(answer, endsStart(answer));
    return answer;
  }

  /** The last one. An outage must not keep the process: nobody waits longer than a moment for it. */
  async goodbye(): Promise<void> {
    const gone = new AbortController();
    await Promise.race([
      // One on its way must not arrive after it.
      this.#sending.then(() => (gone.signal.aborted ? undefined : this.#send('offline'))),
      this.#ctx.ports.clock.sleep(workerDefaults.goodbyeMs, gone.signal),
    ]);
    gone.abort();
  }

  async #run(): Promise<void> {
    const { clock } = this.#ctx.ports;
    while (!this.#ctx.stopped) {
      const due = Math.max(this.#notBefore, this.#something() ? 0 : this.#dueAt);
      const left = due - clock.now();
      if (left > 0) {
        await this.#ctx.wake.presence.wait(Math.ceil(left));
        continue;
      }
      await this.#after(await this.#send(this.#state()));
    }
  }

  /** Something has changed since the last one, or somebody asked for one. */
  #something(): boolean {
    return this.#failures === 0 && (this.#asked || this.#told !== this.#news());
  }

  /** Decides when the next one is due: changes that come in a burst are told once, and a pause that was asked for is kept. */
  async #after(answer: Answer<PresenceAnswer>, atStart = false): Promise<void> {
    const { clock, random } = this.#ctx.ports;
    if (answer.kind === 'ok') {
      this.#failures = 0;
      this.#notBefore = clock.now() + CHANGE_GAP_MS;
      this.#dueAt = clock.now() + this.#everyMs * (1 + LATER * random.fraction());
      this.#ctx.contact.nextCallAt = this.#dueAt;
      return;
    }
    this.#failures++;
    const key = answer.kind === 'refused' && refusesKey(answer);
    const backoff = key
      ? keyRetry
      : { ...workerDefaults.retry, maxMs: workerDefaults.presentEveryMs };
    const pause = pauseMs(backoff, this.#failures, random.fraction(), answer.retryAfterMs);
    this.#notBefore = clock.now() + pause;
    this.#dueAt = this.#notBefore;
    this.#ctx.contact.nextCallAt = this.#dueAt;
    if (key && atStart) {
      // Who starts the worker reads the key once more; it ends where that is refused too.
      const why = refusedKeyWords(answer.status, answer.problem, false);
      this.#ctx.ports.spool.refusal.tell(why);
    } else if (key && (await this.#ctx.keyRefused(answer.status, answer.problem, answer.sentAt)))
      this.#notBefore = this.#dueAt = Number.NEGATIVE_INFINITY;
  }

  #send(state: WorkerState): Promise<Answer<PresenceAnswer>> {
    const sent = this.#present(state);
    this.#sending = sent;
    return sent;
  }

  async #present(state: WorkerState): Promise<Answer<PresenceAnswer>> {
    const { transport } = this.#ctx.ports;
    this.#told = this.#news();
    this.#asked = false;
    const { hash } = this.#ctx.served;
    const answer = await transport.present(this.#ctx.settings.workerId, this.#request(state));
    this.#ctx.contact.ended();
    if (answer.kind === 'ok') {
      this.#handlersTold = hash;
      this.#accepted(answer.value);
    } else if (answer.kind === 'refused' && answer.problem.code === 'SESSION_SUPERSEDED') {
      this.#ctx.onSuperseded(answer.problem.detail ?? 'another worker took over this worker id');
    }
    return answer;
  }

  #accepted(answer: PresenceAnswer): void {
    this.#ctx.project = answer.project;
    this.#ctx.ports.spool.useProject(answer.project);
    this.#ctx.keyAccepted();
    this.#sendHandlers = answer.needHandlers;
    // The longer of its wish and ours.
    this.#everyMs = Math.max(
      workerDefaults.presentEveryMs,
      Math.min(answer.presentAfterMs, workerDefaults.pollAfterMaxMs),
    );
    if (answer.drain) this.#ctx.onDrainWish();
  }

  /** What a change is told early for. */
  #news(): string {
    return JSON.stringify([
      this.#state(),
      this.#ctx.notClaiming,
      this.#ctx.pauses.news,
      this.#attempts.stuck.map(({ attemptId }) => attemptId),
      this.#sendHandlers,
      this.#ctx.served.hash,
      this.#ctx.served.kept,
      this.#ctx.served.unserved,
    ]);
  }

  #state(): WorkerState {
    if (this.#ctx.draining) return 'draining';
    return this.#attempts.full ? 'full' : 'ready';
  }

  #request(state: WorkerState): PresenceRequest {
    const { settings, ports } = this.#ctx;
    const stats = ports.spool.stats();
    const { notClaiming, pauses, served } = this.#ctx;
    const { stuck } = this.#attempts;
    const pausedTypes = pauses.types;
    return {
      sessionId: settings.sessionId,
      ...(ports.spool.earlierSessions.length === 0
        ? {}
        : { earlierSessions: [...ports.spool.earlierSessions] }),
      state,
      slots: {
        max: settings.maxConcurrent,
        busy: Math.min(this.#attempts.slots.held, settings.maxConcurrent),
      },
      pools: [...settings.pools],
      handlersHash: served.hash,
      ...(this.#sendHandlers || served.hash !== this.#handlersTold
        ? { handlers: served.infos }
        : {}),
      versions: { ...settings.versions },
      spool: {
        pending: stats.pending,
        bytes: stats.bytes,
        oldestMs: stats.oldestMs === null ? null : Math.round(stats.oldestMs),
        ok: stats.ok,
      },
      ...(notClaiming === undefined ? {} : { notClaiming }),
      ...(pausedTypes.length === 0 ? {} : { pausedTypes }),
      ...(served.kept.length === 0
        ? {}
        : { keptHandlers: served.kept.slice(0, bounds.keptHandlers) }),
      ...(served.unserved.length === 0
        ? {}
        : { unservedHandlers: served.unserved.slice(0, bounds.unservedHandlers) }),
      ...(stuck.length === 0 ? {} : { stuck }),
      sentAt: new Date(ports.clock.wall()).toISOString(),
    };
  }
}

/** A fleet must not say hello in step: it comes up to this share later, never sooner than was asked for. */
const LATER = 0.1;

/** Changes of state are told at most this often. */
const CHANGE_GAP_MS = 500;
