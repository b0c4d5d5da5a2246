/**
 * The programs under test: those of `bin/`, or with INTERLOCK_TEST_EXECUTABLE the standalone executable at that path, under
 * the names that people give it.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readlinkSync, renameSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');

/** `undefined` where programs of a checkout are under test. */
export const EXECUTABLE =
  process.env.INTERLOCK_TEST_EXECUTABLE && resolve(process.env.INTERLOCK_TEST_EXECUTABLE);

/** What `npm run binary` makes for this machine. */
export const BUILT = join(
  ROOT,
  'build/binary',
  `interlock-worker-${process.platform}-${process.arch}`,
);

/** Folder in which `interlock` and `interlock-worker` are found. */
export const PROGRAMS = EXECUTABLE === undefined ? join(ROOT, 'bin') : named(EXECUTABLE);

/** The executable, for tests of nothing else. Throws with the next step where there is none. */
export function theExecutable(): string {
  const file = EXECUTABLE ?? BUILT;
  if (!existsSync(file)) throw new Error(`${file} is not there: run "npm run binary" before.`);
  return file;
}

/** Links to it, made once; several test processes may come at the same time. */
function named(executable: string): string {
  if (!existsSync(executable)) throw new Error(`INTERLOCK_TEST_EXECUTABLE: no file ${executable}`);
  const hash = createHash('sha256').update(executable).digest('hex').slice(0, 8);
  const folder = join(ROOT, 'build', `names-${hash}`);
  mkdirSync(folder, { recursive: true });
  for (const name of ['interlock', 'interlock-worker']) {
    const link = join(folder, name);
    try {
      if (readlinkSync(link) === executable) continue;
    } catch {}
    symlinkSync(executable, `${link}.${process.pid}`);
    renameSync(`${link}.${process.pid}`, link);
  }
  return folder;
}
