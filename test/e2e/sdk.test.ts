/** The SDK against the embedded control plane, on real sockets. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Worker as Thread } from 'node:worker_threads';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { CollectingLog } from '../../sim/log.ts';
import { type ServedControlPlane, serveControlPlane } from '../../src/control-plane/serve.ts';
import { startFcp } from '../../src/fcp/fcp.ts';
import {
  RetryableError,
  TaskError,
  TaskOperator,
  TaskProducer,
  TaskWorker,
  type TaskWorkerOptions,
} from '../../src/index.ts';
import { systemClock } from '../../src/system/clock.ts';
import { systemRandom } from '../../src/system/random.ts';
import { until } from './processes.ts';

/** Each worker starts a thread, on machines that may be busy with others. */
vi.setConfig({ testTimeout: 90_000, hookTimeout: 60_000 });

let folder: string;
let plane: ServedControlPlane;
let operator: TaskOperator;
let producer: TaskProducer;
let workers: TaskWorker[] = [];
let workerKey: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'interlock-sdk-'));
  plane = await serveControlPlane({
    listen: '127.0.0.1:0',
    data: join(folder, 'data'),
    clock: systemClock(),
    random: systemRandom(),
    log: new CollectingLog(),
  });
  const serviceUrl = plane.url;
  operator = new TaskOperator({ serviceUrl, key: plane.adminKey as string });
  workerKey = (await operator.newKey('worker', 'task-worker')).key;
  const producerKey = await operator.newKey('producer', 'task-producer');
  producer = new TaskProducer({ serviceUrl, key: producerKey.key });
});

afterEach(async () => {
  await Promise.all(workers.map((one) => one.drain()));
  workers = [];
  await producer.close();
  await operator.close();
  await plane.stop();
  await rm(folder, { recursive: true, force: true });
});

function worker(workerId: string, more: Partial<TaskWorkerOptions> = {}): TaskWorker {
  const made = new TaskWorker({
    serviceUrl: plane.url,
    key: workerKey,
    workerId,
    maxConcurrent: 2,
    spool: join(folder, `spool-${workerId}`),
    stopGraceMs: 500,
    drainTimeoutMs: 3_000,
    log: new CollectingLog(),
    ...more,
  });
  workers.push(made);
  return made;
}

it('submits a task and gets the result of a handler', async () => {
  const one = worker('garage-node').handle(
    'demo/hello',
    1,
    async (input, ctx) => {
      ctx.progress(50, 'working');
      ctx.log(`attempt ${ctx.attempt}`);
      return { greeting: `Hello, ${(input as { name: string }).name}!` };
    },
    { effectSafety: 'pure' },
  );
  await one.start();
  const task = await producer.submit('demo/hello', 1, { name: 'Ada' });
  const done = await producer.await(task.id);
  expect(done).toMatchObject({ status: 'succeeded', result: { greeting: 'Hello, Ada!' } });
  expect(done.attempts).toBe(1);
});

it('runs a retryable failure again, and tells the attempt', async () => {
  const one = worker('garage-node').handle(
    'demo/flaky',
    1,
    (_input, ctx) => {
      if (ctx.attempt === 1) throw new RetryableError('not yet', { retryAfterMs: 1 });
      return ctx.attempt;
    },
    { effectSafety: 'pure' },
  );
  await one.start();
  const task = await producer.submit('demo/flaky', 1, null, {
    policy: { backoff: { initialMs: 1, maxMs: 10 } },
  });
  expect(await producer.await(task.id)).toMatchObject({ status: 'succeeded', result: 2 });
});

it('cancels a running task: the handler is told and the task ends as cancelled', async () => {
  const began = Promise.withResolvers<void>();
  const one = worker('garage-node').handle(
    'demo/slow',
    1,
    async (_input, ctx) => {
      began.resolve();
      await new Promise((_resolve, reject) => {
        ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason));
      });
    },
    { effectSafety: 'pure' },
  );
  await one.start();
  const task = await producer.submit('demo/slow', 1, null);
  await began.promise;
  await producer.cancel(task.id, { reason: 'changed my mind' });
  expect(await producer.await(task.id)).toMatchObject({ status: 'cancelled' });
});

it('opens the gate of an effect, and refuses it to a handler that was stopped before', async () => {
  const began = Promise.withResolvers<void>();
  const one = worker('garage-node').handle(
    'demo/effect',
    1,
    async (input, ctx) => {
      if ((input as { wait: boolean }).wait) {
        began.resolve();
        await once(ctx.signal, 'abort');
      }
      return ctx.beginEffect().then(
        () => 'made',
        (refused) => `not made: ${refused.code}`,
      );
    },
    { effectSafety: 'non-idempotent', effectGate: 'effect' },
  );
  await one.start();
  const made = await producer.submit('demo/effect', 1, { wait: false });
  expect(await producer.await(made.id)).toMatchObject({ status: 'succeeded', result: 'made' });
  const kinds: string[] = [];
  for await (const { kind } of producer.events(made.id)) kinds.push(kind);
  expect(kinds).toContain('effect-begun');
  const stopped = await producer.submit('demo/effect', 1, { wait: true });
  await began.promise;
  await producer.cancel(stopped.id);
  expect(await producer.await(stopped.id)).toMatchObject({ result: 'not made: cancel' });
});

it('tells what the agent logs to the program’s own log, also to one that throws', async () => {
  const log = new CollectingLog();
  const one = worker('garage-node', {
    log: {
      debug: () => {},
      info: (event, text, fields) => {
        log.info(event, text, fields);
        throw new Error('a log of the user’s own');
      },
      warn: () => {},
      error: () => {},
    },
  }).handle('demo/hello', 1, () => 'hello', { effectSafety: 'pure' });
  await one.start();
  await one.drain();
  expect(log.text()).toContain('drain.begin');
});

it('tells its status at every moment, also while nothing of this thread can run', async () => {
  const one = worker('garage-node');
  expect(one.status()).toBeUndefined();
  expect(one.ended).toBeUndefined();
  const began = Promise.withResolvers<void>();
  one.handle('demo/waits', 1, (_input, ctx) => {
    began.resolve();
    return new Promise((resolve) => ctx.signal.addEventListener('abort', () => resolve('stopped')));
  });
  await one.start();
  expect(one.status()).toMatchObject({ state: 'ready', slots: { max: 2, busy: 0 }, attempts: [] });
  await producer.submit('demo/waits', 1, null);
  await began.promise;
  const [attempt] = one.status()?.attempts ?? [];
  expect(attempt).toMatchObject({ type: 'demo/waits', phase: 'running', stuck: false });
  // Without a turn of the event loop in between: each asks the agent anew.
  const left = () => one.status()?.attempts[0]?.leaseLeftMs ?? 0;
  const first = left();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
  expect(left()).toBeLessThan(first);
});

it('refuses a second worker on its spool, with the code and the next step', async () => {
  const options = { spool: join(folder, 'spool-shared') };
  const handler = () => 'hello';
  const one = worker('garage-node', options).handle('demo/hello', 1, handler);
  await one.start();
  const two = new TaskWorker({
    serviceUrl: plane.url,
    key: workerKey,
    workerId: 'garage-node',
    ...options,
  });
  const start = two.handle('demo/hello', 1, handler).start();
  await expect(start).rejects.toBeInstanceOf(TaskError);
  await expect(start).rejects.toMatchObject({
    code: 'SPOOL_LOCKED',
    hint: expect.any(String),
    details: { pid: process.pid },
  });
  expect(two.ended).toBeUndefined();
  expect(await two.drain()).toEqual({ why: 'drained', unsent: 0, stopped: 0 });
});

it('refuses to start with a key that the control plane refuses', async () => {
  const one = worker('garage-node', { key: 'il_nobody' }).handle('demo/hello', 1, () => 1);
  await expect(one.start()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  expect(await one.ended).toMatchObject({ why: 'key-refused' });
  expect(() => worker('garage-node', { key: 'no key' })).toThrow(
    expect.objectContaining({ code: 'KEY_MALFORMED' }),
  );
});

it('F25 delivers with a key that its source has only since the old one was refused', async () => {
  const fcp = await startFcp({ keys: ['il_old'] });
  try {
    let written = 'il_old';
    let current = written;
    let reads = 0;
    const log = new CollectingLog();
    const began = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    let runs = 0;
    const one = worker('garage-node', {
      serviceUrl: fcp.url,
      log,
      key: {
        current: () => current,
        reload: async () => {
          reads++;
          current = written;
          return current;
        },
      },
    }).handle(
      'demo/hello',
      1,
      async () => {
        runs++;
        began.resolve();
        await release.promise;
        return 'hello';
      },
      { effectSafety: 'pure' },
    );
    await one.start();
    const task = fcp.offer({ type: 'demo/hello', effectSafety: 'pure' });
    await began.promise;
    fcp.keys.reject('il_old');
    release.resolve();
    await fcp.until(() => one.status()?.notClaiming?.includes('refused our key') ?? false);
    fcp.keys.accept('il_new');
    written = 'il_new';
    expect((await task.ended()).op).toBe('complete');
    expect(runs).toBe(1);
    expect(reads).toBeGreaterThan(0);
    expect(log.text()).not.toMatch(/il_old|il_new/);
    await one.drain();
  } finally {
    await fcp.stop();
  }
});

it('ends with a reason when its thread dies, stops its handlers, and the next worker takes over at once', async () => {
  const threads: Thread[] = [];
  const seen = (thread: Thread) => threads.push(thread);
  process.on('worker', seen);
  try {
    const log = new CollectingLog();
    const began = Promise.withResolvers<void>();
    const stops: string[] = [];
    const handler = (one: TaskWorker) =>
      one.handle(
        'demo/waits',
        1,
        async (_input, ctx) => {
          if (ctx.attempt > 1) return ctx.attempt;
          ctx.progress(1, 'begun');
          began.resolve();
          await once(ctx.signal, 'abort');
          stops.push(ctx.signal.reason.code);
          return 'not heard by anybody';
        },
        { effectSafety: 'idempotent' },
      );
    const one = handler(worker('garage-node', { log }));
    await one.start();
    const task = await producer.submit('demo/waits', 1, null);
    await began.promise;
    while ((await producer.get(task.id)).progress === undefined);
    await threads[0]?.terminate();
    expect(await one.ended).toEqual({
      why: 'agent-died',
      unsent: 0,
      stopped: 1,
      detail: expect.stringContaining('ended from outside'),
    });
    expect(stops).toEqual(['drain']);
    expect(one.status()?.state).toBe('stopped');
    expect(log.text()).toContain('agent.died');
    expect(await one.drain()).toMatchObject({ why: 'agent-died' });

    await handler(worker('garage-node')).start();
    expect(await producer.await(task.id)).toMatchObject({
      status: 'succeeded',
      attempts: 2,
      result: 2,
    });
  } finally {
    process.off('worker', seen);
  }
});

it('keeps the spool of a dead thread for as long as one of its handlers runs', async () => {
  const threads: Thread[] = [];
  const seen = (thread: Thread) => threads.push(thread);
  process.on('worker', seen);
  try {
    const began = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const deaf = async () => {
      began.resolve();
      await release.promise;
    };
    const log = new CollectingLog();
    const options = { stopGraceMs: 50, log };
    const one = worker('garage-node', options).handle('demo/deaf', 1, deaf);
    await one.start();
    await producer.submit('demo/deaf', 1, null);
    await began.promise;
    await threads[0]?.terminate();
    expect(await one.ended).toMatchObject({ why: 'agent-died', stopped: 1 });
    expect(log.text()).not.toContain('handler.unheard');
    const two = worker('garage-node').handle('demo/deaf', 1, deaf);
    await expect(two.start()).rejects.toMatchObject({ code: 'SPOOL_LOCKED' });
    release.resolve();
    // Given back a moment after the handler has returned.
    for (;;) {
      const three = worker('garage-node').handle('demo/deaf', 1, deaf);
      if (
        await three.start().then(
          () => true,
          (error) => error.code !== 'SPOOL_LOCKED',
        )
      )
        break;
    }
    expect(log.text()).toContain('handler.unheard');
  } finally {
    process.off('worker', seen);
  }
});

it('keeps the leases and the spool while handlers that would not go still run, and delivers what they say', async () => {
  const log = new CollectingLog();
  const release = Promise.withResolvers<void>();
  const begun: string[] = [];
  const deaf = (one: TaskWorker) =>
    one
      .handle(
        'demo/idempotent',
        1,
        async (_input, ctx) => {
          begun.push(`idempotent ${ctx.attempt}`);
          await release.promise;
          return 'late';
        },
        { effectSafety: 'idempotent' },
      )
      .handle('demo/once', 1, async (_input, ctx) => {
        begun.push(`once ${ctx.attempt}`);
        await release.promise;
        return 'late';
      });
  const short = { log, drainTimeoutMs: 200, stopGraceMs: 100 };
  const one = deaf(worker('garage-node', short));
  await one.start();
  const policy = { leaseMs: 5_000, backoff: { initialMs: 1, maxMs: 10 } };
  const tasks = [
    await producer.submit('demo/idempotent', 1, null, { policy }),
    await producer.submit('demo/once', 1, null, { policy }),
  ];
  await until(() => begun.length === 2, 'two beginnings');
  const end = { why: 'forced', unsent: 0, stopped: 2, detail: '2 handlers would not go' };
  expect(await one.drain()).toEqual(end);
  expect(one.status()).toMatchObject({ state: 'draining', slots: { busy: 2 } });
  expect(log.text()).toContain('drain.forced');

  const two = deaf(worker('garage-node'));
  await expect(two.start()).rejects.toMatchObject({
    code: 'SPOOL_LOCKED',
    hint: expect.stringContaining('a worker of this very program'),
  });
  // Nor may another worker of the program have them, whatever spool it has.
  const other = deaf(worker('other'));
  await other.start();
  // A renewal of each, seen by its lease.
  const leases = () => one.status()?.attempts.map(({ leaseLeftMs }) => leaseLeftMs) ?? [];
  let before = leases();
  const renewed = new Set<number>();
  await until(() => {
    const now = leases();
    for (const [i, left] of now.entries()) if (left > (before[i] ?? 0)) renewed.add(i);
    before = now;
    return renewed.size === 2;
  }, 'renewal of both');
  release.resolve();
  for (const { id } of tasks)
    expect(await producer.await(id)).toMatchObject({
      status: 'succeeded',
      result: 'late',
      attempts: 1,
    });
  expect(begun.sort()).toEqual(['idempotent 1', 'once 1']);
  await until(() => one.status()?.state === 'stopped', 'end of its thread');
  await other.drain();
  const three = deaf(worker('garage-node'));
  // Given back in the moment before its thread says so.
  await three.start();
  expect(await one.drain()).toEqual(end);
});

it('drains at the word of a handler, which cannot wait for the end itself', async () => {
  const one: TaskWorker = worker('garage-node', { drainTimeoutMs: 60_000 }).handle(
    'demo/leaves',
    1,
    async () => (await one.drain()).why,
  );
  await one.start();
  const task = await producer.submit('demo/leaves', 1, null);
  expect(await one.ended).toEqual({ why: 'drained', unsent: 0, stopped: 0 });
  expect(await producer.get(task.id)).toMatchObject({ status: 'succeeded', result: 'draining' });
});

it('starts nothing after a drain that came first', async () => {
  const one = worker('garage-node').handle('demo/hello', 1, () => 'hello');
  expect(await one.drain()).toEqual({ why: 'drained', unsent: 0, stopped: 0 });
  await expect(one.start()).rejects.toMatchObject({
    code: 'WORKER_ENDED',
    hint: expect.any(String),
  });
  expect(one.ended).toBeUndefined();
});

it('says of a handler that ignores its stop that it runs in the program, and outlives a log that rejects', async () => {
  const release = Promise.withResolvers<void>();
  const said: string[] = [];
  const line = async (event: string, text: string) => {
    said.push(`${event} ${text}`);
    throw new Error('a log of the user’s own');
  };
  const log = { debug: line, info: line, warn: line, error: line };
  const began = Promise.withResolvers<void>();
  const one = worker('garage-node', { log, stopGraceMs: 1 }).handle('demo/deaf', 1, () => {
    began.resolve();
    return release.promise;
  });
  await one.start();
  const task = await producer.submit('demo/deaf', 1, null);
  await began.promise;
  await producer.cancel(task.id);
  const stuck = () => said.find((text) => text.startsWith('handler.stuck'));
  await until(stuck, 'handler.stuck');
  expect(stuck()).toContain(`demo/deaf@1 (task ${task.id}) was told to stop and does not.`);
  expect(stuck()).not.toMatch(/state D|was killed/);
  release.resolve();
});
