import { TaskError } from '../../contract/index.ts';
import { backoffMs } from '../../core/backoff.ts';
import { outboxDefaults, spoolDefaults } from '../../core/defaults.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { Random } from '../../ports/random.ts';
import type { FlushLock } from './flush-lock.ts';
import type { FlushEnd, Flusher } from './flusher.ts';
import type { PassEvents, Stop } from './pass.ts';
import type { IntentStore, StoredIntent } from './store.ts';

export interface FlushLoopOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly store: IntentStore;
  readonly flusher: Flusher;
  readonly lock: FlushLock;
  readonly events: PassEvents;
  /** Those that somebody waits for. */
  readonly waiting: () => readonly StoredIntent[];
  /** A pass ended before its end. */
  readonly stopped: (error: TaskError) => void;
}

/**
 * Sends what is in the outbox while the producer lives. Woken by a submission, by any answer after an outage, by the
 * backoff after a pass without one, and every 30 s for what other processes left.
 * While it has the lock it tidies once an hour. Ends with `stop`.
 */
export class FlushLoop {
  readonly #options: FlushLoopOptions;
  readonly #ended = new AbortController();
  #running: Promise<void> | undefined;
  #away: Stop | undefined;
  #failures = 0;
  /** Passes in a row that did not meet what somebody waits for. */
  #missed = 0;
  #woken = false;
  #hurried = false;
  #passedAtMs = 0;
  /** That the last try went well is written down. */
  #cleared = false;
  #sleeper: AbortController | undefined;
  #lockAtMs = 0;
  #tidyAtMs = Number.NEGATIVE_INFINITY;
  #stopping = false;
  #toldElsewhere = '';

  constructor(options: FlushLoopOptions) {
    this.#options = options;
  }

  /** Twice is fine. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Something was stored. @returns why it is not sent at once, where that is known. */
  kick(): TaskError | undefined {
    if (this.#away) return this.#away.error;
    this.#woken = true;
    this.#sleeper?.abort();
    return undefined;
  }

  /** The control plane has answered something else: it may be back. */
  hurry(): void {
    // What it asked to wait is waited, and a key is mended by a person.
    if (!this.#away || this.#away.kind === 'key' || this.#away.retryAfterMs > 0) return;
    if (this.#options.clock.now() - this.#passedAtMs < outboxDefaults.hurryGapMs) return;
    this.#hurried = true;
    this.#sleeper?.abort();
  }

  /** Resolves when nothing is under way. Twice is fine; never rejects. */
  async stop(): Promise<void> {
    const { clock, lock } = this.#options;
    this.#stopping = true;
    this.#sleeper?.abort();
    // What is under way may end; what does not is cut, and answered as a replay next time.
    const limit = clock.timer(outboxDefaults.closeMs, () => this.#ended.abort());
    await this.#running;
    limit.cancel();
    this.#ended.abort();
    await lock.release();
  }

  async #run(): Promise<void> {
    const { clock } = this.#options;
    while (!this.#stopping) {
      this.#woken = false;
      this.#hurried = false;
      const waitMs = await this.#pass();
      this.#passedAtMs = clock.now();
      if (this.#away ? this.#hurried : this.#woken) continue;
      if (this.#stopping) return;
      this.#sleeper = new AbortController();
      await clock.sleep(waitMs, this.#sleeper.signal);
      this.#sleeper = undefined;
    }
  }

  /** @returns how long to wait for the next one, unless woken. */
  async #pass(): Promise<number> {
    const { flusher, events, waiting, stopped, random } = this.#options;
    const awaited = waiting();
    let end: FlushEnd | undefined;
    let stop: Stop | undefined;
    try {
      const scope = await this.#scope();
      const { signal } = this.#ended;
      end = await flusher.flush({ scope, extra: awaited, signal }, events);
      stop = end.stop;
    } catch (thrown) {
      const error =
        thrown instanceof TaskError
          ? thrown
          : new TaskError('BUG', `The outbox met a bug: ${thrown}`, { cause: thrown });
      stop = { error, kind: 'away', retryAfterMs: 0 };
    }
    await this.#tell(stop, end);
    if (stop) {
      stopped(stop.error);
      const retry = stop.kind === 'key' ? outboxDefaults.refusedRetry : outboxDefaults.retry;
      return Math.max(stop.retryAfterMs, backoffMs(retry, this.#failures, random.fraction()));
    }
    const { seen = new Set(), nextMs } = end ?? {};
    // Taken by another process between two looks: asked for by its key at once.
    const missed = awaited.some(({ record }) => !seen.has(record.id) && this.#isAwaited(record.id));
    this.#missed = missed ? this.#missed + 1 : 0;
    if (this.#missed === 1) return 0;
    if (missed) return backoffMs(outboxDefaults.retry, this.#missed, random.fraction());
    return Math.min(outboxDefaults.lookEveryMs, Math.max(1, nextMs ?? Number.POSITIVE_INFINITY));
  }

  #isAwaited(id: string): boolean {
    return this.#options.waiting().some(({ record }) => record.id === id);
  }

  /** While it has the lock, once an hour. */
  async #tidy(): Promise<void> {
    const { store, clock } = this.#options;
    this.#tidyAtMs = clock.now() + spoolDefaults.upkeepEveryMs;
    await store.tidy();
  }

  /** Whether also to send what other processes left: one process at a time does. */
  async #scope(): Promise<'all' | 'own'> {
    const { store, lock, clock, log } = this.#options;
    if (lock.held) {
      if (clock.now() >= this.#tidyAtMs) await this.#tidy();
      return 'all';
    }
    const names = await store.names();
    if (names.every((name) => store.isOwn(name)) || clock.now() < this.#lockAtMs) return 'own';
    this.#lockAtMs = clock.now() + outboxDefaults.lockEveryMs;
    const taking = lock.take().then(async (holder) => {
      if (holder === undefined) {
        await this.#tidy();
        this.kick();
      } else log.debug('outbox.held', `What others left in the outbox is sent by ${holder}.`);
    });
    // A holder that is out of sight is watched for long: what was stored here need not wait for that.
    const enough = new AbortController();
    await Promise.race([taking, clock.sleep(outboxDefaults.lockWaitMs, enough.signal)]);
    enough.abort();
    return lock.held ? 'all' : 'own';
  }

  async #tell(stop: Stop | undefined, end: FlushEnd | undefined): Promise<void> {
    const { log, store } = this.#options;
    const { folder } = store.layout;
    if (stop && stop.error.code !== 'ABORTED') {
      this.#failures = (end?.submitted ?? 0) > 0 ? 1 : this.#failures + 1;
      if (this.#away?.error.code !== stop.error.code) {
        const text = `Submissions are kept in ${folder} and sent later: ${stop.error.message}`;
        if (stop.kind === 'key') log.error('outbox.key', text, { code: stop.error.code });
        else log.warn('outbox.away', text, { code: stop.error.code });
      }
      await store.lastTry({ error: stop.error, times: this.#failures });
      this.#cleared = false;
    } else if (!stop && end && end.submitted + end.refused > 0) {
      if (this.#away)
        log.info('outbox.back', `The control plane answers again; ${end.submitted} were sent.`);
      if (!this.#cleared) await store.lastTry(undefined);
      this.#cleared = true;
    }
    this.#away = stop;
    if (!stop) this.#failures = 0;
    const { elsewhere = new Map(), otherProjects = new Map() } = end ?? {};
    const others = [...elsewhere.keys(), ...otherProjects.keys()].sort().join(', ');
    if (end && others !== this.#toldElsewhere && others !== '')
      log.warn(
        'outbox.elsewhere',
        `${folder} also holds submissions for ${others}: not sent here.`,
      );
    if (end) this.#toldElsewhere = others;
  }
}
