import { availableParallelism } from 'node:os';
import { expect, it } from 'vitest';
import { HostStarts } from '../../src/carriers/host-starts.ts';
import { type HostWear, wornOut } from '../../src/carriers/host-wear.ts';
import { NewProcesses } from '../../src/carriers/new-processes.ts';
import { residentBytes } from '../../src/carriers/resident.ts';
import { hostDefaults } from '../../src/core/defaults.ts';
import { systemClock } from '../../src/system/clock.ts';
import { memoryLog } from './memory-log.ts';

const MIB = 1_048_576;
const limits = { callsPerHost: 100, maxAgeMs: 5_000, growthBytes: 200 * MIB, growthFromMs: 1_000 };
const fresh: HostWear = { calls: 1, ageMs: 0, firstBytes: 50 * MIB, nowBytes: 50 * MIB };

it.each<[string, Partial<HostWear>, string | undefined]>([
  ['a fresh one', {}, undefined],
  ['one before its last call', { calls: 99 }, undefined],
  ['one of its number of calls', { calls: 100 }, 'it has had its number of calls'],
  ['one of its age', { ageMs: 5_000 }, 'it has reached its age'],
  [
    'one that takes much from the first call on',
    { firstBytes: 900 * MIB, nowBytes: 1_000 * MIB, ageMs: 4_000 },
    undefined,
  ],
  ['one that has just begun to grow', { nowBytes: 900 * MIB, ageMs: 999 }, undefined],
  [
    'one that grew',
    { nowBytes: 250 * MIB, ageMs: 1_000 },
    'its memory has grown by 200 MiB, to 250',
  ],
  ['one whose memory nobody tells', { nowBytes: undefined, ageMs: 4_000 }, undefined],
])('replaces what has served long enough: %s', (_name, host, why) => {
  expect(wornOut({ ...fresh, ...host }, limits)).toBe(why);
});

it.skipIf(process.platform !== 'linux')('reads how much memory a process has', () => {
  expect(residentBytes(process.pid)).toBeGreaterThan(20 * MIB);
  expect(residentBytes(undefined)).toBeUndefined();
});

it('starts as many hosts at once as there are cores, and the next when one is ready or takes long', async () => {
  let at = 0;
  let room = 0;
  const fires: (() => void)[] = [];
  const clock = {
    ...systemClock(),
    now: () => at,
    timer: (_ms: number, fire: () => void) => {
      fires.push(fire);
      return { cancel: () => {} };
    },
  };
  const starts = new HostStarts({
    spawn: {
      command: { execPath: '/nowhere/node', args: [] },
      role: 'host',
      env: {},
      marker: 'test-starts',
    },
    clock,
    log: memoryLog(),
    newProcesses: new NewProcesses(clock),
    idleMs: 1_000,
    room: () => room++,
  });
  const atOnce = Math.max(hostDefaults.startsAtOnce, availableParallelism());
  const taken = Array.from({ length: atOnce }, () => {
    expect(starts.busy).toBe(false);
    return starts.take();
  });
  expect([starts.busy, room]).toEqual([true, 0]);
  starts.over(taken[0]?.process as never);
  starts.over(taken[0]?.process as never);
  expect([starts.busy, room]).toEqual([false, 1]);
  taken.push(starts.take());
  expect(starts.busy).toBe(true);
  at = hostDefaults.startGapMs;
  for (const fire of fires.splice(0)) fire();
  expect([starts.busy, room]).toEqual([false, 1 + atOnce]);
  expect(new Set(taken.map(({ process }) => process.id)).size).toBe(atOnce + 1);
  await Promise.all(taken.map(({ process }) => process.gone));
  await starts.close();
});
