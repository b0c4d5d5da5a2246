import { typeKey } from '../contract/type-key.ts';
import type { AttemptSight } from '../ports/store-rows.ts';

/** How attempts of each type went over a time, from what a store found of it. Pure. */

/** Milliseconds: half of them, and 95 of 100, took no longer. */
export interface Latency {
  readonly p50: number;
  readonly p95: number;
  /** So many were measured. */
  readonly measured: number;
}

/** Ended attempts are counted where they ended; where only some were looked at, numbers are scaled up. */
export interface Outcomes {
  readonly succeeded: number;
  /** Failed, of unknown outcome, or lost. */
  readonly failed: number;
  /** Cancelled or given back: no word on how the handler does. */
  readonly other: number;
  /** From when it might have been claimed to its start. */
  readonly waited: Latency | undefined;
  /** From its start to its outcome. */
  readonly ran: Latency | undefined;
}

export interface Bar extends Outcomes {
  readonly fromMs: number;
}

export interface TypeHistory extends Outcomes {
  readonly type: string;
  readonly schemaVersion: number;
  /** One after the other, the last one not over yet. */
  readonly bars: readonly Bar[];
}

export interface History {
  readonly fromMs: number;
  readonly toMs: number;
  readonly barMs: number;
  /** 1: of all attempts; else of every so-many-th, numbers are estimates. */
  readonly every: number;
  /** By `type@version`. */
  readonly types: ReadonlyMap<string, TypeHistory>;
}

/** Where a history begins: at the edge of a bar. */
export function historyFrom(nowMs: number, span: { readonly ms: number; readonly barMs: number }) {
  const last = Math.floor(nowMs / span.barMs) * span.barMs;
  return last - (Math.ceil(span.ms / span.barMs) - 1) * span.barMs;
}

export function history(
  nowMs: number,
  span: { readonly ms: number; readonly barMs: number },
  found: { readonly rows: readonly AttemptSight[]; readonly every: number },
): History {
  const fromMs = historyFrom(nowMs, span);
  const count = Math.ceil(span.ms / span.barMs);
  const gathered = new Map<string, { sight: AttemptSight; all: Gathered; bars: Gathered[] }>();
  for (const sight of found.rows) {
    const name = typeKey(sight.type, sight.schemaVersion);
    const bars = () => Array.from({ length: count }, () => new Gathered());
    const of = gathered.get(name) ?? { sight, all: new Gathered(), bars: bars() };
    gathered.set(name, of);
    const at = (ms: number | undefined) =>
      ms === undefined ? undefined : of.bars[Math.floor((ms - fromMs) / span.barMs)];
    const [started, ended] = [at(sight.countedAtMs), at(sight.endedAtMs)];
    if (started) for (const into of [of.all, started]) into.start(sight);
    if (ended) for (const into of [of.all, ended]) into.end(sight);
  }
  const types = [...gathered].map(([name, { sight, all, bars }]): [string, TypeHistory] => [
    name,
    {
      type: sight.type,
      schemaVersion: sight.schemaVersion,
      ...all.outcomes(found.every),
      bars: bars.map((bar, i) => ({
        fromMs: fromMs + i * span.barMs,
        ...bar.outcomes(found.every),
      })),
    },
  ]);
  return { fromMs, toMs: nowMs, barMs: span.barMs, every: found.every, types: new Map(types) };
}

/** Share of attempts that failed, of those that had an outcome; `undefined`: none had. */
export function failureShare({ succeeded, failed }: Outcomes): number | undefined {
  return succeeded + failed === 0 ? undefined : failed / (succeeded + failed);
}

class Gathered {
  #succeeded = 0;
  #failed = 0;
  #other = 0;
  readonly #waits: number[] = [];
  readonly #runs: number[] = [];

  start({ availableAtMs, countedAtMs }: AttemptSight): void {
    if (availableAtMs !== undefined && countedAtMs !== undefined)
      this.#waits.push(Math.max(0, countedAtMs - availableAtMs));
  }

  end({ state, countedAtMs, endedAtMs }: AttemptSight): void {
    if (state === 'succeeded') this.#succeeded++;
    else if (state === 'failed' || state === 'unknown' || state === 'lost') this.#failed++;
    else this.#other++;
    // When a lost one really ended nobody knows; a cancelled one was cut short.
    const told = state === 'succeeded' || state === 'failed' || state === 'unknown';
    if (told && countedAtMs !== undefined && endedAtMs !== undefined)
      this.#runs.push(Math.max(0, endedAtMs - countedAtMs));
  }

  outcomes(every: number): Outcomes {
    return {
      succeeded: this.#succeeded * every,
      failed: this.#failed * every,
      other: this.#other * every,
      waited: latency(this.#waits),
      ran: latency(this.#runs),
    };
  }
}

function latency(values: number[]): Latency | undefined {
  if (values.length === 0) return undefined;
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] as number;
  return { p50: at(0.5), p95: at(0.95), measured: sorted.length };
}
