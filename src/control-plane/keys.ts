import { KEY_PREFIX, type KeyKind, keyKinds, makeId, TaskError } from '../contract/index.ts';
import type { Random } from '../ports/random.ts';
import type { KeyRow, Store } from '../ports/store.ts';
import { sha256 } from './lease-token.ts';

/** A key as it is shown, once. */
export interface MadeKey {
  readonly row: KeyRow;
  readonly key: string;
}

/**
 * Makes a key of 256 random bits; only its hash is kept.
 *
 * @param show called with the key before it is kept: where it rejects, so does this, and nothing was kept.
 */
export async function makeKey(
  { store, random }: { readonly store: Store; readonly random: Random },
  request: { readonly kind: KeyKind; readonly project: string; readonly name: string },
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
  const key = KEY_PREFIX + base62(random.bytes(32));
  await show?.(key);
  const chance = random.bytes(10);
  return store.write(async (tx) => {
    const row: KeyRow = {
      id: makeId('key', tx.nowMs, chance),
      project: request.project,
      name: request.name,
      kind: request.kind,
      hash: sha256(key),
      createdAtMs: tx.nowMs,
    };
    await tx.insertKey(row);
    return { row, key };
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
