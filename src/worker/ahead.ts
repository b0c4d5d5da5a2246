import { typeKey } from '../contract/names.ts';
import { aheadDefaults } from '../core/ahead-defaults.ts';
import { type Ahead, claimAhead, isShort, nothingAhead } from '../core/claim-ahead.ts';
import { everyType } from '../core/type-pauses.ts';
import type { Timer } from '../ports/clock.ts';
import type { Attempts } from './attempts.ts';
import type { ServedHandler, WorkerContext } from './context.ts';
import { type Held, label } from './held.ts';
import type { ReportLoop } from './report-loop.ts';

/**
 * Attempts beyond the free slots: how many may be claimed now, and what becomes of those that came and find no slot. One is
 * given back when its type is paused, when it waits too long, and (as everything that waits) when the worker drains.
 */
export class ClaimedAhead {
  readonly #ctx: WorkerContext;
  readonly #attempts: Attempts;
  readonly #reports: ReportLoop;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  /** When a claim was last sent for all types. */
  #allAskedAt = Number.NEGATIVE_INFINITY;
  /** The last one that came beyond the free slots and is not known to be short. */
  #other: Held | undefined;
  #timer: Timer | undefined;

  constructor(ctx: WorkerContext, attempts: Attempts, reports: ReportLoop) {
    this.#ctx = ctx;
    this.#attempts = attempts;
    this.#reports = reports;
    ctx.onTypePaused = (type) => this.#giveBack((held) => isOf(held, type), 'type-paused');
  }

  /**
   * What may be claimed beyond the free slots, now.
   * @param moreThere the last claim brought all that it asked for
   */
  plan(moreThere: boolean): Ahead {
    const { durations, pauses, ports, settings } = this.#ctx;
    const now = ports.clock.now();
    const { claimable, waiting } = this.#attempts.slots;
    const sinceAllMs = now - this.#allAskedAt;
    const enough = waiting * 2 > aheadDefaults.most && sinceAllMs <= aheadDefaults.othersMs;
    if (pauses.some || now < this.#pausedUntil || enough) return nothingAhead;
    const types = settings.handlers.map(({ type, schemaVersion }) => {
      const key = typeKey(type, schemaVersion);
      const [longestMs, meanMs] = [durations.longestMs(key), durations.meanMs(key)];
      return { key, longestMs, meanMs, working: 0 };
    });
    if (!types.some(({ longestMs }) => isShort(longestMs))) return nothingAhead;
    const byKey = new Map(types.map((one) => [one.key, one]));
    let slow = 0;
    for (const { attempt, slotAt, state } of this.#attempts.slotted) {
      if (!state.slot || state.phase === 'ending') continue;
      if (slotAt === undefined || state.stuck || now - slotAt > aheadDefaults.shortMs) slow++;
      else {
        const own = byKey.get(typeKey(attempt.type, attempt.schemaVersion));
        if (own) own.working++;
      }
    }
    const { maxConcurrent } = settings;
    const othersWait = this.#other?.state.phase === 'claimed' && !this.#other.state.slot;
    const facts = {
      maxConcurrent,
      claimable,
      waiting,
      slow,
      types,
      moreThere,
      othersWait,
      sinceAllMs,
    };
    return claimAhead(facts);
  }

  /** Those whose handlers are known to be short. */
  short(): ServedHandler[] {
    const { durations, settings } = this.#ctx;
    return settings.handlers.filter(({ type, schemaVersion }) =>
      isShort(durations.longestMs(typeKey(type, schemaVersion))),
    );
  }

  allAsked(): void {
    this.#allAskedAt = this.#ctx.ports.clock.now();
  }

  /** It has come, and no slot is free for it. */
  came(held: Held): void {
    const { clock } = this.#ctx.ports;
    held.aheadSince = clock.now();
    const { type, schemaVersion } = held.attempt;
    if (!isShort(this.#ctx.durations.longestMs(typeKey(type, schemaVersion)))) this.#other = held;
    this.#timer ??= clock.timer(aheadDefaults.waitMs, () => this.#look());
  }

  /** The worker has ended. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #look(): void {
    this.#timer = undefined;
    if (this.#ctx.stopped) return;
    const { clock, log } = this.#ctx.ports;
    const now = clock.now();
    const since = (held: Held) => held.aheadSince ?? Number.POSITIVE_INFINITY;
    const tooLong = (held: Held) => now - since(held) >= aheadDefaults.waitMs;
    const gone = this.#giveBack(tooLong, 'waited');
    const [first] = gone;
    if (first !== undefined) {
      this.#pausedUntil = now + aheadDefaults.pauseMs;
      log.info(
        'claim.gave-back',
        `${label(first)}${gone.length > 1 ? ` and ${gone.length - 1} more` : ''} had been claimed ahead and found no slot in ${aheadDefaults.waitMs / 1000} s, since handlers take longer than before: given back. Nothing is claimed ahead for ${aheadDefaults.pauseMs / 1000} s.`,
        { attempts: gone.length },
      );
    }
    const next = Math.min(...[...this.#attempts.waiting].map(since));
    if (Number.isFinite(next))
      this.#timer = clock.timer(next + aheadDefaults.waitMs - now, () => this.#look());
  }

  #giveBack(which: (held: Held) => boolean, reason: string): Held[] {
    const all = [...this.#attempts.waiting].filter(
      (held) => held.aheadSince !== undefined && which(held),
    );
    const gone = all.filter((held) => this.#attempts.giveBack(held, reason));
    for (const held of gone) this.#reports.add(held);
    return gone;
  }
}

function isOf({ attempt }: Held, type: string): boolean {
  return type === everyType || typeKey(attempt.type, attempt.schemaVersion) === type;
}
