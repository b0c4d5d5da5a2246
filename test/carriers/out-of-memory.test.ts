import { expect, it } from 'vitest';
import { KernelKills, kernelCounter, saysOutOfMemory } from '../../src/carriers/out-of-memory.ts';
import { hostDefaults } from '../../src/core/defaults.ts';
import type { Clock } from '../../src/ports/clock.ts';

it('believes a report of V8 only with the signal of an abort', () => {
  const report = 'FATAL ERROR: Reached heap limit - JavaScript heap out of memory';
  expect(saysOutOfMemory(report, undefined, 'SIGABRT')).toBe(true);
  expect(saysOutOfMemory(report, 134)).toBe(true);
  expect(saysOutOfMemory("terminate called after 'std::bad_alloc'", undefined, 'SIGABRT')).toBe(
    true,
  );
  expect(saysOutOfMemory(report, 1)).toBe(false);
  expect(saysOutOfMemory(report, undefined, 'SIGKILL')).toBe(false);
  expect(saysOutOfMemory('', undefined, 'SIGABRT')).toBe(false);
});

it.each([
  [
    'version 2',
    '0::/system.slice/worker.service\n',
    '/sys/fs/cgroup/system.slice/worker.service/memory.events',
    'low 0\nhigh 0\nmax 3\noom 2\noom_kill 2\noom_group_kill 0\n',
    2,
  ],
  [
    'version 2, a container that sees the path of the host',
    '0::/docker/abc\n',
    '/sys/fs/cgroup/memory.events',
    'oom 1\noom_kill 1\n',
    1,
  ],
  [
    'version 1',
    '5:cpu,cpuacct:/\n4:memory:/docker/abc\n',
    '/sys/fs/cgroup/memory/docker/abc/memory.oom_control',
    'oom_kill_disable 0\nunder_oom 0\noom_kill 7\n',
    7,
  ],
  ['none', '0::/\n', '/proc/vmstat', 'nr_free_pages 1\noom_kill 4\n', 4],
])('reads the kernel’s counter: %s', (_name, cgroups, file, text, count) => {
  const read = (path: string) =>
    path === '/proc/self/cgroup' ? cgroups : path === file ? text : undefined;
  expect(kernelCounter(read)()).toBe(count);
});

it('has no counter where there is none', () => {
  expect(kernelCounter(() => undefined)()).toBeUndefined();
});

it('takes a rise for evidence only when it has just happened', () => {
  let now = 0;
  let count: number | undefined = 3;
  const kills = new KernelKills({ now: () => now } as Clock, () => count);
  expect(kills.justRose()).toBe(false);
  // Somebody else was killed long ago: the next job starts from there.
  count = 4;
  now += hostDefaults.outOfMemoryReadMs;
  kills.refresh();
  now += 60_000;
  expect(kills.justRose()).toBe(false);
  count = 5;
  expect(kills.justRose()).toBe(true);
  // Two hosts died at once; both ask.
  now += 100;
  expect(kills.justRose()).toBe(true);
  now += 5_000;
  expect(kills.justRose()).toBe(false);
  count = undefined;
  expect(kills.justRose()).toBe(false);
});
