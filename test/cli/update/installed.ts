import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { filePrograms } from '../../../src/cli/programs.ts';
import { VERSION } from '../../../src/contract/version.ts';
import { interlock } from '../run.ts';
import { temporaryFolder } from '../world.ts';
import { type Keys, makeRelease, newKeys, putExecutable, versionOf } from './releases.ts';

export interface World {
  readonly cwd: string;
  readonly exe: string;
  readonly keys: Keys;
  run(argv: readonly string[], env?: Record<string, string>): ReturnType<typeof interlock>;
  release(
    version: string,
    executables?: Record<string, string>,
    keys?: Keys | null,
  ): Promise<string>;
}

/** An installed executable of this version, and a key that is trusted. */
export function installed(): World {
  const cwd = temporaryFolder();
  const folder = join(cwd, 'install here');
  mkdirSync(folder);
  const exe = join(folder, 'interlock-worker');
  putExecutable(exe, VERSION);
  const keys = newKeys();
  writeFileSync(join(cwd, 'pub.pem'), keys.publicPem);
  const programs = { ...filePrograms(join(cwd, 'dist')), standalone: true, command: exe };
  return {
    cwd,
    exe,
    keys,
    run: (argv, env = {}) =>
      interlock(['worker', 'update', ...argv], {
        cwd,
        programs,
        env: { PATH: '/usr/bin:/bin', INTERLOCK_TRUST: 'pub.pem', HOME: cwd, ...env },
      }),
    release: (version, executables, by = keys) =>
      makeRelease({
        folder: join(cwd, 'release'),
        version,
        ...(executables && { executables }),
        keys: by ?? undefined,
      }),
  };
}

/** Nothing has happened: the old one runs, and nothing lies about. */
export async function untouched({ exe, cwd }: World): Promise<void> {
  expect(await versionOf(exe)).toBe(VERSION);
  expect(readdirSync(join(cwd, 'install here'))).toEqual(['interlock-worker']);
}
