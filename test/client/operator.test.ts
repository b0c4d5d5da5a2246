import { expect, it } from 'vitest';
import { TaskError } from '../../src/contract/index.ts';
import { People, reset } from './people.ts';

const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'none',
    (error: unknown) => (error instanceof TaskError ? error.code : String(error)),
  );

it('cancels with the seq that the caller saw, once, however often the answer is lost', async () => {
  const people = await People.start();
  const producer = await people.producer();
  const task = await people.settled(producer.submit('a', 1, 1));
  let lost = 2;
  people.mishap = async (go, { path }) => {
    if (!path.endsWith('/cancel') || lost-- <= 0) return undefined;
    await go();
    return reset();
  };
  const cancelled = await people.settled(producer.cancel(task, { reason: 'not needed' }));
  expect(cancelled.status).toBe('cancelled');
  const bodies = people.bodies(`/tasks/${task.id}/cancel`);
  expect(bodies).toHaveLength(3);
  expect(bodies[0]).toEqual({
    reason: 'not needed',
    ifSeq: task.seq,
    actionId: expect.stringMatching(/^act_/),
  });
  expect(new Set(bodies.map((body) => JSON.stringify(body))).size).toBe(1);
  expect(await people.settled(codeOf(producer.cancel(task.id)))).toBe('TASK_TERMINAL');
});

it('retries a cancelled task, and not from an old view', async () => {
  const people = await People.start();
  const producer = await people.producer();
  const operator = await people.operator();
  const task = await people.settled(producer.submit('a', 1, 1));
  await people.settled(producer.cancel(task.id));
  const reason = 'wanted after all';
  expect(await people.settled(codeOf(operator.retry(task, { reason })))).toBe('CONFLICT');
  expect(await people.settled(operator.retry(task.id, { reason }))).toMatchObject({
    status: 'queued',
  });
  // A cancel from before the retry is refused: somebody has acted since.
  expect(await people.settled(codeOf(producer.cancel(task)))).toBe('CONFLICT');
});

it('resolves a task whose outcome is unknown', async () => {
  const people = await People.start();
  const { world } = people;
  const operator = await people.operator();
  const { task, attempt } = await world.running({ effectSafety: 'non-idempotent' });
  await world.gate(attempt);
  await world.report(attempt, 'unknown', { error: { code: 'NO_IDEA', message: 'gone' } });
  const view = await people.settled(operator.get(task.id));
  expect(view.status).toBe('outcome-unknown');
  const resolve = { resolution: 'succeeded', reason: 'seen in the ledger' } as const;
  expect(await people.settled(codeOf(operator.resolve(view, { ...resolve, result: 1n })))).toBe(
    'INVALID_REQUEST',
  );
  const resolved = await people.settled(operator.resolve(view, { ...resolve, result: { n: 1 } }));
  expect(resolved).toMatchObject({ status: 'succeeded', result: { n: 1 } });
});

it('sees workers, types and how the control plane is', async () => {
  const people = await People.start();
  await people.world.claim('w1');
  const operator = await people.operator();
  await people.world.submit();
  expect(await people.settled(operator.doctor())).toMatchObject({
    project: 'default',
    keyKind: 'task-operator',
    queueDepth: 1,
  });
  expect(await people.settled(operator.types())).toMatchObject({ types: [{ type: 'demo/hello' }] });
  const { workers } = await people.settled(operator.workers());
  expect(workers.map(({ workerId }) => workerId)).toEqual(['w1']);
  expect(await people.settled(operator.worker('w1'))).toMatchObject({ workerId: 'w1' });
  await people.settled(operator.drainWorker('w1'));
  expect(await people.settled(operator.discover())).toMatchObject({ contracts: [1] });
});

it('makes a key, once, with an admin key', async () => {
  const people = await People.start();
  const admin = await people.operator('admin');
  expect(await people.settled(admin.newKey('garage', 'task-worker'))).toMatchObject({
    kind: 'task-worker',
    project: 'default',
    key: expect.stringMatching(/^il_/),
  });
  people.mishap = async (go) => {
    await go();
    return reset();
  };
  const from = people.sent.length;
  expect(await people.settled(codeOf(admin.newKey('lost', 'task-worker')))).toBe('UNREACHABLE');
  expect(people.sent.length - from).toBe(1);
  const operator = await people.operator();
  people.mishap = () => undefined;
  expect(await people.settled(codeOf(operator.newKey('no', 'admin')))).toBe('SCOPE_DENIED');
});
