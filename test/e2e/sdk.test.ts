/** The SDK against the embedded control plane, on real sockets. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { CollectingLog } from '../../sim/log.ts';
import { type ServedControlPlane, serveControlPlane } from '../../src/control-plane/serve.ts';
import { RetryableError, TaskOperator, TaskProducer, TaskWorker } from '../../src/index.ts';
import { systemClock } from '../../src/system/clock.ts';
import { systemRandom } from '../../src/system/random.ts';

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

function worker(workerId: string): TaskWorker {
  const made = new TaskWorker({
    serviceUrl: plane.url,
    key: workerKey,
    workerId,
    maxConcurrent: 2,
    spool: join(folder, `spool-${workerId}`),
    stopGraceMs: 500,
    log: new CollectingLog(),
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
