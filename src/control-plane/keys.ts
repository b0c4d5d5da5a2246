import {
  KEY_PREFIX,
  type KeyKind,
  type KeyLimits,
  keyKinds,
  makeId,
  TaskError,
} from '../contract/index.ts';
import { keyDefaults } from '../core/defaults.ts';
import { keyNameProblem, keyState } from '../core/key-rules.ts';
import type { Random } from '../ports/random.ts';
import type { KeyRow, Store } from '../ports/store.ts';
import { sha256 } from './lease-token.ts';

/** Keys made and revoked, for the calls and for who stands at the control plane's machine. */

/** A key as it is shown, once. */
export interface MadeKey {
  readonly row: KeyRow;
  readonly key: string;
}

export interface KeyWish {
  readonly kind: KeyKind;
  readonly project: string;
  readonly name: string;
  /** An instant, or a time from now; neither: it does not expire. */
  readonly expiresAtMs?: number | undefined;
  readonly expiresInMs?: number | undefined;
  readonly limits?: KeyLimits | undefined;
}

/**
 * Makes a key of 256 random bits; only its hash is kept.
 *
 * @param show called with the key before it is kept: where it rejects, so does this, and nothing was kept.
 */
export async function makeKey(
  { store, random }: { readonly store: Store; readonly random: Random },
  request: KeyWish,
  show?: (key: string) => Promise<void> | undefined,
): Promise<MadeKey> {
  if (!keyKinds.includes(request.kind)) {
    throw new TaskError('USAGE', `There is no kind of key "${request.kind}".`, {
      hint: `Use one of ${keyKinds.join(', ')}.`,
    });
  }
  if (!PROJECT.test(request.project)) {
    throw new TaskError('USAGE', `"${request.project.slice(0, 100)}" is no name for a project.`, {
      hint: 'Use up to 200 letters, digits, ".", "_" and "-", beginning with a letter or digit.',
    });
  }
  const unfit = keyNameProblem(request.name);
  if (unfit !== undefined) {
    throw new TaskError('USAGE', `The name of a key ${unfit}.`, {
      hint: 'Name what the key is for, as in "garage worker".',
    });
  }
  const key = KEY_PREFIX + base62(random.bytes(32));
  await show?.(key);
  const chance = random.bytes(10);
  const { expiresAtMs, expiresInMs } = request;
  return store.write(async (tx) => {
    const row: KeyRow = {
      id: makeId('key', tx.nowMs, chance),
      project: request.project,
      name: request.name,
      kind: request.kind,
      hash: sha256(key),
      createdAtMs: tx.nowMs,
      expiresAtMs: expiresInMs === undefined ? expiresAtMs : tx.nowMs + expiresInMs,
      limits: request.limits,
    };
    await tx.insertKey(row);
    return { row, key };
  });
}

export type Revoked =
  | { readonly row: KeyRow; readonly nowMs: number; readonly before: boolean }
  | { readonly why: 'unknown' | 'last-admin' };

/**
 * Revokes a key. Once more changes nothing (`before`). @param of `project`: a key of another one is not there.
 * `lastAdmin`: whether the last admin key of a project may go, after which nobody can make keys by a call; those that end
 * within `keyDefaults.lastAdminMs` do not count.
 */
export function revokeKey(
  store: Store,
  id: string,
  of: { readonly project?: string | undefined; readonly lastAdmin: boolean },
): Promise<Revoked> {
  return store.write(async (tx) => {
    const { nowMs } = tx;
    const row = await tx.keyById(id);
    if (!row || (of.project !== undefined && row.project !== of.project)) return { why: 'unknown' };
    if (row.revokedAtMs !== undefined) return { row, nowMs, before: true };
    if (!of.lastAdmin && row.kind === 'admin' && keyState(nowMs, row) === 'usable') {
      // Looked at in the transaction: two admins who revoke each other at the same moment leave one.
      const laterMs = nowMs + keyDefaults.lastAdminMs;
      const itself = keyState(laterMs, row) === 'usable' ? 1 : 0;
      const left = await tx.countUsableKeys(row.project, 'admin', laterMs);
      if (left - itself <= 0) return { why: 'last-admin' };
    }
    await tx.revokeKey(id);
    tx.announce({ kind: 'key', project: row.project, keyId: id });
    return { row: { ...row, revokedAtMs: nowMs }, nowMs, before: false };
  });
}

const PROJECT = /^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/;

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Letters and digits only, so that a double click takes the whole key. */
function base62(bytes: Uint8Array): string {
  let value = BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
  let text = '';
  // 43 digits hold 256 bits.
  for (let i = 0; i < 43; i++) {
    text = DIGITS[Number(value % 62n)] + text;
    value /= 62n;
  }
  return text;
}
