import { describe, expect, it } from 'vitest';
import { carrierCases } from './carrier.cases.ts';
import { startJob } from './collected.ts';
import { fixtureFile } from './process-harness.ts';
import { sharedCarrier } from './shared-harness.ts';

carrierCases('shared', async () => {
  const { carrier } = sharedCarrier({ maxHosts: 20 });
  return {
    carrier,
    job: (fixture) => ({
      type: `test/${fixture}`,
      file: fixtureFile(fixture),
      effectSafety: 'idempotent',
      sharesHost: true,
    }),
    close: () => carrier.close(),
  };
});

describe('that a job of a shared host begins', () => {
  const marksOf = async (
    shortMs: number | undefined,
    more: { readonly fence?: number; readonly lastPermitted?: true } = {},
    names = ['a', 'b', 'c'],
  ) => {
    const { carrier } = sharedCarrier({
      callTimes: () => ({ add: () => {}, apart: () => {}, shortMs }),
    });
    const job = (name: string) =>
      startJob(carrier, {
        file: fixtureFile('echo'),
        effectSafety: 'pure',
        sharesHost: true,
        ...more,
        input: { name },
      });
    try {
      await job('first').ended;
      const jobs = names.map(job);
      await Promise.all(jobs.map(({ ended }) => ended));
      expect(jobs.map(({ told }) => told.begun)).toEqual(names.map(() => 1));
      return jobs.map(({ told }) => told.giving);
    } finally {
      await carrier.close();
    }
  };

  it('is marked beforehand of a short one that comes alone, of none of those that come together', async () => {
    expect(await marksOf(0.1, {}, ['alone'])).toEqual([1]);
    expect(await marksOf(0.1)).toEqual([0, 0, 0]);
  });

  it('is marked of each where they are not known to be short, on a second attempt, and on the only one', async () => {
    expect(await marksOf(undefined)).toEqual([1, 1, 1]);
    expect(await marksOf(0.1, { fence: 2 })).toEqual([1, 1, 1]);
    expect(await marksOf(0.1, { lastPermitted: true })).toEqual([1, 1, 1]);
  });
});
