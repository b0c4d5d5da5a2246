import { beforeEach, expect, it } from 'vitest';
import { SimulatedClock } from '../../sim/clock.ts';
import { restsAfter } from '../../src/cli/rest.ts';
import { restDefaults } from '../../src/core/rest-defaults.ts';
import type { Carrier, Job, JobListener, RunningJob } from '../../src/ports/carrier.ts';

const { afterMs, apartMs, jobsMin } = restDefaults;
let clock: SimulatedClock;
let rests: number[];
let carrier: Carrier;

beforeEach(() => {
  clock = new SimulatedClock({ startMs: 0 });
  rests = [];
  const under: Carrier = { start: () => ({}) as RunningJob, close: async () => {} };
  carrier = restsAfter(under, clock, () => rests.push(clock.now()));
});

const work = (jobs: number) => {
  for (let i = 0; i < jobs; i++) carrier.start({} as Job, {} as JobListener);
};

it('rests once after its start, and then not without work', async () => {
  await clock.advance(24 * 3_600_000);
  expect(rests).toEqual([afterMs]);
});

it('waits with that until no task has come for a while', async () => {
  await clock.advance(afterMs - 1);
  work(1);
  await clock.advance(afterMs - 1);
  expect(rests).toEqual([]);
  await clock.advance(1);
  expect(rests).toEqual([2 * afterMs - 1]);
});

it('rests after much work, a minute apart at the least, and not after little', async () => {
  await clock.advance(afterMs);
  work(jobsMin - 1);
  await clock.advance(10 * apartMs);
  expect(rests.length).toBe(1);
  work(1);
  await clock.advance(afterMs);
  expect(rests).toEqual([afterMs, 2 * afterMs + 10 * apartMs]);
  work(jobsMin);
  await clock.advance(apartMs - 1);
  expect(rests.length).toBe(2);
  await clock.advance(1);
  expect(rests.length).toBe(3);
});

it('never rests once it is closed', async () => {
  await carrier.close();
  work(jobsMin);
  await clock.advance(10 * apartMs);
  expect(rests).toEqual([]);
});
