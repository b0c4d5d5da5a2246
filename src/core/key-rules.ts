import { type KeyLimits, UNPRINTABLE } from '../contract/keys.ts';
import { typeKey } from '../contract/type-key.ts';
import type { KeyRow } from '../ports/store-rows.ts';

/** What a key is at a time, and what it may be used for. */

export type KeyState = 'usable' | 'expired' | 'revoked';

/** Revoked comes first: somebody has decided it. */
export function keyState(
  nowMs: number,
  { revokedAtMs, expiresAtMs }: Pick<KeyRow, 'revokedAtMs' | 'expiresAtMs'>,
): KeyState {
  if (revokedAtMs !== undefined) return 'revoked';
  return expiresAtMs !== undefined && expiresAtMs <= nowMs ? 'expired' : 'usable';
}

/**
 * Whoever looks at the pages from this machine without a key: an admin of the project they chose. No key has this id, it is
 * never kept, and only the pages hand it out, after they have seen where the request comes from.
 */
export function localKey(project: string): KeyRow {
  return { id: LOCAL_ID, project, name: 'this machine', kind: 'admin', hash: '', createdAtMs: 0 };
}

export function isLocalKey(id: string): boolean {
  return id === LOCAL_ID;
}

const LOCAL_ID = 'local';

/** What a call asks for, each with the path of its field in the request. */
export interface Asked {
  readonly pools?: readonly (readonly [field: string, pool: string])[];
  readonly types?: readonly (readonly [field: string, type: string, version: number])[];
  readonly workerId?: readonly [field: string, workerId: string];
}

export interface Beyond {
  readonly limit: 'pools' | 'types' | 'workerIdPrefix';
  readonly field: string;
  readonly given: string;
  readonly allowed: readonly string[];
}

/** The first thing that lies beyond the limits of a key. */
export function beyondLimits(limits: KeyLimits | undefined, asked: Asked): Beyond | undefined {
  if (limits === undefined) return undefined;
  const { pools, types, workerIdPrefix } = limits;
  if (workerIdPrefix !== undefined && asked.workerId) {
    const [field, given] = asked.workerId;
    if (!given.startsWith(workerIdPrefix))
      return { limit: 'workerIdPrefix', field, given, allowed: [workerIdPrefix] };
  }
  if (pools !== undefined)
    for (const [field, given] of asked.pools ?? [])
      if (!pools.includes(given)) return { limit: 'pools', field, given, allowed: pools };
  if (types !== undefined)
    for (const [field, type, version] of asked.types ?? []) {
      const given = typeKey(type, version);
      if (!types.includes(type) && !types.includes(given))
        return { limit: 'types', field, given, allowed: types };
    }
  return undefined;
}

/** @returns what is wrong with the name of a key. */
export function keyNameProblem(name: string): string | undefined {
  if (UNPRINTABLE_CHARACTER.test(name)) return 'holds control characters';
  if (KEY_LIKE.test(name))
    return 'holds what looks like a key, and names are shown in lists and logs';
  return undefined;
}

const UNPRINTABLE_CHARACTER = new RegExp(`[${UNPRINTABLE}]`);
/** A key has 43 characters; half of one is too much already. */
const KEY_LIKE = /il_[A-Za-z0-9]{20}/;
