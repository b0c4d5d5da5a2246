import { aheadDefaults } from './ahead-defaults.ts';

/**
 * How many attempts may be claimed beyond the free slots, so that the way there and back and the disk's work overlap with
 * handlers. Only where handlers are known to be short: what waits here is behind a few milliseconds of work, and no other
 * worker could have begun it much sooner. Pure.
 */
export interface AheadType {
  /** The longest of its last runs here, slot to slot; `undefined`: there were too few to tell. */
  readonly longestMs: number | undefined;
  /** Their mean: by it the work of a time is reckoned, so that one pause of the machine does not end it. */
  readonly meanMs: number | undefined;
  /** Slots in which its handlers are at work, without those that take longer than a short handler does. */
  readonly working: number;
}

export interface AheadFacts {
  readonly maxConcurrent: number;
  /** Slots that are free, and not spoken for. */
  readonly claimable: number;
  /** Attempts that are here and wait for a slot. */
  readonly waiting: number;
  /** Slots in which something is at work that takes longer than a short handler does. */
  readonly slow: number;
  /** Of every type that may be claimed, one each. */
  readonly types: readonly AheadType[];
  /** The last claim brought all that it asked for: more of the same is there. */
  readonly moreThere: boolean;
  /** One of another type was claimed beyond the free slots, and waits. */
  readonly othersWait: boolean;
  /** Since a claim was sent for every type that is served here. */
  readonly sinceAllMs: number;
}

export interface Ahead {
  /** Attempts beyond the free slots. */
  readonly extra: number;
  /** Short types alone: the others are left out of the claim. */
  readonly shortOnly: boolean;
}

export const nothingAhead: Ahead = { extra: 0, shortOnly: false };

export function isShort(longestMs: number | undefined): boolean {
  return longestMs !== undefined && longestMs <= aheadDefaults.shortMs;
}

export function claimAhead(facts: AheadFacts): Ahead {
  const short = facts.types.filter(({ longestMs }) => isShort(longestMs));
  if (short.length === 0) return nothingAhead;
  const typical = Math.max(...short.map(({ meanMs = 0 }) => meanMs));
  if (short.length === facts.types.length) {
    const slots = facts.maxConcurrent - facts.slow;
    return { extra: room(slots, typical, facts.waiting), shortOnly: false };
  }
  // What may take hours must not have short ones wait behind it …
  if (facts.othersWait) return nothingAhead;
  // … nor may short ones that come again and again keep it from every slot: one of whatever comes first, behind those that wait.
  const others = facts.sinceAllMs > aheadDefaults.othersMs;
  // A free slot belongs to whatever comes first, too. While more short ones are there it is one of theirs that has just ended:
  // else handlers that are over before the next claim is answered would have each claim ask for the free slots alone.
  if (facts.claimable > 0 && (others || !facts.moreThere)) return nothingAhead;
  const slots = short.reduce((sum, { working }) => sum + working, facts.claimable);
  if (others) return { extra: Math.min(1, slots, free(facts.waiting)), shortOnly: false };
  const extra = room(slots, typical, facts.waiting);
  return { extra, shortOnly: extra > 0 };
}

/** How many more may wait, whatever they are for. */
function free(waiting: number): number {
  return Math.max(0, aheadDefaults.most - waiting);
}

/** What these slots do within the bound, less what waits; nothing before half of it is gone, so that claims bring many. */
function room(slots: number, typicalMs: number, waiting: number): number {
  const { workMs, most, leastRunMs } = aheadDefaults;
  const all = Math.floor((slots * workMs) / Math.max(typicalMs, leastRunMs));
  const target = Math.max(0, Math.min(most, all));
  return waiting * 2 > target ? 0 : target - waiting;
}

/** The last runs of one type, the newest over the oldest. */
export class LastRuns {
  readonly #runs: number[] = [];
  #next = 0;

  add(ms: number): void {
    this.#runs[this.#next] = ms;
    this.#next = (this.#next + 1) % aheadDefaults.runs;
  }

  /** `undefined` until there were enough of them. */
  get longestMs(): number | undefined {
    return this.#runs.length < aheadDefaults.runs ? undefined : Math.max(...this.#runs);
  }

  /** `undefined` until there were enough of them. */
  get meanMs(): number | undefined {
    const { length } = this.#runs;
    return length < aheadDefaults.runs
      ? undefined
      : this.#runs.reduce((sum, ms) => sum + ms, 0) / length;
  }
}
