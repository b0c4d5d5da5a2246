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
}

/** Enough for one more call, whatever is under way. */
export function manyWait({ waiting, calls, moreSoon }: OnTheWay): boolean {
  const { reportsAheadForOneCall, reportsForOneMoreCall } = workerDefaults;
  return (
    waiting >= Math.max(1, calls) * (moreSoon ? reportsAheadForOneCall : reportsForOneMoreCall)
  );
}

/** When the next call may begin. At once for a lone report; few wait for those that are under way, or are about to come. */
export function nextCallAt(facts: OnTheWay): number {
  if (manyWait(facts)) return Number.NEGATIVE_INFINITY;
  if (facts.calls > 0) return facts.lastCallAt + workerDefaults.reportsGatherMs;
  if (!facts.moreSoon) return Number.NEGATIVE_INFINITY;
  return facts.lastCallAt + workerDefaults.reportsAheadGatherMs;
}
