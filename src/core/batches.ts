/** How many items become batch calls that the other side takes. Pure. */

export interface BatchLimits {
  /** Items in one call. */
  readonly batch: number;
  /** Bytes of its whole body. */
  readonly batchBytes: number;
}

/** `{"reports":[…]}` and the like around the items. */
const ENVELOPE_BYTES = 64;

/**
 * Groups in order, each within the limits; an item that is beyond them alone stands alone.
 * @param bytesOf of the item as JSON, in UTF-8; it stands at that place.
 */
export function batches<T>(
  items: readonly T[],
  bytesOf: (item: T, at: number) => number,
  limits: BatchLimits,
): T[][] {
  const groups: T[][] = [];
  let bytes = 0;
  for (const [at, item] of items.entries()) {
    const size = bytesOf(item, at) + 1;
    const group = groups.at(-1);
    const fits = bytes + size <= limits.batchBytes && (group?.length ?? 0) < limits.batch;
    if (group && fits) {
      group.push(item);
      bytes += size;
    } else {
      groups.push([item]);
      bytes = ENVELOPE_BYTES + size;
    }
  }
  return groups;
}

export type AfterRefusal<T> =
  | { readonly send: 'halves'; readonly halves: readonly [T[], T[]] }
  /** As a single call; its answer decides. */
  | { readonly send: 'single'; readonly item: T }
  | { readonly send: 'nothing' };

/**
 * A batch that was refused whole (no JSON, too many, too many bytes) says nothing about its items: it goes
 * again in halves, and what was a batch of one goes as a single call.
 */
export function afterRefusedBatch<T>(items: readonly T[]): AfterRefusal<T> {
  const [first] = items;
  if (first === undefined) return { send: 'nothing' };
  if (items.length === 1) return { send: 'single', item: first };
  const middle = Math.ceil(items.length / 2);
  return { send: 'halves', halves: [items.slice(0, middle), items.slice(middle)] };
}
