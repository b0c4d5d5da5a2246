import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { processStat } from '../../src/carriers/process-group.ts';
import { startJob } from './collected.ts';
import { fixtureFile, marked, processCarrier } from './process-harness.ts';

/** When a job has ended, nothing that it started runs any more. */
const { carrier, marker } = processCarrier({ maxHosts: 2 });
const abuse = (input: Record<string, unknown>) =>
  startJob(carrier, { file: fixtureFile('abuse'), type: 'test/abuse', input });
const runs = (pid: number) => {
  const stat = processStat(pid);
  return stat !== undefined && stat.state !== 'Z';
};

afterAll(async () => {
  await carrier.close();
  expect(marked(marker)).toEqual([]);
});

describe.skipIf(process.platform !== 'linux')('the process group (looked up in /proc)', () => {
  // Idle hosts may be there, their children not.
  afterEach(() => expect(marked(marker).length).toBeLessThanOrEqual(2));

  it('is emptied when a job returns and leaves a child that holds the pipes and ignores SIGTERM', async () => {
    const running = abuse({ do: 'stubbornChild' });
    const end = await running.ended;
    if (end.how !== 'returned') throw new Error(JSON.stringify(end));
    expect(runs(end.result as number)).toBe(false);
    expect(runs(running.pid as number)).toBe(false);
    expect(running.text()).toMatch(/left (a process|2 processes) running/);
  });

  it('is emptied of an orphan that nobody is the parent of', async () => {
    const end = await abuse({ do: 'orphan' }).ended;
    if (end.how !== 'returned') throw new Error(JSON.stringify(end));
    expect(runs(end.result as number)).toBe(false);
  });

  it.each(['detached', 'setsid'])('is left by a child (%s), which is ended too', async (how) => {
    const running = abuse({ do: 'detachedChild', how });
    const end = await running.ended;
    if (end.how !== 'returned') throw new Error(JSON.stringify(end));
    expect(end.result).toBeGreaterThan(0);
    expect(runs(end.result as number)).toBe(false);
    expect(running.text()).toMatch(/left (a process|\d processes) running/);
  });

  it.each([
    ['is stopped in the end', { also: 'spin' }],
    ['exits', { also: 'exit', code: 4 }],
  ])('is left by a child whose handler %s', async (_name, input) => {
    const running = abuse({ do: 'detachedAnd', ...input });
    await running.until((told) => told.lines.length > 0);
    if (input.also === 'spin') running.stop('timeout', 10);
    expect((await running.ended).how).toMatch(/killed|died/);
    expect(runs(Number(running.told.progress[0]?.message))).toBe(false);
  });

  it.each([
    ['exits', { also: 'exit', code: 4 }, { how: 'died', exitCode: 4 }],
    [
      'is killed by a signal',
      { also: 'signal', signal: 'SIGKILL' },
      { how: 'died', signal: 'SIGKILL' },
    ],
    ['throws beside its promise', { also: 'throwBeside' }, { how: 'threw' }],
  ])('is emptied when the host %s and leaves a child', async (_name, input, expected) => {
    const running = abuse({ do: 'childAnd', ...input });
    expect(await running.ended).toMatchObject(expected);
    expect(runs(Number(running.told.progress[0]?.message))).toBe(false);
  });

  it('is emptied when a spinning handler with a child is stopped', async () => {
    const running = abuse({ do: 'childAnd', also: 'spin' });
    await running.until((told) => told.lines.length > 0);
    running.stop('drain', 10);
    expect(await running.ended).toEqual({ how: 'killed' });
    expect(runs(Number(running.told.progress[0]?.message))).toBe(false);
  });

  it('keeps its host when the children of a job have ended by themselves', async () => {
    const before = await abuse({ do: 'pid' }).ended;
    expect(await abuse({ do: 'finishedChild' }).ended).toEqual({
      how: 'returned',
      result: 'done\n',
    });
    expect(await abuse({ do: 'pid' }).ended).toEqual(before);
  });

  it('keeps what a module starts when it is loaded, until its host goes', async () => {
    const job = { file: fixtureFile('sidecar'), type: 'test/sidecar' };
    const first = await startJob(carrier, job).ended;
    expect(await startJob(carrier, job).ended).toEqual(first);
    if (first.how !== 'returned') throw new Error(JSON.stringify(first));
    const { sidecar } = first.result as { sidecar: number };
    expect(runs(sidecar)).toBe(true);
    await carrier.close();
    expect(runs(sidecar)).toBe(false);
  });
});
