import type { Want } from '../contract/index.ts';
import type { AttemptState } from './attempt.ts';
import { isOver } from './attempt.ts';

/**
 * Slots: at most `max` handlers run. A slot is *held* until the handler has gone and its report is on disk;
 * it may be *claimed for* as soon as the handler has gone, so that the next work is on its way meanwhile.
 */
export interface SlotCount {
  /** Attempts that hold a slot. */
  readonly held: number;
  /** Attempts that wait for a slot. */
  readonly waiting: number;
  /** How many attempts may be claimed now. */
  readonly claimable: number;
}

export function countSlots(max: number, attempts: Iterable<AttemptState>): SlotCount {
  let held = 0;
  let waiting = 0;
  let working = 0;
  for (const attempt of attempts) {
    if (isOver(attempt)) continue;
    if (attempt.slot) held++;
    if (attempt.slot && attempt.phase !== 'ending') working++;
    if (attempt.phase === 'claimed' && !attempt.slot) waiting++;
  }
  return { held, waiting, claimable: Math.max(0, max - working - waiting) };
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
