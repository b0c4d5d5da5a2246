import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { TaskProducer } from '../../src/index.ts';
import { PROGRAMS } from '../binary/executable.ts';
import { Processes } from '../e2e/processes.ts';
import { type Plane, startPlane } from './plane.ts';
import { temporaryFolder } from './world.ts';

// Real processes on a machine that others keep busy.
vi.setConfig({ testTimeout: 60_000 });

/** Pipes as a shell makes them: readers that leave early, come late, or were never there. */
const INTERLOCK = `'${join(PROGRAMS, 'interlock')}'`;
/** More than any pipe holds, many times over. */
const TASKS = 3_000;

let processes: Processes;
let plane: Plane;
beforeEach(async () => {
  processes = new Processes(temporaryFolder());
  plane = await startPlane();
});
afterEach(() => processes.end());

async function fill(count: number): Promise<void> {
  const producer = new TaskProducer({ serviceUrl: plane.url, key: plane.key('task-producer') });
  const labels = { note: 'x'.repeat(200) };
  await producer.submitMany(
    Array.from({ length: count }, (_, i) => ({
      type: 'demo/hello',
      schemaVersion: 1,
      input: i,
      labels,
    })),
  );
  await producer.close();
}

/** Runs a line of shell; what is before the first pipe leaves its exit code behind. */
async function shell(line: string) {
  const sh = processes.start('sh', ['-c', line], {
    env: plane.env('task-producer'),
    cwd: temporaryFolder(),
    group: true,
  });
  const { code } = await sh.ending();
  return { code, out: sh.out, err: sh.err };
}

it('F57 ends quietly with 0 when the reader leaves after a line', async () => {
  await fill(TASKS);
  for (const how of ['list --all', 'list --all --json']) {
    const { out, err } = await shell(
      `{ ${INTERLOCK} tasks ${how}; echo "exit $?" >&2; } | head -1`,
    );
    expect(out.split('\n')).toHaveLength(2);
    expect(err).toBe('exit 0\n');
  }
});

it('F57 is whole where the reader comes late', async () => {
  await fill(TASKS);
  const { out } = await shell(`${INTERLOCK} tasks list --all --json | { sleep 1; cat; }`);
  const { tasks } = JSON.parse(out);
  expect(tasks).toHaveLength(TASKS);
  expect(new Set(tasks.map(({ id }: { id: string }) => id)).size).toBe(TASKS);
  const lines = await shell(`${INTERLOCK} tasks list --all | { sleep 1; wc -l; }`);
  expect(Number(lines.out)).toBe(TASKS + 1);
});

it('lists 50 and says that there are more, on stderr, unless it is asked for all or a number', async () => {
  await fill(60);
  const few = await shell(`${INTERLOCK} tasks list`);
  expect(few.out.trimEnd().split('\n')).toHaveLength(51);
  expect(few.err).toMatch(/^50 shown, there are more: --all, --limit, or --cursor /);
  const some = await shell(`${INTERLOCK} tasks list --limit 55`);
  expect(some.out.trimEnd().split('\n')).toHaveLength(56);
  const cursor = /--cursor (\S+)/.exec(some.err)?.[1];
  const rest = await shell(`${INTERLOCK} tasks list --cursor ${cursor}`);
  expect(rest.out.trimEnd().split('\n')).toHaveLength(6);
  expect(rest.err).toBe('');
});

it('F57 watches a task no longer than its reader', async () => {
  const { out } = await shell(`${INTERLOCK} tasks submit nobody/serves --json`);
  const { id } = JSON.parse(out);
  const sh = processes.start(
    'sh',
    ['-c', `{ ${INTERLOCK} tasks watch ${id}; echo "exit $?" >&2; } | head -1`],
    { env: plane.env('task-producer'), cwd: temporaryFolder(), group: true },
  );
  await sh.says(/submitted/);
  // The next thing to tell meets a closed pipe.
  expect((await shell(`${INTERLOCK} tasks cancel ${id}`)).code).toBe(0);
  await sh.ending();
  expect(sh.out.trimEnd().split('\n')).toHaveLength(1);
  expect(sh.err).toMatch(/exit 0\n$/);
  expect(sh.err).not.toMatch(/EPIPE|^\s+at /m);
});

it('F57 does its work where stdout or stderr was closed before', async () => {
  for (const closed of ['>&-', '2>&-', '>&- 2>&-']) {
    const { code } = await shell(`${INTERLOCK} tasks submit demo/hello ${closed}`);
    expect(code, closed).toBe(0);
  }
  const { out } = await shell(`${INTERLOCK} tasks list --json`);
  expect(JSON.parse(out).tasks).toHaveLength(3);
  // An error has its exit code even where nobody can read why.
  expect((await shell(`${INTERLOCK} tasks show tsk_1 >&- 2>&-`)).code).toBe(66);
});

// Linux has a device for it.
it.skipIf(!existsSync('/dev/full'))(
  'tells a full disk behind stdout by its exit code',
  async () => {
    await fill(1);
    const { code, err } = await shell(`${INTERLOCK} tasks list >/dev/full`);
    expect({ code, err }).toEqual({ code: 74, err: expect.stringContaining('ENOSPC') });
  },
);
