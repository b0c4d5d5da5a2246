import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { KeyKind } from '../../contract/index.ts';
import type { Io } from '../command.ts';
import { local } from '../commands/keys-new.ts';
import { readProfile } from '../profile.ts';

export const DEV_PROJECT = 'default';
const DEV_KINDS = ['admin', 'task-producer', 'task-worker', 'task-operator'] as const;
export type DevKeys = Readonly<Record<(typeof DEV_KINDS)[number], string>>;

/** The keys of the profile where they still belong to these data, else fresh ones. */
export async function devKeys(profileFile: string, data: string, io: Io): Promise<DevKeys> {
  const kept = readProfile(profileFile)?.keys;
  // A database that somebody has removed knows none of them.
  const there = existsSync(join(data, 'control-plane.db'));
  const whole = kept && DEV_KINDS.every((kind) => kept[kind] !== undefined);
  return there && whole ? (kept as DevKeys) : makeDevKeys(data, io);
}

export async function makeDevKeys(data: string, io: Io): Promise<DevKeys> {
  const keys: Partial<Record<KeyKind, string>> = {};
  for (const kind of DEV_KINDS) {
    const { key } = await local(data, { name: `dev ${kind}`, kind, project: DEV_PROJECT }, io);
    keys[kind] = key;
  }
  return keys as DevKeys;
}
