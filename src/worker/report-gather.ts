import { workerDefaults } from '../core/defaults.ts';

/** How far the reports are that wait for their answers. */
export interface OnTheWay {
  /** Reports that no call has taken yet. */
  readonly waiting: number;
  readonly calls: number;
  /** When the last call began, by the clock. */
  readonly lastCallAt: number;
  /** Short work waits here for a slot: more reports are a moment away. */
  readonly moreSoon: boolean;
  /** Reports of one call, as the control plane takes them: those of attempts, and the starts that go before them. */
  readonly batch: number;
}

/** Enough for one more call, whatever is under way. */
function manyWait({ waiting, calls, moreSoon, batch }: OnTheWay): boolean {
  const enough = moreSoon ? Math.ceil(batch / 2) : workerDefaults.reportsForOneMoreCall;
  return waiting >= Math.max(1, calls) * enough;
}

/** When the next call may begin. At once for a lone report; few wait for those that are under way, or are about to come. */
export function nextCallAt(facts: OnTheWay): number {
  if (manyWait(facts)) return Number.NEGATIVE_INFINITY;
  if (facts.moreSoon) return facts.lastCallAt + workerDefaults.reportsAheadGatherMs;
  return facts.calls > 0
    ? facts.lastCallAt + workerDefaults.reportsGatherMs
    : Number.NEGATIVE_INFINITY;
}

/**
 * Whether what gathers goes at once, beside a claim: the control plane keeps both in one commit. Claims ahead come as often as
 * calls are full, so nearly all calls go so; a quarter of a call is the least that is worth one more.
 */
export function goesBeside(waiting: number, batch: number): boolean {
  return waiting * 8 >= batch;
}
