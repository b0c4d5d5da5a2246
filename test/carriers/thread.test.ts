import { MessageChannel } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import { SimulatedClock } from '../../sim/clock.ts';
import { createInlineCarrier } from '../../src/carriers/inline.ts';
import { createThreadCarrier, type ThreadCarrierOptions } from '../../src/carriers/thread.ts';
import { serveJobs } from '../../src/carriers/thread-jobs.ts';
import { BegunCount } from '../../src/carriers/thread-words.ts';
import { aheadInHostDefaults } from '../../src/core/defaults.ts';
import type { Job } from '../../src/ports/carrier.ts';
import { systemClock } from '../../src/system/clock.ts';
import { carrierCases, fixtures } from './carrier.cases.ts';
import { aJob, startJob } from './collected.ts';
import { memoryLog } from './memory-log.ts';

const ports: { close(): void }[] = [];
afterEach(() => {
  for (const port of ports.splice(0)) port.close();
});

/** Both ends in this thread: what crosses is copied and comes later all the same. */
function ends(log = memoryLog(), callTimes?: ThreadCarrierOptions['callTimes']) {
  const clock = systemClock();
  const { port1, port2 } = new MessageChannel();
  const inline = createInlineCarrier({ clock, log });
  const begun = new BegunCount();
  // By that clock no handler takes any time.
  const served = serveJobs(port2, inline, begun, new SimulatedClock());
  const carrier = createThreadCarrier({ port: port1, begun, clock, log, callTimes });
  return { carrier, inline, served, port: port1 };
}

carrierCases(
  'thread',
  async () => {
    const { carrier, inline, port } = ends();
    for (const fixture of fixtures) {
      const module = await import(`./fixtures/${fixture}.mjs`);
      const { default: run, ...named } = module;
      const definition = typeof run === 'function' ? { run, ...named } : run;
      await inline.handle(`test/${fixture}`, 1, definition);
    }
    return {
      carrier,
      job: (fixture) => ({ type: `test/${fixture}` }),
      close: async () => {
        await carrier.close();
        port.unref();
      },
    };
  },
  { kill: 'a handler inside this program cannot be killed' },
);

it('keeps the slot of a handler that ignores its stop, and says so once', async () => {
  const log = memoryLog();
  const { carrier, inline, port } = ends(log);
  ports.push(port);
  let release = (_value: string) => {};
  await inline.handle('test/deaf', 1, () => new Promise<string>((resolve) => (release = resolve)));
  const running = startJob(carrier, { type: 'test/deaf' });
  await running.until((told) => told.begun === 1);
  running.stop('cancel', 60_000);
  running.stop('drain', 5);
  await running.until((told) => told.lines.length > 0);
  expect(running.text()).toContain('has not ended within its time to stop (cancel)');
  expect(running.text()).toContain('cannot be killed');
  expect(log.events).toEqual(['carrier.stop-ignored']);
  // Longer than the grace: the thread of the handlers has nothing to add.
  await new Promise<void>((resolve) => systemClock().timer(20, resolve));
  release('done after all');
  expect(await running.ended).toEqual({ how: 'returned', result: 'done after all' });
  expect(log.events).toEqual(['carrier.stop-ignored']);
  expect(running.told.lines.length).toBe(1);
});

it('does not begin a job whose stop came while another held the thread', async () => {
  const { carrier, inline, port } = ends();
  ports.push(port);
  let held = () => {};
  await inline.handle('test/second', 1, () => 'begun all the same');
  await inline.handle('test/first', 1, () => held());
  const first = startJob(carrier, { type: 'test/first' });
  let second: ReturnType<typeof startJob> | undefined;
  held = () => {
    // What the agent does meanwhile: here in the same thread, so its microtask is waited for.
    second = startJob(carrier, { type: 'test/second' });
    queueMicrotask(() => second?.stop('cancel', 60_000));
  };
  expect(await first.ended).toEqual({ how: 'returned', result: null });
  expect(await second?.ended).toEqual({ how: 'stopped' });
  expect(second?.told.begun).toBe(0);
});

it('tells the agent all that a handler says while it holds the thread, within its bounds and in order', async () => {
  const { carrier, inline, port } = ends();
  ports.push(port);
  await inline.handle('test/flood', 1, (_input, ctx) => {
    for (let i = 1; i <= 60_000; i++) {
      ctx.log(`line ${i}`);
      ctx.progress(i / 600, `step ${i}`);
    }
    return 'dry';
  });
  const running = startJob(carrier, { type: 'test/flood' });
  expect(await running.ended).toEqual({ how: 'returned', result: 'dry' });
  const { lines, progress } = running.told;
  expect(lines.slice(0, 3).map(({ text }) => text)).toEqual(['line 1', 'line 2', 'line 3']);
  // 1 MiB, each line counted with what it costs beside its text.
  expect(lines.length).toBeLessThan(30_000);
  expect(lines.at(-1)?.text).toContain('were not kept');
  expect(progress.length).toBeLessThan(200);
  expect(progress.at(-1)).toEqual({ percent: 100, message: 'step 60000' });
});

it('ends every job when the channel is closed', async () => {
  const { carrier, inline, served, port } = ends();
  await inline.handle('test/waits', 1, (_input, ctx) => {
    return new Promise((_resolve, reject) =>
      ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)),
    );
  });
  const running = startJob(carrier, { type: 'test/waits' });
  await running.until((told) => told.begun === 1);
  port.close();
  expect(await running.ended).toMatchObject({ how: 'died' });
  expect(await startJob(carrier, { type: 'test/waits' }).ended).toMatchObject({ how: 'died' });
  expect(served.running).toBe(1);
  served.stopAll('drain');
  await served.idle();
  expect(served.running).toBe(0);
});

it('answers a gate once', async () => {
  const { carrier, inline, port } = ends();
  ports.push(port);
  await inline.handle('test/gate', 1, async (_input, ctx) => {
    await ctx.beginEffect();
    return 'effect made';
  });
  const running = startJob(carrier, { type: 'test/gate', effectGate: 'effect' });
  await running.until((told) => told.effects === 1);
  running.openGate();
  running.refuseGate('too late');
  expect(await running.ended).toEqual({ how: 'returned', result: 'effect made' });
});

describe('that a job begins', () => {
  const marksOf = async (shortMs: number | undefined, more: Partial<Job> = {}) => {
    const callTimes = () => ({ add: () => {}, shortMs });
    const { carrier, inline, port } = ends(memoryLog(), callTimes);
    ports.push(port);
    await inline.handle('test/nothing', 1, () => null);
    const jobs = Array.from({ length: 3 }, () =>
      startJob(carrier, { type: 'test/nothing', effectSafety: 'pure', ...more }),
    );
    await Promise.all(jobs.map(({ ended }) => ended));
    expect(jobs.map(({ told }) => told.begun)).toEqual([1, 1, 1]);
    return jobs.map(({ told }) => told.giving);
  };

  it('is marked beforehand of one that is alone', async () => {
    const { carrier, inline, port } = ends(memoryLog(), () => ({ add: () => {}, shortMs: 0.1 }));
    ports.push(port);
    await inline.handle('test/nothing', 1, () => null);
    const alone = startJob(carrier, { type: 'test/nothing', effectSafety: 'pure' });
    await alone.ended;
    expect(alone.told.giving).toBe(1);
  });

  it('is not marked beforehand of short ones that are there together: their ends say it', async () => {
    expect(await marksOf(0.1)).toEqual([0, 0, 0]);
  });

  it('is marked of each that may be long, may run once only, or runs for a second time', async () => {
    expect(await marksOf(undefined)).toEqual([1, 1, 1]);
    expect(await marksOf(0.1, { effectSafety: 'non-idempotent' })).toEqual([1, 1, 1]);
    expect(await marksOf(0.1, { fence: 2 })).toEqual([1, 1, 1]);
    expect(await marksOf(0.1, { lastPermitted: true })).toEqual([1, 1, 1]);
  });

  it('is marked until the handlers themselves were seen to be short', async () => {
    const { carrier, inline, port } = ends();
    ports.push(port);
    await inline.handle('test/nothing', 1, () => null);
    const round = async () => {
      const jobs = Array.from({ length: aheadInHostDefaults.calls }, () =>
        startJob(carrier, { type: 'test/nothing', effectSafety: 'pure' }),
      );
      await Promise.all(jobs.map(({ ended }) => ended));
      return jobs.reduce((sum, { told }) => sum + told.giving, 0);
    };
    expect(await round()).toBe(aheadInHostDefaults.calls);
    expect(await round()).toBe(0);
  });
});

describe('a job that is about to be given', () => {
  const listens = (giving: () => Promise<void>) => ({
    giving,
    begun: () => {},
    progress: () => {},
    log: () => {},
    effectRequested: () => {},
  });

  it('is given when that is written down, since its first line may end the program', async () => {
    const { carrier, inline, port } = ends();
    ports.push(port);
    const order: string[] = [];
    await inline.handle('test/notes', 1, () => order.push('handler'));
    const job = { ...aJob(), type: 'test/notes' };
    const written = async () => {
      await new Promise((resolve) => setImmediate(resolve));
      order.push('written');
    };
    await carrier.start(job, listens(written)).ended;
    await inline.start(job, listens(written)).ended;
    expect(order).toEqual(['written', 'handler', 'written', 'handler']);
  });

  it('is not held up by a disk that hangs, and not begun when it is stopped meanwhile', async () => {
    const { carrier, inline, port } = ends();
    ports.push(port);
    let begun = 0;
    await inline.handle('test/counts', 1, () => ++begun);
    const job = { ...aJob(), type: 'test/counts' };
    const never = () => new Promise<void>(() => {});
    for (const kind of [carrier, inline]) {
      const stopped = kind.start(job, listens(never));
      await Promise.resolve();
      stopped.stop('cancel', 60_000);
      expect(await stopped.ended).toEqual({ how: 'stopped' });
    }
    expect(begun).toBe(0);
    for (const kind of [carrier, inline])
      expect(await kind.start(job, listens(never)).ended).toMatchObject({ how: 'returned' });
  });
});

it('sees that a handler has begun which holds its thread, though nothing comes from there', async () => {
  const { port1, port2 } = new MessageChannel();
  ports.push(port1);
  const begun = new BegunCount();
  const clock = systemClock();
  const carrier = createThreadCarrier({ port: port1, begun, clock, log: memoryLog() });
  const [first, second] = [startJob(carrier, {}), startJob(carrier, {})];
  await new Promise((resolve) => port2.once('message', resolve));
  begun.tell(1);
  await first.until((told) => told.begun === 1);
  expect(second.told.begun).toBe(0);
  // Its own word comes later, and is the same.
  port2.postMessage([
    { t: 'begun', n: 1 },
    { t: 'end', n: 1, end: { how: 'returned', result: 1 } },
    { t: 'end', n: 2, end: { how: 'stopped' } },
  ]);
  expect(await first.ended).toEqual({ how: 'returned', result: 1 });
  expect(await second.ended).toEqual({ how: 'stopped' });
  expect([first.told.begun, second.told.begun]).toEqual([1, 0]);
});

it('sends what is started in one turn as one message, and gets the ends of one turn as one', async () => {
  const { port1, port2 } = new MessageChannel();
  ports.push(port1);
  const [begun, clock, log] = [new BegunCount(), systemClock(), memoryLog()];
  const inline = createInlineCarrier({ clock, log });
  await inline.handle('test/nothing', 1, () => null);
  let sent = 0;
  const post = port2.postMessage.bind(port2);
  port2.postMessage = (message: unknown) => {
    sent++;
    post(message);
  };
  serveJobs(port2, inline, begun, clock);
  let got = 0;
  port2.on('message', () => got++);
  const carrier = createThreadCarrier({ port: port1, begun, clock, log });
  const jobs = Array.from({ length: 16 }, () => startJob(carrier, { type: 'test/nothing' }));
  for (const { ended } of jobs) expect(await ended).toEqual({ how: 'returned', result: null });
  expect([got, sent]).toEqual([1, 1]);
});
