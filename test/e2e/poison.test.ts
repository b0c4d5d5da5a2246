/** Tasks that end their hosts or workers, and hosts that spoil their tasks. */
import { rmSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { TaskView } from '../../src/index.ts';
import { until } from './processes.ts';
import { PACKAGE_HANDLERS, World } from './world.ts';

const QUICK = { maxAttempts: 3, backoff: { initialMs: 50, maxMs: 200 } };

describe.concurrent('a task that ends its host (F43)', () => {
  it('has its attempts and no more, tells how it went, and harms no other', async () => {
    await using world = new World();
    await world.controlPlane('task-producer', 'task-operator', 'task-worker');
    // Hosts inherit it: what eats memory is soon at its end.
    const env = { NODE_OPTIONS: '--max-old-space-size=96' };
    await Promise.all(['a', 'b'].map((id) => world.worker({ id, max: 2, env })));
    const submit = (type: string, input: unknown = {}) =>
      world.producer.submit(type, 1, input, { policy: QUICK });
    const killed = await submit('test/kills-itself');
    const eats = await submit('test/eats-memory');
    const once = await submit('test/kills-itself-once');
    const healthy = await Promise.all(Array.from({ length: 20 }, (_, n) => submit('test/echo', n)));
    const ended = (task: { id: string }) => world.producer.await(task, { timeoutMs: 120_000 });

    for (const [n, task] of healthy.entries())
      expect(await ended(task)).toMatchObject({ status: 'succeeded', result: n, attempts: 1 });
    expect(await ended(killed)).toMatchObject({
      status: 'failed',
      attempts: 3,
      error: {
        code: 'ATTEMPTS_EXHAUSTED',
        message: expect.stringContaining('ended by SIGKILL'),
        details: { reason: 'host-died', signal: 'SIGKILL' },
      },
    });
    expect(await ended(eats)).toMatchObject({
      status: 'failed',
      attempts: 3,
      error: {
        code: 'ATTEMPTS_EXHAUSTED',
        message: expect.stringContaining('out of memory'),
        details: { reason: 'host-died', outOfMemory: true },
      },
    });
    expect(await ended(once)).toMatchObject({
      status: 'outcome-unknown',
      attempts: 1,
      error: {
        code: 'OUTCOME_UNKNOWN',
        effect: 'begun',
        details: {
          reason: 'host-died',
          signal: 'SIGKILL',
          lastProgress: { percent: 30, message: 'half of it sent' },
        },
      },
    });
    const shown = await world.run(['tasks', 'show', once.id]);
    expect(shown.out).toContain('last progress 30 %, "half of it sent" at ');
    const lost = (await world.journal(killed.id)).filter(({ kind }) => kind === 'lost');
    expect(lost.map(({ data }) => data.details)).toEqual(
      Array(3).fill(expect.objectContaining({ signal: 'SIGKILL' })),
    );
  });

  it('is cancelled while it is at it', async () => {
    await using world = new World();
    await world.controlPlane('task-producer', 'task-worker');
    await world.worker();
    const task = await world.producer.submit(
      'test/kills-itself',
      1,
      { afterMs: 500 },
      { policy: { maxAttempts: 1_000, backoff: { initialMs: 10, maxMs: 10 } } },
    );
    await until(async () => (await world.producer.get(task.id)).attempts >= 2, 'a second attempt');
    await world.entry(task.id, 'leased');
    await world.producer.cancel(task.id);
    const done = await world.producer.await(task, { timeoutMs: 30_000 });
    expect(done.status).toBe('cancelled');
    expect(done.attempts).toBeLessThan(100);
  });

  it('that ends its whole worker each time has its attempts and no more', async () => {
    await using world = new World();
    await world.controlPlane('task-producer', 'task-worker');
    // It serves other types: nobody but the victim may have the task.
    await world.worker({ id: 'other', handlers: PACKAGE_HANDLERS });
    const file = world.path('attempts');
    const task = await world.producer.submit('test/kills-agent', 1, { file }, { policy: QUICK });
    for (let life = 1; life <= 3; life++) {
      const victim = await world.worker({ id: 'victim' });
      expect(await victim.ending(60_000)).toMatchObject({ signal: 'SIGKILL' });
      const hello = await world.producer.submit('demo/hello', 1, { name: `${life}` });
      expect((await world.producer.await(hello)).status).toBe('succeeded');
    }
    await world.worker({ id: 'victim' });
    const done = await world.producer.await(task, { timeoutMs: 30_000 });
    expect(done).toMatchObject({
      status: 'failed',
      attempts: 3,
      error: {
        code: 'ATTEMPTS_EXHAUSTED',
        message: expect.stringMatching(/worker-restarted\. The worker's process .* was killed or/),
        details: {
          reason: 'worker-restarted',
          workerProcess: { went: 'died' },
          lastProgress: { percent: 50, message: 'about to fall' },
        },
      },
    });
    expect(world.lines('attempts')).toEqual(['1', '2', '3']);
  });
});

describe.runIf(process.platform === 'linux')('a worker that was killed and comes back', () => {
  it('ends a handler that spins, then runs its task again in about a second, or says at once that nobody knows', async () => {
    await using world = new World();
    await world.controlPlane('task-producer', 'task-worker');
    const first = await world.worker({ max: 2 });
    const again = await world.producer.submit('test/spins-first', 1, { file: world.path('first') });
    const once = await world.producer.submit('test/spins-once', 1, { file: world.path('once') });
    await until(() => world.lines('first').length + world.lines('once').length === 2, 'beginnings');
    await first.crash();
    const restartedAt = Date.now();
    await world.worker({ max: 2 });
    const readyAt = Date.now();
    const done = await world.producer.await(again, { timeoutMs: 60_000 });
    expect(done).toMatchObject({ status: 'succeeded', attempts: 2 });
    const [, second] = world.lines('first').map((line) => JSON.parse(line));
    expect(second.before).toBe('gone');
    const unknown = await world.producer.await(once, { timeoutMs: 60_000 });
    expect(unknown).toMatchObject({
      status: 'outcome-unknown',
      attempts: 1,
      error: {
        details: {
          reason: 'worker-restarted',
          handlerProcess: 'was-running',
          workerProcess: { went: 'died', pid: first.pid },
        },
      },
    });
    expect(world.lines('once')).toHaveLength(1);
    const unknownAt = Date.parse((await world.entry(once.id, 'lost')).at);
    const leasedAt = (await world.journal(again.id)).findLast(({ kind }) => kind === 'leased')?.at;
    console.log(
      `After the restart: ready ${readyAt - restartedAt} ms, outcome-unknown ${unknownAt - restartedAt} ms, claimed again ${Date.parse(leasedAt ?? '') - restartedAt} ms, run again ${second.at - restartedAt} ms`,
    );
    // Far below the lease of 30 s, also on a busy machine.
    expect(second.at - restartedAt).toBeLessThan(10_000);
    expect(unknownAt - restartedAt).toBeLessThan(10_000);
  });
});

describe('a worker whose host is sick (F56)', () => {
  it('leaves the type alone after three failures, the other one does the work, and it comes back when it is well', async () => {
    await using world = new World();
    await world.controlPlane('task-producer', 'task-operator', 'task-worker');
    const sickFile = world.path('sick');
    writeFileSync(sickFile, '');
    const sick = await world.worker({ id: 'sick', env: { TEST_SICK_FILE: sickFile } });
    const well = await world.worker({ id: 'well' });
    const refs = await world.producer.submitMany(
      Array.from({ length: 100 }, (_, n) => ({
        type: 'test/needs-card',
        schemaVersion: 1,
        input: n,
      })),
    );
    const tasks = refs.map((one) => {
      if (!one.ok) throw new Error('not submitted');
      return one.task;
    });
    const done: TaskView[] = await Promise.all(
      tasks.map((task) => world.producer.await(task, { timeoutMs: 120_000 })),
    );
    const succeeded = done.filter(({ status }) => status === 'succeeded');
    const failures = done.reduce((sum, { attempts }) => sum + attempts - 1, 0);
    console.log(
      `F56: ${succeeded.length} of 100 succeeded, ${failures} attempts failed on the sick one`,
    );
    expect(succeeded.length).toBeGreaterThanOrEqual(95);
    expect(failures).toBeLessThan(20);
    expect(sick.events('type.paused')).toHaveLength(1);
    expect(well.events('type.paused')).toHaveLength(0);

    const seen = await world.run(['tasks', 'workers']);
    expect(seen.out).toMatch(
      /sick: test\/needs-card@1 is (paused for|tried again).*it failed here for reasons of this host: HOST_UNHEALTHY: CUDA error: no device/,
    );
    expect(seen.out).toContain('1 type is paused');
    const doctor = await world.run(['tasks', 'doctor']);
    expect(doctor.out).toMatch(/sick: test\/needs-card@1 is (paused|tried)/);

    // Other types go on here.
    await well.crash();
    const echo = await world.producer.submit('test/echo', 1, 'still here');
    expect(await world.producer.await(echo)).toMatchObject({ status: 'succeeded', worker: 'sick' });
    rmSync(sickFile);
    const more = await Promise.all(
      [1, 2, 3].map((n) => world.producer.submit('test/needs-card', 1, n)),
    );
    for (const task of more)
      expect(await world.producer.await(task, { timeoutMs: 120_000 })).toMatchObject({
        status: 'succeeded',
        worker: 'sick',
      });
    expect(sick.events('type.resumed')).toHaveLength(1);
  });
});
