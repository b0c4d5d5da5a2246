import { keyState } from '../core/key-rules.ts';
import type { KeyRow } from '../ports/store.ts';
import { instantText } from './task-view.ts';

/** A key for people: nothing that helps to guess it. `undefined` members do not appear in JSON. */
export function keyView(nowMs: number, row: KeyRow, lastUsedAtMs = row.lastUsedAtMs) {
  return {
    id: row.id,
    name: row.name,
    kind: row.kind,
    project: row.project,
    createdAt: instantText(row.createdAtMs),
    state: keyState(nowMs, row),
    expiresAt: instantText(row.expiresAtMs),
    revokedAt: instantText(row.revokedAtMs),
    lastUsedAt: instantText(lastUsedAtMs),
    limits: row.limits,
  };
}
