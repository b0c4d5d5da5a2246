import type { Note, Spot } from '../ports/store.ts';

/** What is known of a worker that listens: enough to wake it for something that it will take. */
export interface Interest {
  readonly pools: ReadonlySet<string>;
  /** `demo/hello@1`. */
  readonly types: ReadonlySet<string>;
  readonly freeSlots: number;
  readonly draining: boolean;
}

export function wants(interest: Interest, spot: Spot): boolean {
  return (
    !interest.draining &&
    interest.freeSlots > 0 &&
    interest.pools.has(spot.pool) &&
    interest.types.has(`${spot.type}@${spot.schemaVersion}`)
  );
}

/** How many tasks of each kind became available, less those that were given to whoever had waited for them. */
export function availableIn(
  notes: readonly Note[],
): Iterable<{ readonly spot: Spot; readonly tasks: number }> {
  const available = new Map<string, { readonly spot: Spot; tasks: number }>();
  for (const note of notes) {
    if (note.kind !== 'available' && note.kind !== 'given') continue;
    // None of the names can hold a line break.
    const name = `${note.project}\n${note.pool}\n${note.type}\n${note.schemaVersion}`;
    const group = available.get(name) ?? { spot: note, tasks: 0 };
    group.tasks += note.kind === 'available' ? 1 : -1;
    available.set(name, group);
  }
  return available.values();
}

/**
 * Who is woken: at most twice as many ready workers as there are tasks. Where there are more, a different
 * run of them each time, so that work spreads. @param turn counted up by the caller.
 */
export function chooseSleepers<T>(ready: readonly T[], tasks: number, turn: number): readonly T[] {
  const number = Math.min(ready.length, tasks * 2);
  if (number === ready.length) return ready;
  const from = turn % ready.length;
  return [...ready.slice(from), ...ready.slice(0, from)].slice(0, number);
}
