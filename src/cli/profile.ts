import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type KeyKind, keyKinds, TaskError } from '../contract/index.ts';
import { privacy, readJsonObject, writePrivate } from './private-json.ts';

/**
 * `.interlock/profile.json`: address, project and keys of one control plane, made by `interlock dev` or by hand.
 * It is looked for in the current folder and upwards, belongs to one user (0600 in a 0700 folder), and its keys
 * are sent to its own address only.
 */
export interface Profile {
  readonly file: string;
  readonly url?: string | undefined;
  readonly project?: string | undefined;
  readonly keys: Readonly<Partial<Record<KeyKind, string>>>;
}

export const PROFILE = join('.interlock', 'profile.json');

export interface ProfileSearch {
  readonly profile: Profile | undefined;
  /** Found on the way but not used, with why. */
  readonly ignored: readonly string[];
}

/** @param given `--profile` or `INTERLOCK_PROFILE`: only this file, and it must be there. */
export function findProfile(cwd: string, given: string | undefined): ProfileSearch {
  if (given !== undefined) {
    const file = resolve(cwd, given);
    const profile = readProfile(file);
    if (profile) return { profile, ignored: [] };
    throw new TaskError('CONFIG_INVALID', `The profile ${file} does not exist.`, {
      hint: 'Give another one with --profile or INTERLOCK_PROFILE, or leave both away.',
    });
  }
  const ignored: string[] = [];
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    const file = join(folder, PROFILE);
    if (existsSync(file)) {
      if (privacy(file) !== 'foreign') return { profile: readProfile(file), ignored };
      ignored.push(`${file} belongs to another user; give it with --profile to use it`);
    }
    if (folder === dirname(folder)) return { profile: undefined, ignored };
  }
}

/** `undefined` where there is none. Throws `CONFIG_INVALID`. */
export function readProfile(file: string): Profile | undefined {
  const values = readJsonObject(file, 'The profile');
  if (values === undefined) return undefined;
  if (privacy(file) === 'shared') {
    throw new TaskError(
      'CONFIG_INVALID',
      `The profile ${file} holds keys and others may read it.`,
      {
        hint: `Close it: chmod 600 ${file}`,
      },
    );
  }
  const keys: Partial<Record<KeyKind, string>> = {};
  const given = values.keys;
  if (typeof given === 'object' && given !== null && !Array.isArray(given)) {
    for (const kind of keyKinds) {
      const key = (given as Record<string, unknown>)[kind];
      if (typeof key === 'string' && key !== '') keys[kind] = key;
    }
  }
  return { file, url: textOf(values.url), project: textOf(values.project), keys };
}

export async function writeProfile(profile: Profile): Promise<void> {
  const { file, ...values } = profile;
  await writePrivate(file, `${JSON.stringify(values, null, 2)}\n`);
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
