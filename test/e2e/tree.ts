/** A real tree of files: installed dependencies, topped up, with names that are hard to write down. */
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  linkSync,
  mkdirSync,
  readdirSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { ROOT, until } from './processes.ts';
import type { World } from './world.ts';

const AWKWARD = ['a b', "it's", 'ü', '-n', '*', 'line\nbreak', 'back\\slash', '日本', '%s'];

/** Fills `folder` with at least `count` files. Returns how many there are. */
export function makeTree(folder: string, count: number): number {
  const modules = join(ROOT, 'node_modules');
  let made = 0;
  for (const entry of readdirSync(modules, { recursive: true, withFileTypes: true })) {
    const from = join(entry.parentPath, entry.name);
    const path = relative(modules, from);
    // Caches of tools change while this runs.
    if (!entry.isFile() || path.startsWith('.')) continue;
    const to = join(folder, 'node_modules', path);
    mkdirSync(dirname(to), { recursive: true });
    try {
      // It is only read; the second name is gone with the folder.
      linkSync(from, to);
    } catch {
      copyFileSync(from, to);
    }
    made++;
  }
  // The last of a walk, and many of them long: half way is far from the end, also for a slow observer.
  for (let n = 0; made < count || n < 1_000; n++, made++) {
    const below = join(folder, 'topped up', `${n % 40}`);
    if (n < 40) mkdirSync(below, { recursive: true });
    const file = join(below, `${AWKWARD[n % AWKWARD.length]}.${n}`);
    writeFileSync(file, `${n}\n`.repeat(n % 3_000));
    if (n % 2 === 0) truncateSync(file, LONG_BYTES);
  }
  return made;
}

/** A file that takes no room and long to read: whoever reads it has not ended by itself when he is stopped. */
export function makeEndless(file: string): void {
  writeFileSync(file, '');
  truncateSync(file, ENDLESS_BYTES);
}

const LONG_BYTES = 524_288;
const ENDLESS_BYTES = 64 * 1_024 ** 3;

/** The digest of `file/digest@1`, by other programs. */
export function digestByOthers(folder: string): string {
  const pipeline =
    "find . -type f -printf '%P\\0' | LC_ALL=C sort -z | xargs -0r sha256sum -- | sha256sum";
  const out = execFileSync('sh', ['-c', pipeline], { cwd: folder, encoding: 'utf8' });
  return out.slice(0, 64);
}

/** Resolves when the control plane knows that the task has come so far. */
export async function progressed(world: World, taskId: string, percent: number): Promise<number> {
  return until(
    async () => {
      const { body } = await world.call('GET', `/tasks/${taskId}`);
      if (body.status !== 'queued' && body.status !== 'running') {
        throw new Error(`The task is ${body.status} before it was seen at ${percent} %`);
      }
      return (body.progress?.percent ?? 0) >= percent && body.progress.percent;
    },
    `progress of ${percent} %`,
    120_000,
  );
}
