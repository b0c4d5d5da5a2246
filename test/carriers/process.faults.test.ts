import { afterAll, expect, it } from 'vitest';
import { startJob } from './collected.ts';
import { fixtureFile, marked, processCarrier } from './process-harness.ts';

/** Faults from the field, with real processes. */
const { carrier, marker, log } = processCarrier({ maxHosts: 4 });
const abuse = (input: Record<string, unknown>) =>
  startJob(carrier, { file: fixtureFile('abuse'), type: 'test/abuse', input });

afterAll(async () => {
  await carrier.close();
  expect(marked(marker)).toEqual([]);
});

it('F41 takes 200 MB of stderr without a newline, and still the result', async () => {
  const before = process.memoryUsage().rss;
  let peak = before;
  const running = abuse({ do: 'floodStderr', megabytes: 200 });
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().rss);
  }, 20);
  const end = await running.ended;
  clearInterval(watch);
  expect(end).toEqual({ how: 'returned', result: 'flooded' });
  expect(peak - before).toBeLessThan(100 * 1_048_576);
  const [first, last] = [running.told.lines[0]?.text ?? '', running.told.lines.at(-1)?.text ?? ''];
  expect(first).toMatch(/^x+ … \(line cut\)$/);
  expect(Buffer.byteLength(first)).toBeLessThanOrEqual(8_192);
  expect(last).toMatch(/^… output truncated: 2097\d{5} bytes were not kept/);
  expect(running.told.lines).toHaveLength(2);
});

it('F41 ends one job alone when its host exits while 64 MB of input are on their way', async () => {
  const input = 'i'.repeat(64 * 1_048_576);
  const neighbour = abuse({ do: 'waits' });
  await neighbour.until((told) => told.begun === 1);
  const file = fixtureFile('exits-while-reading');
  const running = startJob(carrier, { file, type: 'test/exits', input });
  // It has read not all of it, so its handler was never called: nor in the second host that it got.
  expect(await running.ended).toMatchObject({ how: 'died', exitCode: 7 });
  expect(running.told.begun).toBe(0);
  const direct = abuse({ do: 'exit', code: 7, padding: input });
  expect(await direct.ended).toMatchObject({ how: 'died', exitCode: 7 });
  neighbour.stop('cancel', 0);
  expect(await neighbour.ended).toEqual({ how: 'killed' });
});

it('F41 bounds what ctx.log and ctx.progress send', async () => {
  const logged = abuse({ do: 'floodLog', lines: 100_000 });
  expect(await logged.ended).toEqual({ how: 'returned', result: 'logged' });
  expect(logged.text().length).toBeLessThan(1_100_000);
  expect(logged.told.lines.at(-1)?.text).toMatch(/^… output truncated: \d{7,8} bytes/);
  const moved = abuse({ do: 'floodProgress', updates: 200_000 });
  expect(await moved.ended).toEqual({ how: 'returned', result: 'done' });
  expect(moved.told.progress.length).toBeLessThan(50);
  expect(moved.told.progress.at(-1)).toMatchObject({ percent: 99 });
});

it('F44 tells exit codes, 0 too, and signals', async () => {
  expect(await abuse({ do: 'exit', code: 0 }).ended).toEqual({ how: 'died', exitCode: 0 });
  expect(await abuse({ do: 'exit', code: 5 }).ended).toEqual({ how: 'died', exitCode: 5 });
  expect(await abuse({ do: 'signal', signal: 'SIGKILL' }).ended).toEqual({
    how: 'died',
    signal: 'SIGKILL',
  });
  expect(await abuse({ do: 'signal', signal: 'SIGTERM' }).ended).toEqual({
    how: 'died',
    signal: 'SIGTERM',
  });
});

it('F44 keeps the result when something is thrown after it, and hurts no neighbour', async () => {
  const thrown = abuse({ do: 'throwAfterReturn', ms: 1 });
  expect(await thrown.ended).toEqual({ how: 'returned', result: 'returned' });
  const rejected = abuse({ do: 'rejectAfterReturn' });
  expect(await rejected.ended).toEqual({ how: 'returned', result: 'returned' });
  const exited = abuse({ do: 'exitLater', code: 1, ms: 0 });
  expect(await exited.ended).toEqual({ how: 'returned', result: 'before its exit' });
});

it('F44 lets the next job of the same host finish when the one before throws or exits into it', async () => {
  const alone = processCarrier({ maxHosts: 1 });
  const job = (input: Record<string, unknown>) =>
    startJob(alone.carrier, { file: fixtureFile('abuse'), input });
  for (const how of ['throw', 'exit']) {
    const before = await job({ do: 'strayInto', how }).ended;
    expect(await job({ do: 'isStruck' }).ended).toEqual(before);
    expect(alone.log.texts.join()).toMatch(/thrown that nobody caught/);
    // That host is replaced.
    expect(await job({ do: 'pid' }).ended).not.toEqual(before);
  }
  await alone.carrier.close();
  expect(marked(alone.marker)).toEqual([]);
});

it('F44 makes a failure of what is thrown beside the promise of a running job', async () => {
  expect(await abuse({ do: 'throwBeside' }).ended).toMatchObject({
    how: 'threw',
    error: { code: 'HANDLER_ERROR', message: 'beside the promise' },
  });
  expect(await abuse({ do: 'rejectBeside' }).ended).toMatchObject({
    how: 'threw',
    error: { code: 'HANDLER_ERROR', message: 'The handler threw undefined, not an error.' },
  });
  expect(log.events).toContain('host.tainted');
});

it('F44 kills a handler that never settles when its time is over', async () => {
  const running = abuse({ do: 'waits' });
  await running.until((told) => told.begun === 1);
  running.stop('timeout', 20);
  expect(await running.ended).toEqual({ how: 'killed' });
});

it('F43 tells a heap that ran out of memory from other deaths', async () => {
  const small = processCarrier({
    hostCommand: {
      execPath: process.execPath,
      args: ['--max-old-space-size=40', ...processCarrier.hostArgs],
    },
  });
  const running = startJob(small.carrier, {
    file: fixtureFile('abuse'),
    input: { do: 'allocate' },
  });
  expect(await running.ended).toMatchObject({
    how: 'died',
    signal: 'SIGABRT',
    outOfMemory: true,
    detail: expect.stringContaining('heap out of memory'),
  });
  const aborted = startJob(small.carrier, { file: fixtureFile('abuse'), input: { do: 'abort' } });
  const end = await aborted.ended;
  expect(end).toMatchObject({ how: 'died', signal: 'SIGABRT' });
  expect(end).not.toHaveProperty('outOfMemory');
  await small.carrier.close();
});
