import type { Want } from '../contract/index.ts';
import type { AttemptState } from './attempt.ts';
import { isOver } from './attempt.ts';
import { workerDefaults } from './defaults.ts';

/**
 * Slots: at most `max` handlers run. A slot is *held* until the handler has gone and its report is on disk; it may be
 * *claimed for* as soon as the handler has gone, so that the next work is on its way meanwhile, and *given away* then too
 * while few and small reports are being written.
 */
export interface SlotCount {
  /** Attempts that hold a slot. */
  readonly held: number;
  /** Attempts that wait for a slot. */
  readonly waiting: number;
  /** How many attempts may be claimed now. */
  readonly claimable: number;
}

/** What an attempt is to the slots. `ending`: its handler has gone, its report is being written. */
export type SlotUse = 'waiting' | 'working' | 'ending';
export type SlotTally = Readonly<Record<SlotUse, number>>;

export function slotUse(attempt: AttemptState): SlotUse | undefined {
  if (isOver(attempt)) return undefined;
  if (attempt.slot) return attempt.phase === 'ending' ? 'ending' : 'working';
  return attempt.phase === 'claimed' ? 'waiting' : undefined;
}

export function slotCount(max: number, tally: SlotTally): SlotCount {
  const { waiting, working, ending } = tally;
  return { held: working + ending, waiting, claimable: claimable(max, tally) };
}

export function claimable(max: number, { waiting, working }: SlotTally): number {
  return Math.max(0, max - working - waiting);
}

/**
 * How many of those that wait may begin. Reports on their way to the disk do not keep slots from the next handlers while
 * they are few and small, so that handlers need not wait for fsyncs; more than that, or a disk that refuses, holds them: that bounds memory.
 * @param endingBytes of the results whose reports are being written
 */
export function startable(
  max: number,
  { working, ending }: SlotTally,
  endingBytes: number,
  diskRefuses: boolean,
): number {
  const { endingMost, endingBytesMost } = workerDefaults;
  const spare = diskRefuses || endingBytes > endingBytesMost ? 0 : endingMost;
  return max - working - Math.max(0, ending - spare);
}

/** What a claim asks for: each served type with the number of free slots. */
export function wanted(claimable: number, handlers: readonly Omit<Want, 'slots'>[]): Want[] {
  return handlers.map((handler) => ({
    type: handler.type,
    schemaVersion: handler.schemaVersion,
    slots: claimable,
    effectSafety: handler.effectSafety,
    effectGate: handler.effectGate,
  }));
}
