import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

/** Needs rights over namespaces and memory groups: for machines where they may be had. */
const script = join(import.meta.dirname, 'run-deeds.ts');
const run = async (program: string, args: string[]) => {
  const { stdout } = await promisify(execFile)(program, args);
  return JSON.parse(stdout);
};

it('F10 frees its slots as the first process of a container, where nobody buries orphans', async (context) => {
  const unshare = ['-Urpf', '--mount-proc'];
  try {
    execFileSync('unshare', [...unshare, 'true'], { stdio: 'ignore' });
  } catch {
    return context.skip('unshare may not make a process namespace here');
  }
  const deeds = Array.from({ length: 6 }, (_, i) => (i % 2 ? 'orphan' : 'stubbornChild'));
  const ends = await run('unshare', [...unshare, process.execPath, script, ...deeds]);
  expect(ends).toEqual(deeds.map(() => ({ how: 'returned', result: expect.any(Number) })));
}, 120_000);

it('F43 tells a kill by the kernel for want of memory from a plain SIGKILL', async (context) => {
  const group = memoryGroup(250 * 1_048_576);
  if (group === undefined) return context.skip('no memory group (cgroup) can be made here');
  try {
    const args = ['-c', 'echo $$ > "$0"; exec "$@"', `${group}/cgroup.procs`];
    const ends = await run('sh', [...args, process.execPath, script, 'fillMemory', 'killSelf']);
    expect(ends).toEqual([
      { how: 'died', signal: 'SIGKILL', outOfMemory: true },
      { how: 'died', signal: 'SIGKILL' },
    ]);
  } finally {
    rmdirSync(group);
  }
});

/** A memory group with a limit, of version 2 or 1; `undefined` where none may be made. */
function memoryGroup(bytes: number): string | undefined {
  for (const [root, limit] of [
    ['/sys/fs/cgroup', 'memory.max'],
    ['/sys/fs/cgroup/memory', 'memory.limit_in_bytes'],
  ] as const) {
    const group = join(root, `interlock-test-${process.pid}`);
    try {
      mkdirSync(group);
      if (existsSync(join(group, limit))) {
        writeFileSync(join(group, limit), String(bytes));
        return group;
      }
      rmdirSync(group);
    } catch {
      // The next one.
    }
  }
  return undefined;
}
