import { expect, it } from 'vitest';
import { SimulatedClock } from '../../sim/clock.ts';
import { SimulatedRandom } from '../../sim/random.ts';
import { TaskError } from '../../src/contract/errors.ts';
import type { Store, Transaction } from '../../src/ports/store.ts';
import { openMemoryStore } from '../../src/stores/memory.ts';
import { World } from './world.ts';

/** A control plane whose store fails, as `fail` says, where a task of that type is put in. */
async function worldThat(fail: () => never): Promise<World> {
  const clock = new SimulatedClock({ wallMs: Date.UTC(2026, 0, 1) });
  const random = new SimulatedRandom(7);
  const inner = openMemoryStore({ clock, random });
  const store: Store = {
    ...inner,
    get stats() {
      return inner.stats;
    },
    write: (work, ...rest) =>
      inner.write(
        (tx) => {
          const failing: Transaction = Object.create(tx, {
            insertTask: {
              value: (...given: Parameters<Transaction['insertTask']>) =>
                given[0].type === 'demo/bad' ? fail() : tx.insertTask(...given),
            },
          });
          return work(failing);
        },
        ...rest,
      ),
  };
  return World.start({ clock, random, store });
}

const task = (type: string) => ({ type, schemaVersion: 1, input: {} });
const statuses = (items: { status: number }[]) => items.map(({ status }) => status);

it('an item of a batch that throws fails alone, and nothing is put in twice', async () => {
  const world = await worldThat(() => {
    throw new Error('a bug');
  });
  const body = [task('demo/a'), task('demo/bad'), { type: 'none' }, task('demo/b')];
  const reply = await world.call('POST', '/tasks/batch', { body });
  expect(statuses(reply.body)).toEqual([201, 500, 400, 201]);
  const { body: page } = await world.call('GET', '/tasks');
  expect(page.tasks.map(({ type }: { type: string }) => type).sort()).toEqual(['demo/a', 'demo/b']);
  expect(world.log.filter(({ event }) => event === 'request.failed')).toHaveLength(1);
  await world.app.stop();
});

it('where the store keeps nothing, what was refused before still is, and the rest hears to come back', async () => {
  const world = await worldThat(() => {
    throw new TaskError('UNAVAILABLE', 'The disk is full.');
  });
  const body = [task('demo/bad'), { type: 'none' }];
  const reply = await world.call('POST', '/tasks/batch', { body });
  expect(statuses(reply.body)).toEqual([503, 400]);
  await world.app.stop();
});

it('a batch is one command of the store', async () => {
  const world = await World.start();
  await world.call('POST', '/tasks/batch', { body: [task('demo/a')] });
  const before = world.store.stats.commands;
  await world.call('POST', '/tasks/batch', { body: Array.from({ length: 100 }, () => task('a')) });
  expect(world.store.stats.commands - before).toBe(1);
  await world.app.stop();
});

it.each([{ toString: 1 }, [{ toString: 1 }], 7, null, 'toString', 'renew'])(
  'a report whose op is %j is answered for itself',
  async (op) => {
    const world = await World.start();
    const attempt = { attemptId: 'att_0', fence: 1, leaseToken: 'x', sessionId: 'ses_0' };
    const reports = [{ ...attempt, op }, 7, { ...attempt, op: 'renew' }];
    const reply = await world.call('POST', '/attempts/batch', { body: { reports } });
    expect(reply.status).toBe(200);
    const [first, ...others] = statuses(reply.body.results);
    expect(first).toBe(op === 'renew' ? others[1] : 400);
    expect(others[0]).toBe(400);
    expect(world.log.filter(({ level }) => level === 'error')).toEqual([]);
    await world.app.stop();
  },
);

/** Reports of two attempts, in turns and behind each other: beginning, words, end, end again, and what comes too late. */
async function manyReports(world: World): Promise<Record<string, unknown>[]> {
  for (const pool of ['a', 'b', 'c']) await world.submit({ pool });
  const [a, b, c] = await world.claim('w1', { pools: ['a', 'b', 'c'], max: 3 });
  const said = (attempt: typeof a, op: string, more = {}) => {
    const { taskId, attemptId, fence, leaseToken } = attempt;
    return { op, taskId, attemptId, fence, leaseToken, ...more };
  };
  const line = { at: '2026-01-01T00:00:00.000Z', level: 'info', text: 'half' };
  const error = { code: 'BUSY', message: 'later', retryable: true };
  return [
    said(a, 'start', { sessionId: 'ses-w1' }),
    said(a, 'progress', { n: 1, percent: 50, checkpoint: { at: 7 } }),
    said(a, 'complete', { result: { ok: true } }),
    said(a, 'complete', { result: { ok: true } }),
    said(b, 'start', { sessionId: 'ses-other' }),
    said(b, 'log', { n: 1, lines: [line] }),
    said(a, 'renew'),
    said(b, 'fail', { error }),
    said(b, 'complete', { result: null }),
    said(c, 'renew'),
    said(c, 'start', { sessionId: 'ses-w1' }),
    said(c, 'renew', { leaseToken: 'il' }),
    said({ ...c, attemptId: 'att_none' }, 'renew'),
    said(c, 'unknown', { error }),
  ];
}

it('reports in a batch come to what the same reports come to one by one', async () => {
  const seen = [];
  for (const together of [false, true]) {
    const world = await World.start({ random: new SimulatedRandom(7) });
    const reports = await manyReports(world);
    const replies = [];
    if (together) {
      const { body } = await world.call('POST', '/attempts/batch', { body: { reports } });
      replies.push(...body.results);
    } else
      for (const report of reports)
        replies.push(
          await world.call('POST', `/attempts/${report.attemptId}/${report.op}`, { body: report }),
        );
    const answers = replies.map(({ status, body: { requestId: _, ...body } }) => ({
      status,
      body,
    }));
    const { body: page } = await world.call('GET', '/tasks?include=result');
    const journals = [];
    for (const { id } of page.tasks)
      journals.push((await world.call('GET', `/tasks/${id}/events`)).body);
    seen.push({ answers, page, journals });
    await world.app.stop();
  }
  const [apart, together] = seen;
  expect(new Set(apart?.answers.map(({ status }) => status))).toEqual(new Set([200, 404, 409]));
  expect(together).toEqual(apart);
});

it('tasks that are kept are told as kept, though the look at the workers fails behind the commit', async () => {
  const clock = new SimulatedClock({ wallMs: Date.UTC(2026, 0, 1) });
  const random = new SimulatedRandom(7);
  const inner = openMemoryStore({ clock, random });
  let failing = false;
  const store: Store = Object.create(inner, {
    workers: {
      value: (...given: Parameters<Store['workers']>) =>
        failing ? Promise.reject(new Error('disk I/O error')) : inner.workers(...given),
    },
  });
  const world = await World.start({ clock, random, store });
  failing = true;
  const one = { ...task('demo/a'), idempotencyKey: 'one' };
  for (const again of [201, 200]) {
    const single = await world.call('POST', '/tasks', { body: one });
    expect([single.status, single.body.waitingFor]).toEqual([again, undefined]);
    const many = await world.call('POST', '/tasks/batch', { body: [one, task('demo/b')] });
    expect(statuses(many.body)).toEqual([200, 201]);
  }
  await world.app.stop();
});
