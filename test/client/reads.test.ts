import { describe, expect, it } from 'vitest';
import { TaskError } from '../../src/contract/index.ts';
import { clientDefaults } from '../../src/core/defaults.ts';
import { People, reset } from './people.ts';

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'none',
    (error: unknown) => (error instanceof TaskError ? error.code : String(error)),
  );

describe('await', () => {
  it('returns a task that has ended at once', async () => {
    const people = await People.start();
    const producer = await people.producer();
    const task = await people.settled(producer.submit('a', 1, 1));
    await people.settled(producer.cancel(task));
    expect(await people.settled(producer.await(task.id))).toMatchObject({ status: 'cancelled' });
  });

  it('waits in one long poll and sees the end at once', async () => {
    const people = await People.start();
    const { world } = people;
    const producer = await people.producer();
    const { task, attempt } = await world.running();
    const ended = producer.await(task.id);
    await world.clock.advance(20_000);
    await world.report(attempt, 'complete', { result: { hello: 'Ada' } });
    const before = people.nowMs;
    expect(await people.settled(ended)).toMatchObject({
      status: 'succeeded',
      result: { hello: 'Ada' },
    });
    expect(people.nowMs).toBe(before);
    expect(people.sent.filter(({ path }) => path.includes('waitMs')).length).toBeLessThan(4);
  });

  it('outlasts a control plane that is away for a minute', async () => {
    const people = await People.start();
    const { world } = people;
    const producer = await people.producer();
    const { task, attempt } = await world.running({}, { policy: { leaseMs: 600_000 } });
    const ended = producer.await(task.id);
    await world.clock.advance(1_000);
    people.mishap = reset;
    await world.clock.advance(60_000);
    await world.report(attempt, 'complete', { result: 1 });
    people.mishap = () => undefined;
    expect(await people.settled(ended)).toMatchObject({ status: 'succeeded' });
  });

  it('ends after its time with what the task waits for', async () => {
    const people = await People.start();
    const producer = await people.producer();
    const task = await people.settled(producer.submit('a', 1, 1));
    const error = await people.settled(
      producer.await(task, { timeoutMs: 40_000 }).then(
        () => undefined,
        (thrown: unknown) => thrown,
      ),
    );
    expect(error).toMatchObject({
      code: 'AWAIT_TIMEOUT',
      retryable: true,
      details: { taskId: task.id, status: 'queued', waitingFor: expect.any(String) },
    });
    expect(people.nowMs).toBe(40_000);
    // Two long polls, not a loop.
    expect(people.sent.length).toBeLessThan(8);
  });

  it('can be given up', async () => {
    const people = await People.start();
    const producer = await people.producer();
    const task = await people.settled(producer.submit('a', 1, 1));
    const stop = new AbortController();
    const code = codeOf(producer.await(task, { signal: stop.signal }));
    await people.world.clock.advance(3_000);
    stop.abort();
    expect(await people.settled(code)).toBe('ABORTED');
    expect(people.nowMs).toBe(3_000);
  });

  it('does not take an unknown status for an end, nor spin where waitMs is not heeded', async () => {
    const people = await People.start();
    const producer = await people.producer();
    const task = await people.settled(producer.submit('a', 1, 1));
    people.mishap = async (go, { path }) => {
      if (path.includes('/events')) return Response.json({ events: [], seq: task.seq });
      return Response.json({ ...((await (await go()).json()) as object), status: 'paused' });
    };
    const from = people.sent.length;
    expect(await people.settled(codeOf(producer.await(task, { timeoutMs: 60_000 })))).toBe(
      'AWAIT_TIMEOUT',
    );
    expect(people.sent.length - from).toBeLessThan(60_000 / clientDefaults.eventsGapMaxMs + 15);
  });

  it('ends when nobody has answered for five minutes', async () => {
    const people = await People.start();
    const producer = await people.producer();
    const task = await people.settled(producer.submit('a', 1, 1));
    people.mishap = reset;
    expect(await people.settled(codeOf(producer.await(task)))).toBe('UNREACHABLE');
    expect(people.nowMs).toBeGreaterThan(clientDefaults.silenceMs - 15_000);
  });

  it('says that an id is none, and that a task is not there', async () => {
    const people = await People.start();
    const producer = await people.producer();
    expect(await people.settled(codeOf(producer.await('../keys')))).toBe('INVALID_REQUEST');
    expect(people.sent).toEqual([]);
    expect(await people.settled(codeOf(producer.await('tsk_nothing')))).toBe('NOT_FOUND');
  });
});

describe('events', () => {
  it('are the journal in order', async () => {
    const people = await People.start();
    const { world } = people;
    const producer = await people.producer();
    const { task } = await world.running();
    const events = await people.settled(all(producer.events(task.id)));
    expect(events.map(({ seq, kind }) => `${seq} ${kind}`)).toEqual(['1 submitted', '2 leased']);
    expect(await people.settled(all(producer.events(task.id, { after: 1 })))).toHaveLength(1);
  });

  it('are followed until the task has ended, each once, through lost answers', async () => {
    const people = await People.start();
    const { world } = people;
    const producer = await people.producer();
    const { task, attempt } = await world.running({}, { policy: { leaseMs: 600_000 } });
    const followed = all(producer.events(task.id, { follow: true }));
    await world.clock.advance(1_000);
    await world.gate(attempt);
    let n = 0;
    people.mishap = async (go) => {
      if (n++ % 2 === 1) return undefined;
      await go();
      return reset();
    };
    await world.clock.advance(30_000);
    await world.report(attempt, 'complete', { result: 1 });
    const events = await people.settled(followed);
    expect(events.map(({ kind }) => kind)).toEqual(['submitted', 'leased', 'started', 'succeeded']);
  });

  it('of a task that has ended do not make a follower wait', async () => {
    const people = await People.start();
    const producer = await people.producer();
    const task = await people.settled(producer.submit('a', 1, 1));
    await people.settled(producer.cancel(task));
    const events = await people.settled(all(producer.events(task, { follow: true, after: 99 })));
    expect(events).toEqual([]);
    expect(people.nowMs).toBe(0);
  });
});

it('lists page by page', async () => {
  const people = await People.start();
  const producer = await people.producer();
  for (let n = 0; n < 5; n++) {
    await people.settled(producer.submit('a', 1, n));
    await people.world.clock.advance(1);
  }
  await people.settled(producer.submit('b', 1, 0));
  const page = await people.settled(producer.listPage({ type: 'a', limit: 2 }));
  expect(page).toMatchObject({ tasks: [{ type: 'a' }, { type: 'a' }], cursor: expect.any(String) });
  const found = await people.settled(
    all(producer.list({ type: 'a', limit: 2, include: ['input'] })),
  );
  expect(found.map(({ input }) => input)).toEqual([4, 3, 2, 1, 0]);
  expect(await people.settled(all(producer.list({ status: ['succeeded', 'failed'] })))).toEqual([]);
});

it('reads the log to its end', async () => {
  const people = await People.start();
  const { world } = people;
  const producer = await people.producer();
  const { task, attempt } = await world.running();
  for (let n = 1; n <= 3; n++) {
    const line = { at: '2026-01-01T00:00:00.000Z', level: 'info', text: `line ${n}` };
    await world.report(attempt, 'log', { n, lines: [line] });
  }
  const lines = await people.settled(all(producer.logs(task.id)));
  expect(lines.map(({ text }) => text)).toEqual(['line 1', 'line 2', 'line 3']);
  const rest = await people.settled(all(producer.logs(task.id, { after: lines[0]?.cursor })));
  expect(rest.map(({ text }) => text)).toEqual(['line 2', 'line 3']);
});
