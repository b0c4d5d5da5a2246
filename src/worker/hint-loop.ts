/**
 * Keeps one hint stream open. A hint only makes another loop look sooner; losing all of them costs at most one polling
 * interval, which is the short one until a byte has come. Reconnects with jittered backoff, also the first time; a stream without a byte for 45 s counts as lost (the
 * transport sees that). Ends when told to.
 */

import { withoutStop } from '../contract/sentence.ts';
import { workerDefaults } from '../core/defaults.ts';
import type { Hint, HintEnd } from '../ports/transport.ts';
import type { WorkerContext } from './context.ts';
import type { PresenceLoop } from './presence-loop.ts';
import { pauseMs } from './refusals.ts';
import type { RenewLoop } from './renew-loop.ts';

export class HintLoop {
  readonly #ctx: WorkerContext;
  readonly #renewals: RenewLoop;
  readonly #presence: PresenceLoop;
  readonly #abort = new AbortController();
  #failures = 0;
  /** When the present stream brought its first byte. */
  #openAt = Number.POSITIVE_INFINITY;
  /** The present stream was opened, with a byte or without. */
  #opened = false;
  /** Another stream ended before the present one. */
  #lost = false;
  #done: Promise<void> | undefined;

  constructor(ctx: WorkerContext, renewals: RenewLoop, presence: PresenceLoop) {
    this.#ctx = ctx;
    this.#presence = presence;
    this.#renewals = renewals;
  }

  start(): void {
    this.#done ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#done;
  }

  async #run(): Promise<void> {
    const { clock, random, transport } = this.#ctx.ports;
    const { workerId, sessionId } = this.#ctx.settings;
    while (!this.#abort.signal.aborted) {
      this.#openAt = Number.POSITIVE_INFINITY;
      this.#opened = false;
      const end = await transport.hints(
        { workerId, sessionId },
        (hint) => this.#hint(hint),
        this.#abort.signal,
      );
      this.#ctx.hintsWork = false;
      this.#lost = true;
      if (this.#abort.signal.aborted) return;
      // One that lasted was a stream: only those that never come about, or end at once, make the pauses grow.
      if (clock.now() - this.#openAt >= workerDefaults.hintLastedMs) this.#failures = 0;
      this.#failures++;
      this.#tell(end);
      // Without hints the poll is shorter: the claim loop looks again at when it is due.
      this.#ctx.wake.claim.wake();
      // The first retry too: a restarted control plane meets its whole fleet at once.
      const pause = pauseMs(
        { ...workerDefaults.retry, jitter: 0.5 },
        this.#failures,
        random.fraction(),
        end.retryAfterMs,
      );
      await clock.sleep(pause, this.#abort.signal);
    }
  }

  #hint(hint: Hint): void {
    switch (hint.kind) {
      case 'open':
        this.#opened = true;
        if (this.#lost) this.#ctx.hintsReopened++;
        // Something may have come while the stream was away.
        this.#ctx.askForWork();
        return;
      case 'ping':
        // Not before a byte came: a proxy that gathers the stream opens it too, and brings nothing.
        if (this.#ctx.hintsWork) return; // The transport looks after silence.
        this.#ctx.hintsWork = true;
        this.#openAt = this.#ctx.ports.clock.now();
        return;
      case 'wake':
        // One that names no types is for all of them.
        if (hint.types.length === 0 || hint.types.some((type) => this.#ctx.served.byType.has(type)))
          this.#ctx.askForWork();
        return;
      case 'cancel':
        this.#renewals.soon(hint.attemptId);
        return;
      case 'drain':
        this.#presence.soon();
        return;
    }
  }

  #tell(end: HintEnd): void {
    const { log } = this.#ctx.ports;
    if (end.status === 409) this.#presence.soon();
    const level = this.#failures === 1 ? 'info' : 'debug';
    const what = this.#opened ? 'ended' : 'could not be opened';
    const again = this.#opened ? 'the stream is opened again' : 'it is tried again';
    log[level](
      'hints.lost',
      `The hint stream ${what} (${withoutStop(end.why)}); polling goes on and ${again}.`,
      { kind: end.kind, status: end.status },
    );
  }
}
