import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Job, JobEnd } from '../../src/ports/carrier.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { systemClock } from '../../src/system/clock.ts';
import { aJob, startJob } from './collected.ts';
import { fixtureFile, marked, processCarrier } from './process-harness.ts';

/** Short jobs wait in a host behind each other (Linux: elsewhere each host serves one job). */
describe.skipIf(process.platform !== 'linux')('short jobs in one host', () => {
  const clock = systemClock();
  /** While it stands still, no job is slow, however busy the machine is. */
  let stands: number | undefined;
  const made = processCarrier({
    maxHosts: 2,
    clock: withNow(clock, () => stands ?? clock.now()),
    callTimes: known,
  });
  const folder = mkdtempSync(join(tmpdir(), 'interlock-ahead-'));
  let count = 0;
  let to: string;
  let until: string;

  beforeEach(async () => {
    to = join(folder, `begun-${++count}`);
    until = join(folder, `go-${count}`);
    // The first of a host is not given to it with others.
    await job('warm').ended;
    stands = clock.now();
  });

  afterEach(() => {
    stands = undefined;
    // A test that failed must leave no host that stands still.
    go();
  });

  afterAll(async () => {
    await made.carrier.close();
    expect(marked(made.marker)).toEqual([]);
    rmSync(folder, { recursive: true });
  });

  const job = (name: string, what: object = {}, overrides: Partial<Job> = {}) =>
    startJob(made.carrier, {
      file: fixtureFile('short'),
      effectSafety: 'idempotent',
      input: { name, ...what },
      ...overrides,
    });
  const begun = () => (existsSync(to) ? readFileSync(to, 'utf8').trim().split('\n') : []);
  const go = () => writeFileSync(until, '');
  const pidOf = (end: JobEnd) =>
    end.how === 'returned' ? (end.result as { pid: number }).pid : end;

  it('runs those that come together in one host, strictly one after the other', async () => {
    const names = ['1', '2', '3', '4', '5', '6'];
    const jobs = names.map((name) => job(name, { to }));
    const ends = await Promise.all(jobs.map(({ ended }) => ended));
    expect(begun()).toEqual(names);
    expect(ends).toEqual(
      names.map((name) => ({
        how: 'returned',
        result: { name, pid: pidOf(ends[0] as JobEnd), beside: 0 },
      })),
    );
    expect(jobs.map(({ told }) => told.begun)).toEqual(names.map(() => 1));
  });

  it('holds of a job that is over neither its input nor who hears it', async () => {
    const given = { ...aJob(), file: fixtureFile('short'), input: { name: 'held' } };
    const run = made.carrier.start(given, {
      begun() {},
      progress() {},
      log() {},
      effectRequested() {},
    });
    expect(run).toMatchObject({ job: given });
    expect((await run.ended).how).toBe('returned');
    expect(run).toMatchObject({ job: { taskId: '', input: null } });
  });

  it('marks one that comes alone before it begins, and those that come together when they are known to have begun', async () => {
    const alone = job('alone', {});
    await alone.ended;
    expect(alone.told.giving).toBe(1);
    stands = undefined;
    const slow = job('slow', { to, do: 'hold', until });
    const waiting = job('waiting', { to });
    await slow.until(({ begun }) => begun === 1);
    expect([slow.told.giving, waiting.told.giving + waiting.told.begun]).toEqual([0, 0]);
    go();
    await Promise.all([slow.ended, waiting.ended]);
    expect(waiting.told.begun).toBe(1);
  });

  it('does not let a second attempt wait behind others: it may have ended its agent before', async () => {
    const jobs = ['1', '2'].map((name) => job(name, {}, { fence: 2 }));
    const ends = await Promise.all(jobs.map(({ ended }) => ended));
    expect(new Set(ends.map(pidOf)).size).toBe(2);
    expect(jobs.map(({ told }) => told.giving)).toEqual([1, 1]);
  });

  it('marks beforehand, and lets not wait, what one attempt is permitted of', async () => {
    const jobs = ['1', '2'].map((name) => job(name, {}, { lastPermitted: true }));
    const ends = await Promise.all(jobs.map(({ ended }) => ended));
    expect(new Set(ends.map(pidOf)).size).toBe(2);
    expect(jobs.map(({ told }) => told.giving)).toEqual([1, 1]);
  });

  it('gives what may not be repeated a host of its own', async () => {
    const jobs = ['1', '2'].map((name) => job(name, {}, { effectSafety: 'non-idempotent' }));
    const ends = await Promise.all(jobs.map(({ ended }) => ended));
    expect(new Set(ends.map(pidOf)).size).toBe(2);
  });

  it('takes back those behind a slow one, and tells that it has begun', async () => {
    stands = undefined;
    const slow = job('slow', { to, do: 'wait', until });
    const others = ['1', '2'].map((name) => job(name, { to }));
    const ends = await Promise.all(others.map(({ ended }) => ended));
    await slow.until(({ begun }) => begun === 1);
    go();
    const pid = pidOf(await slow.ended);
    expect(ends.map(pidOf)).not.toContain(pid);
    // On a busy machine its host may come to it only when the others have been taken back.
    expect(begun().toSorted()).toEqual(['1', '2', 'slow']);
  });

  it('gives those behind one that holds its thread to another host, and runs them once', async () => {
    stands = undefined;
    const slow = job('slow', { to, do: 'hold', until });
    const others = ['1', '2'].map((name) => job(name, { to }));
    const ends = await Promise.all(others.map(({ ended }) => ended));
    await slow.until(({ begun }) => begun === 1);
    go();
    const pid = pidOf(await slow.ended);
    expect(ends.map(pidOf)).not.toContain(pid);
    await Promise.all(['3', '4'].map((name) => job(name, { to }).ended));
    expect(begun().toSorted()).toEqual(['1', '2', '3', '4', 'slow']);
  });

  it.each([
    ['kill', { how: 'died', signal: 'SIGKILL' }],
    ['exit', { how: 'died', exitCode: 7 }],
  ])(
    'of a group whose host dies (%s), those before have ended, those behind begin elsewhere',
    async (what, how) => {
      const jobs = ['1', '2', 'bad', '4', '5'].map((name) =>
        job(name, { to, ...(name === 'bad' && { do: what }) }),
      );
      const ends = await Promise.all(jobs.map(({ ended }) => ended));
      expect(ends.map(({ how }) => how)).toEqual([
        ...['returned', 'returned', 'died', 'returned', 'returned'],
      ]);
      expect(ends[2]).toEqual(how);
      expect(begun().slice(0, 3)).toEqual(['1', '2', 'bad']);
      expect(begun().slice(3).toSorted()).toEqual(['4', '5']);
      expect(jobs.map(({ told }) => told.begun)).toEqual([1, 1, 1, 1, 1]);
    },
  );

  it('does not begin one that is stopped while it waits, and keeps its host', async () => {
    stands = undefined;
    const slow = job('slow', { to, do: 'wait', until });
    const waiting = job('waiting', { to });
    await Promise.resolve();
    waiting.stop('cancel', 60_000);
    expect(await waiting.ended).toEqual({ how: 'stopped' });
    go();
    expect(await slow.ended).toMatchObject({ how: 'returned' });
    expect(waiting.told.begun).toBe(0);
    expect(begun()).toEqual(['slow']);
    expect(await job('next').ended).toMatchObject({ how: 'returned' });
  });

  it('gives those behind one that had to be killed to another host', async () => {
    stands = undefined;
    const slow = job('slow', { to, do: 'hold', until });
    await slow.until(({ begun }) => begun === 1);
    slow.stop('timeout', 0);
    const waiting = job('waiting', { to });
    expect(await slow.ended).toEqual({ how: 'killed' });
    expect(await waiting.ended).toMatchObject({ how: 'returned' });
    expect(begun()).toEqual(['slow', 'waiting']);
  });

  it('does not end the one that runs for one that waits behind it and has no time to stop', async () => {
    stands = undefined;
    const slow = job('slow', { to, do: 'hold', until });
    const waiting = job('waiting', { to });
    await Promise.resolve();
    waiting.stop('drain', 0);
    expect(await waiting.ended).toEqual({ how: 'stopped' });
    go();
    expect(await slow.ended).toMatchObject({ how: 'returned' });
    expect(begun()).toEqual(['slow']);
  });

  it('puts what is printed to the log of the job that printed it', async () => {
    const jobs = ['1', '2', '3'].map((name) => job(name, { do: 'print' }));
    await Promise.all(jobs.map(({ ended }) => ended));
    expect(jobs.map((one) => one.text())).toEqual([
      ...['printed by 1', 'printed by 2', 'printed by 3'],
    ]);
  });

  it('puts what something of an earlier job prints to the log of the job it prints for', async () => {
    const jobs = ['1', '2', '3'].map((name) => job(name, { do: 'pool' }));
    await Promise.all(jobs.map(({ ended }) => ended));
    expect(jobs.map((one) => one.text())).toEqual([
      ...['pooled for 1', 'pooled for 2', 'pooled for 3'],
    ]);
    // It did not come past the streams, where it may be anyone's: then each would be alone from then on.
    const ends = await Promise.all(['4', '5'].map((name) => job(name).ended));
    expect(new Set(ends.map(pidOf)).size).toBe(1);
  });

  it('puts a character together that is printed in two pieces', async () => {
    const one = job('1', { do: 'pieces' });
    await one.ended;
    expect(one.text()).toBe('Grüße');
  });

  it('goes on where a job puts other timers in the place of those of its host', async () => {
    await job('1', { do: 'timers' }).ended;
    const jobs = ['2', '3'].map((name) => job(name));
    const ends = await Promise.all(jobs.map(({ ended }) => ended));
    expect(ends.map(({ how }) => how)).toEqual(['returned', 'returned']);
  });

  it('goes on behind one that has failed, through the agent', async () => {
    const jobs = ['1', 'bad', '3'].map((name) =>
      job(name, { to, ...(name === 'bad' && { do: 'throw' }) }),
    );
    const ends = await Promise.all(jobs.map(({ ended }) => ended));
    expect(ends.map(({ how }) => how)).toEqual(['returned', 'threw', 'returned']);
    expect(begun()).toEqual(['1', 'bad', '3']);
  });

  // The last: what it finds stays so.
  it('lets a handler whose output comes past its streams be alone from then on', async () => {
    await job('1', { do: 'raw' }).ended;
    const jobs = ['2', '3'].map((name) => job(name, { do: 'raw' }));
    const ends = await Promise.all(jobs.map(({ ended }) => ended));
    expect(new Set(ends.map(pidOf)).size).toBe(2);
    expect(jobs.map((one) => one.text())).toEqual(['written by 2', 'written by 3']);
  });
});

/** A handler that is known to be short, however long its calls take on a busy machine. */
function known() {
  let shortMs: number | undefined = 0.1;
  return {
    add: () => {},
    apart: () => {
      shortMs = undefined;
    },
    get shortMs() {
      return shortMs;
    },
  };
}

function withNow(clock: Clock, now: () => number): Clock {
  return {
    now,
    wall: () => clock.wall(),
    sleep: (ms, signal) => clock.sleep(ms, signal),
    timer: (ms, fire) => clock.timer(ms, fire),
  };
}
