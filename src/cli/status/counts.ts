import type { ClaimOutcome, Meter, RenewalResult } from '../../ports/meter.ts';

/**
 * The worker's counts since its start, kept plainly so that they cost nothing worth measuring until somebody reads them.
 * Every label has a bound: words of the contract, and so many types.
 */
export class Counts implements Meter {
  readonly claims = new Map<ClaimOutcome, number>(
    zeros('granted', 'empty', 'refused', 'no-answer'),
  );
  readonly renewals = new Map<RenewalResult, number>(
    zeros('ok', 'stale', 'expired', 'refused', 'no-answer'),
  );
  /** By two words each. */
  readonly reports = new Pairs();
  readonly attempts = new Pairs();
  readonly durations = new Map<string, Durations>();
  leasesLost = 0;
  readonly #types = new Set<string>();

  claim(outcome: ClaimOutcome): void {
    add(this.claims, outcome);
  }

  renewal(result: RenewalResult): void {
    add(this.renewals, result);
  }

  report(op: string, result: string): void {
    this.reports.add(op, result);
  }

  attempt(type: string, outcome: string): void {
    this.attempts.add(this.label(type), outcome);
  }

  handler(type: string, ms: number): void {
    const label = this.label(type);
    const durations = this.durations.get(label) ?? new Durations();
    this.durations.set(label, durations);
    durations.add(ms / 1_000);
  }

  leaseLost(): void {
    this.leasesLost++;
  }

  /** The type itself for the first ones, then `other`: a reader of numbers pays for each for ever. */
  label(type: string): string {
    if (this.#types.has(type)) return type;
    if (this.#types.size >= TYPES_MAX) return 'other';
    this.#types.add(type);
    return type;
  }
}

/** How often each pair of words was counted. */
export class Pairs {
  readonly #counts = new Map<string, Map<string, number>>();

  add(first: string, second: string): void {
    const counts = this.#counts.get(first) ?? new Map<string, number>();
    this.#counts.set(first, counts);
    add(counts, second);
  }

  *[Symbol.iterator](): Generator<readonly [string, string, number]> {
    for (const [first, counts] of this.#counts)
      for (const [second, count] of counts) yield [first, second, count];
  }
}

/** A histogram: how many took up to each bound, and no longer than the one before. */
export class Durations {
  readonly buckets: number[] = BOUNDS_SECONDS.map(() => 0);
  sum = 0;
  count = 0;

  add(seconds: number): void {
    this.sum += seconds;
    this.count++;
    const at = BOUNDS_SECONDS.findIndex((bound) => seconds <= bound);
    if (at >= 0) this.buckets[at] = (this.buckets[at] ?? 0) + 1;
  }
}

/** From what a warm host needs to what runs over night. */
export const BOUNDS_SECONDS = [
  0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3_600, 14_400, 86_400,
];

/** A worker serves some dozens; each is about twenty rows of a scrape. */
export const TYPES_MAX = 100;

function add<K>(counts: Map<K, number>, key: K): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function zeros<const K extends string>(...keys: K[]): [K, number][] {
  return keys.map((key) => [key, 0]);
}
