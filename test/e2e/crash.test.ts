/** Processes that are killed with -9 in the middle, on real disks: nothing is lost, no effect is made twice. */
import { expect, it } from 'vitest';
import { until } from './processes.ts';
import { carries } from './proxy.ts';
import { LEASE_MS, PACKAGE_HANDLERS, World } from './world.ts';

/** Of the tasks here whose outcome only their worker could tell. */
const LOST_GRACE_MS = 1_000;

it.concurrent('brings the one result of one attempt through a kill -9 of the control plane and then of the worker', async () => {
  await using world = new World();
  const plane = await world.controlPlane('task-producer', 'task-worker');
  const proxy = await world.proxy();
  proxy.judge((passing) =>
    carries('complete', passing) ? plane.ended.then(() => 'cut' as const) : 'pass',
  );
  const options = { url: proxy.url, handlers: PACKAGE_HANDLERS };
  const worker = await world.worker(options);
  const input = { file: world.path('lines'), text: 'once' };
  const task = await world.producer.submit('effect/append', 1, input);

  await until(() => world.lines('lines').length > 0, 'line');
  await plane.crash();
  await until(() => world.records('reports').some(({ body }) => body?.op === 'complete'), 'report');
  await worker.crash();

  await world.controlPlane();
  proxy.judge(() => 'pass');
  await world.worker(options);
  const done = await world.producer.await(task, { timeoutMs: 30_000 });
  expect(done).toMatchObject({ status: 'succeeded', attempts: 1, undelivered: 0 });
  expect(world.lines('lines')).toEqual(['once']);
  const kinds = (await world.journal(task.id)).map(({ kind }) => kind);
  expect(kinds).toEqual(['submitted', 'leased', 'started', 'succeeded']);
  await until(() => world.inSpool('reports').length === 0, 'empty spool');
  for (const part of ['running', 'stale', 'refused', 'corrupt']) {
    expect(world.inSpool(part), part).toEqual([]);
  }
});

it.concurrent('never repeats an effect whose worker was killed past the gate, and keeps what that worker says later', async () => {
  await using world = new World();
  await world.controlPlane('task-producer', 'task-operator', 'task-worker');
  const proxy = await world.proxy();
  const never = new Promise<'cut'>(() => {});
  proxy.judge((passing) => (carries('complete', passing) ? never : 'pass'));
  const victim = { id: 'victim', url: proxy.url, max: 3 };
  const killed = await world.worker({ ...victim, handlers: PACKAGE_HANDLERS });
  const policy = { leaseMs: LEASE_MS, lostGraceMs: LOST_GRACE_MS };
  const submit = (type: string, file: string, more: object = {}) =>
    world.producer.submit(type, 1, { file: world.path(file), text: file, ...more }, { policy });
  const atStart = await submit('effect/append', 'at-start');
  const atEffect = await submit('effect/append-gated', 'at-effect');
  const working = await submit('effect/append', 'working', { afterMs: 600_000 });
  const tasks = [atStart, atEffect, working];
  const files = ['at-start', 'at-effect', 'working'];

  await until(() => files.every((file) => world.lines(file).length > 0), 'lines');
  const spooled = () => world.records('reports', 'victim').map(({ body }) => body.taskId);
  await until(() => spooled().length === 2, 'two reports');
  await killed.crash();
  const killedAt = performance.now();
  await world.worker({ id: 'other', max: 3, handlers: PACKAGE_HANDLERS });

  await Promise.all(tasks.map(({ id }) => world.entry(id, 'lost')));
  const took = performance.now() - killedAt;
  console.log(`outcome-unknown ${Math.round(took)} ms after the kill (lease ${LEASE_MS} ms)`);
  // Renewed at a third of the lease: that much of it may have gone by at the kill.
  expect(took).toBeGreaterThan((LEASE_MS * 2) / 3 + LOST_GRACE_MS - 500);
  for (const { id } of tasks) {
    expect(await world.producer.get(id)).toMatchObject({
      status: 'outcome-unknown',
      attempts: 1,
      error: { code: 'OUTCOME_UNKNOWN', effect: 'begun', details: { reason: 'lease' } },
    });
  }

  proxy.judge(() => 'pass');
  const back = await world.worker({ ...victim, handlers: PACKAGE_HANDLERS });
  await Promise.all([atStart, atEffect].map(({ id }) => world.entry(id, 'late-report')));
  await until(() => world.inSpool('reports', 'victim').length === 0, 'empty spool');
  const stale = world.records('stale', 'victim').filter(({ answer }) => answer);
  const recorded = stale.filter(({ record }) => record.body.op === 'complete');
  expect(recorded.map(({ record }) => record.body.taskId).sort()).toEqual(
    [atStart.id, atEffect.id].sort(),
  );
  expect(JSON.stringify(recorded[0].answer)).toContain('"recorded":true');
  expect(back.running).toBe(true);
  for (const { id } of tasks) {
    expect((await world.producer.get(id)).status).toBe('outcome-unknown');
  }

  const resolve = (id: string) =>
    world.run(['tasks', 'resolve', id, '--as', 'late-report', '--reason', 'seen', '--json']);
  const taken = await resolve(atStart.id);
  expect(taken).toMatchObject({ code: 0 });
  expect(JSON.parse(taken.out)).toMatchObject({ status: 'succeeded', attempts: 1 });
  expect(await resolve(working.id)).toMatchObject({ code: 79 });
  for (const file of files) expect(world.lines(file), file).toEqual([file]);
});

it.concurrent('gives a task whose worker was killed before the gate to another worker, with one effect', async () => {
  await using world = new World();
  await world.controlPlane('task-producer', 'task-worker');
  const proxy = await world.proxy();
  const never = new Promise<'cut'>(() => {});
  // The gate of the first kind is `start`, of the second `effect`.
  let gateShut = false;
  proxy.judge((passing) => {
    const gate = carries('effect', passing) || (gateShut && carries('start', passing));
    return gate ? never : 'pass';
  });
  const killed = await world.worker({
    id: 'victim',
    url: proxy.url,
    max: 2,
    handlers: PACKAGE_HANDLERS,
  });
  const submit = (type: string, file: string) =>
    world.producer.submit(
      type,
      1,
      { file: world.path(file), text: file },
      { policy: { leaseMs: LEASE_MS } },
    );
  const atEffect = await submit('effect/append-gated', 'at-effect');
  await proxy.saw((passing) => carries('effect', passing) && passing.body.includes(atEffect.id));
  gateShut = true;
  const atStart = await submit('effect/append', 'at-start');
  await proxy.saw((passing) => carries('start', passing) && passing.body.includes(atStart.id));
  expect([...world.lines('at-start'), ...world.lines('at-effect')]).toEqual([]);
  await killed.crash();
  await world.worker({ id: 'other', max: 2, handlers: PACKAGE_HANDLERS });

  for (const [task, file] of [
    [atStart, 'at-start'],
    [atEffect, 'at-effect'],
  ] as const) {
    const done = await world.producer.await(task, { timeoutMs: 30_000 });
    expect(done).toMatchObject({ status: 'succeeded', worker: 'other' });
    expect(world.lines(file)).toEqual([file]);
    const kinds = (await world.journal(task.id)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'leased')).toHaveLength(2);
    expect(kinds).toContain('lost');
  }
});

it.concurrent('keeps through a kill -9 that the handler was never called, and its control plane takes it so', async () => {
  await using world = new World();
  await world.controlPlane('task-producer', 'task-worker');
  const proxy = await world.proxy();
  const never = new Promise<'cut'>(() => {});
  proxy.judge((passing) => (carries('fail', passing) ? never : 'pass'));
  const options = { url: proxy.url, handlers: PACKAGE_HANDLERS };
  const worker = await world.worker(options);
  // Its schema refuses it, and its gate is the start: from there on only this word tells that no line was written.
  const task = await world.producer.submit('effect/append', 1, { file: 'relative', text: 'never' });

  const spooled = () => world.records('reports').map(({ body }) => body);
  await until(() => spooled().length > 0, 'report');
  expect(spooled()).toMatchObject([{ op: 'fail', begun: false }]);
  await worker.crash();
  proxy.judge(() => 'pass');
  await world.worker(options);

  const { data } = await world.entry(task.id, 'failed');
  expect(data).toMatchObject({ begun: false, code: 'INPUT_INVALID' });
  const { status, attempts, error } = await world.producer.get(task.id);
  expect({ status, attempts }).toEqual({ status: 'failed', attempts: 1 });
  expect(error).toMatchObject({ code: 'INPUT_INVALID' });
  expect(error).not.toHaveProperty('effect');
  const kinds = (await world.journal(task.id)).map(({ kind }) => kind);
  expect(kinds).toEqual(['submitted', 'leased', 'started', 'failed']);
  await until(() => world.inSpool('reports').length === 0, 'empty spool');
});
