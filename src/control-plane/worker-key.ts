import { keyState } from '../core/key-rules.ts';
import { KEY_ENDED } from '../core/worker-words.ts';
import type { KeyRow, Reads, WorkerRow } from '../ports/store.ts';
import { instantText } from './task-view.ts';

/** In words, by worker id: whose key has ended. For people only: never an input of a decision. */
export type EndedKeys = ReadonlyMap<string, string>;

/**
 * Workers that were last heard with a key that is revoked or has expired: nothing that they say is taken any more, so
 * only the control plane can tell it. One that said goodbye before wants none; one that is silent for long
 * is forgotten as a whole.
 */
export async function endedKeys(
  reads: Pick<Reads, 'keyById'>,
  nowMs: number,
  workers: readonly WorkerRow[],
): Promise<EndedKeys> {
  const words = new Map<string, string>();
  const rows = new Map<string, KeyRow | undefined>();
  for (const { workerId, keyId, present } of workers) {
    if (present?.state === 'offline') continue;
    // A fleet shares few keys.
    if (!rows.has(keyId)) rows.set(keyId, await reads.keyById(keyId));
    const row = rows.get(keyId);
    const state = row && keyState(nowMs, row);
    if (row === undefined || state === 'usable') continue;
    const ended =
      state === 'revoked'
        ? `was revoked at ${instantText(row.revokedAtMs)}`
        : `has expired at ${instantText(row.expiresAtMs)}`;
    words.set(
      workerId,
      `${KEY_ENDED} "${row.name}", which ${ended}: give it a new one, in its key file or, where it has none, in INTERLOCK_WORKER_KEY and with a new start`,
    );
  }
  return words;
}
