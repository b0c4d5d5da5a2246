/**
 * Says who we are and how we are: every 15 s (or as the control plane wishes), and soon after something changed. Also
 * the door through which a refused key, an operator's drain and a superseded session are noticed when nothing is
 * claimed. Ends with a last `offline` at the end of a drain.
 */
import { createHash } from 'node:crypto';
import { canonical } from '../contract/canonical.ts';
import type {
  HandlerInfo,
  PresenceAnswer,
  PresenceRequest,
  WorkerState,
} from '../contract/index.ts';
import { backoffMs, jittered } from '../core/backoff.ts';
import { workerDefaults } from '../core/defaults.ts';
import type { Answer } from '../ports/transport.ts';
import type { Attempts } from './attempts.ts';
import { refusesKey, type WorkerContext } from './context.ts';

export class PresenceLoop {
  readonly #ctx: WorkerContext;
  readonly #attempts: Attempts;
  readonly #handlers: HandlerInfo[];
  readonly #handlersHash: string;
  #sendHandlers = true;
  #everyMs: number = workerDefaults.presentEveryMs;
  #failures = 0;
  #notBefore = 0;
  #told: string | undefined;
  #asked = false;
  #underWay: Promise<unknown> | undefined;
  #done: Promise<void> | undefined;

  constructor(ctx: WorkerContext, attempts: Attempts) {
    this.#ctx = ctx;
    this.#attempts = attempts;
    this.#handlers = ctx.settings.handlers.map(
      ({ type, schemaVersion, effectSafety, effectGate, inputSchema, outputSchema }) => ({
        type,
        schemaVersion,
        effectSafety,
        effectGate,
        ...(inputSchema === undefined ? {} : { inputSchema }),
        ...(outputSchema === undefined ? {} : { outputSchema }),
      }),
    );
    this.#handlersHash = createHash('sha256')
      .update(canonical(this.#handlers))
      .digest('hex')
      .slice(0, 32);
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
    return this.#send(this.#state());
  }

  /** The last one. An outage must not keep the process: nobody waits longer than a moment for it. */
  async goodbye(): Promise<void> {
    await Promise.race([this.#last(), this.#ctx.ports.clock.sleep(workerDefaults.goodbyeMs)]);
  }

  /** After the one that is on its way: arriving later, that would take the goodbye back. */
  async #last(): Promise<void> {
    await this.#underWay;
    await this.#send('offline');
  }

  async #run(): Promise<void> {
    const { clock, random } = this.#ctx.ports;
    let waitMs = this.#everyMs;
    while (!this.#ctx.stopped) {
      const woken = await this.#ctx.wake.presence.wait(waitMs);
      if (this.#ctx.stopped) return;
      if (woken && this.#failures === 0 && this.#nothingNew(clock.now())) continue;
      const early = this.#notBefore - clock.now();
      if (early > 0) {
        // Changes that come in a burst are told once, and a pause that was asked for is kept.
        await clock.sleep(Math.min(early, CHANGE_GAP_MS));
        if (this.#ctx.stopped) return;
        if (this.#notBefore > clock.now()) {
          waitMs = this.#notBefore - clock.now();
          continue;
        }
      }
      const sent = this.#send(this.#state());
      this.#underWay = sent;
      const answer = await sent;
      waitMs = await this.#after(answer);
      this.#notBefore =
        clock.now() + (answer.kind === 'ok' ? CHANGE_GAP_MS : Math.min(waitMs, 60_000));
      waitMs = jittered(waitMs, 0.1, random.fraction());
    }
  }

  /** Returns the pause until the next one. */
  async #after(answer: Answer<PresenceAnswer>): Promise<number> {
    if (answer.kind === 'ok') {
      this.#failures = 0;
      return this.#everyMs;
    }
    this.#failures++;
    const key = answer.kind === 'refused' && refusesKey(answer.status);
    if (key && (await this.#ctx.keyRefused(answer.status, answer.problem))) return 0;
    const max = key ? workerDefaults.refusedKeyRetryMaxMs : workerDefaults.presentEveryMs;
    return Math.max(
      backoffMs(
        { ...workerDefaults.retry, maxMs: max },
        this.#failures,
        this.#ctx.ports.random.fraction(),
      ),
      answer.retryAfterMs ?? 0,
    );
  }

  async #send(state: WorkerState): Promise<Answer<PresenceAnswer>> {
    const { transport } = this.#ctx.ports;
    this.#told = this.#news();
    this.#asked = false;
    const answer = await transport.present(this.#ctx.settings.workerId, this.#request(state));
    if (answer.kind === 'ok') this.#accepted(answer.value);
    else if (answer.kind === 'refused' && answer.problem.code === 'SESSION_SUPERSEDED') {
      this.#ctx.onSuperseded(answer.problem.detail ?? 'another process took over this worker id');
    }
    return answer;
  }

  #accepted(answer: PresenceAnswer): void {
    this.#ctx.project = answer.project;
    this.#ctx.ports.spool.useProject(answer.project);
    this.#ctx.keyAccepted();
    this.#sendHandlers = answer.needHandlers;
    this.#everyMs = Math.min(Math.max(answer.presentAfterMs, 1_000), 10 * 60_000);
    if (answer.needHandlers) this.#ctx.wake.presence.wake();
    if (answer.drain) this.#ctx.onDrainWish();
  }

  #nothingNew(now: number): boolean {
    return !this.#asked && this.#told === this.#news() && now < this.#notBefore + this.#everyMs / 2;
  }

  /** What a change is told early for. */
  #news(): string {
    return JSON.stringify([
      this.#state(),
      this.#attempts.slots.held,
      this.#ctx.notClaiming,
      this.#sendHandlers,
    ]);
  }

  #state(): WorkerState {
    if (this.#ctx.draining) return 'draining';
    return this.#attempts.slots.held >= this.#ctx.settings.maxConcurrent ? 'full' : 'ready';
  }

  #request(state: WorkerState): PresenceRequest {
    const { settings, ports } = this.#ctx;
    const stats = ports.spool.stats();
    const stuck = [...this.#attempts].filter((held) => held.state.stuck).length;
    const notClaiming = [
      this.#ctx.notClaiming,
      stuck > 0 ? `${stuck} killed handler${stuck === 1 ? '' : 's'} will not go` : undefined,
    ]
      .filter((why) => why !== undefined)
      .join('; ');
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
      handlersHash: this.#handlersHash,
      ...(this.#sendHandlers ? { handlers: this.#handlers } : {}),
      versions: { ...settings.versions },
      spool: {
        pending: stats.pending,
        bytes: stats.bytes,
        oldestMs: stats.oldestMs === null ? null : Math.round(stats.oldestMs),
        ok: stats.ok,
      },
      ...(notClaiming === '' ? {} : { notClaiming }),
      sentAt: new Date(ports.clock.wall()).toISOString(),
    };
  }
}

/** Changes of state are told at most this often. */
const CHANGE_GAP_MS = 500;
