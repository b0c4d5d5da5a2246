import { beforeEach, describe, expect, it } from 'vitest';
import { World } from './world.ts';

/** What producers and operators do with tasks: lists, journals, cancel, retry, resolve. */

let world: World;
beforeEach(async () => {
  world = await World.start();
});

const act = (id: string, what: string, body: Record<string, unknown>) =>
  world.call('POST', `/tasks/${id}/${what}`, { body });
const failure = { error: { code: 'BROKE', message: 'm', retryable: false } };

/** A task that failed after its gate was passed. */
async function begunAndFailed() {
  const { task, attempt } = await world.running({ effectSafety: 'non-idempotent' });
  await world.gate(attempt);
  await world.report(attempt, 'fail', failure);
  return world.task(task.id);
}
async function unknown() {
  const { task, attempt } = await world.running({ effectSafety: 'non-idempotent' });
  await world.gate(attempt);
  await world.report(attempt, 'unknown', failure);
  return world.task(task.id);
}

describe('cancel', () => {
  it('ends a queued task at once, asks a running one, and refuses an ended one', async () => {
    const queued = await world.submit();
    const cancelled = await act(queued.id, 'cancel', { reason: 'no need' });
    expect(cancelled.body).toMatchObject({ status: 'cancelled' });
    expect(await act(queued.id, 'cancel', {})).toMatchObject({
      status: 409,
      body: { code: 'TASK_TERMINAL', seq: 2 },
    });
    const { task } = await world.running();
    expect((await act(task.id, 'cancel', {})).body).toMatchObject({
      status: 'running',
      cancelRequested: true,
    });
    expect((await act(task.id, 'cancel', {})).status).toBe(200);
    expect(await world.kinds(task.id)).toEqual(['submitted', 'leased', 'cancel-requested']);
  });

  it('meant for before an operator acted is a conflict with the present seq', async () => {
    const { id } = await world.submit();
    await act(id, 'cancel', {});
    await act(id, 'retry', { actionId: 'r', ifSeq: 2, reason: 'again' });
    expect(await act(id, 'cancel', { ifSeq: 2 })).toMatchObject({
      status: 409,
      body: { code: 'CONFLICT', seq: 3 },
    });
    // Other entries do not stand in the way.
    const [attempt] = await world.claim();
    expect((await act(id, 'cancel', { ifSeq: 3 })).status).toBe(200);
    expect((await world.report(attempt, 'cancelled')).status).toBe(200);
  });
});

describe('an action id', () => {
  it('sent again gets the first answer, whatever happened since', async () => {
    const { task, attempt } = await world.running();
    const first = await act(task.id, 'cancel', { actionId: 'a' });
    await world.report(attempt, 'cancelled');
    const again = await act(task.id, 'cancel', { actionId: 'a' });
    expect(again.text).toBe(first.text);
    expect((await act(task.id, 'cancel', { actionId: 'b' })).status).toBe(409);
    const view = await world.task(task.id);
    const retried = await act(task.id, 'retry', { actionId: 'r', ifSeq: view.seq, reason: 'x' });
    expect((await act(task.id, 'retry', { actionId: 'r', ifSeq: 0, reason: 'x' })).text).toBe(
      retried.text,
    );
    expect((await world.task(task.id)).seq).toBe(view.seq + 1);
    expect(
      await act(task.id, 'retry', { actionId: 'a', ifSeq: view.seq + 1, reason: 'x' }),
    ).toMatchObject({
      status: 409,
      body: { code: 'CONFLICT' },
    });
  });
});

describe('retry', () => {
  it('puts a failed task back with more attempts, and says for what it stands in the journal', async () => {
    const { task, attempt } = await world.running({}, { policy: { maxAttempts: 1 } });
    await world.report(attempt, 'fail', failure);
    expect((await world.task(task.id)).status).toBe('failed');
    const { body } = await act(task.id, 'retry', {
      actionId: 'a',
      ifSeq: 3,
      reason: 'mended',
      attempts: 2,
    });
    expect(body).toMatchObject({ status: 'queued', seq: 4 });
    expect(body.error).toBeUndefined();
    for (const round of [2, 3]) {
      const [next] = await world.claim();
      expect(next.attempt).toBe(round);
      await world.report(next, 'fail', { error: { ...failure.error, retryable: true } });
      await world.clock.advance(200_000);
    }
    expect((await world.task(task.id)).status).toBe('failed');
  });

  it('asks before it may repeat an effect', async () => {
    const { id, seq } = await begunAndFailed();
    const without = await act(id, 'retry', { actionId: 'a', ifSeq: seq, reason: 'x' });
    expect(without).toMatchObject({ status: 409, body: { code: 'CONFLICT' } });
    expect(without.body.detail).toContain('acceptRepeatedEffect');
    // A refusal is no answer to remember.
    const more = { actionId: 'a', ifSeq: seq, reason: 'x', acceptRepeatedEffect: true };
    expect((await act(id, 'retry', more)).status).toBe(200);
  });

  it('clears a cancel and a passed deadline', async () => {
    const { id } = await world.submit({ policy: { deadlineAt: '2026-01-01T00:00:10.000Z' } });
    await world.clock.advance(20_000);
    const { seq } = await world.task(id);
    const { body } = await act(id, 'retry', { actionId: 'a', ifSeq: seq, reason: 'x' });
    expect(body).toMatchObject({ status: 'queued', policy: { deadlineAt: null } });
    expect(await world.claim()).toHaveLength(1);
  });

  it('is not for what runs, succeeded or is unknown, nor for another seq', async () => {
    const { task, attempt } = await world.running();
    const retry = (ifSeq: number) =>
      act(task.id, 'retry', { actionId: `a${ifSeq}`, ifSeq, reason: 'x' });
    expect((await retry(2)).body.code).toBe('CONFLICT');
    await world.report(attempt, 'complete', { result: 1 });
    expect((await retry(3)).body.code).toBe('CONFLICT');
    expect((await retry(2)).body).toMatchObject({ code: 'CONFLICT', seq: 3 });
    const { id, seq } = await unknown();
    expect(
      (await act(id, 'retry', { actionId: 'a', ifSeq: seq, reason: 'x' })).body.detail,
    ).toContain('resolve');
  });
});

describe('resolve', () => {
  it.each([
    ['succeeded', { result: { by: 'hand' } }, { status: 'succeeded', result: { by: 'hand' } }],
    ['succeeded', {}, { status: 'succeeded', result: null }],
    [
      'failed',
      {},
      {
        status: 'failed',
        error: { code: 'RESOLVED_FAILED', message: expect.stringContaining('looked') },
      },
    ],
    ['retry', {}, { status: 'queued' }],
  ])('says what became of it: %s', async (resolution, more, view) => {
    const { id, seq } = await unknown();
    const { status, body } = await act(id, 'resolve', {
      actionId: 'a',
      ifSeq: seq,
      resolution,
      reason: 'I looked',
      ...more,
    });
    expect(status).toBe(200);
    expect(body).toMatchObject(view);
    expect(await world.task(id)).toMatchObject(view);
    expect((await world.kinds(id)).at(-1)).toBe('resolved');
  });

  it('is only for what is unknown, and takes a late report only where there is one', async () => {
    const { id } = await world.submit();
    const body = { actionId: 'a', ifSeq: 1, resolution: 'succeeded', reason: 'x' };
    expect((await act(id, 'resolve', body)).body.code).toBe('CONFLICT');
    await act(id, 'cancel', {});
    const { id: other, seq } = await unknown();
    const late = { actionId: 'a', ifSeq: seq, resolution: 'late-report', reason: 'x' };
    expect((await act(other, 'resolve', late)).body.code).toBe('CONFLICT');
    expect((await act(other, 'resolve', { ...late, resolution: 'maybe' })).status).toBe(400);
  });
});

describe('a list', () => {
  const ids = async (query: string) =>
    (await world.call('GET', `/tasks${query}`)).body.tasks.map(({ id }: { id: string }) => id);

  it('goes on from page to page, newest first', async () => {
    const made: string[] = [];
    for (let i = 0; i < 7; i++) {
      await world.clock.advance(1);
      made.push((await world.submit()).id);
    }
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const { body } = await world.call(
        'GET',
        `/tasks?limit=3${cursor ? `&cursor=${cursor}` : ''}`,
      );
      seen.push(...body.tasks.map(({ id }: { id: string }) => id));
      cursor = body.cursor;
    } while (cursor);
    expect(seen).toEqual(made.reverse());
  });

  it('is filtered by everything the contract names', async () => {
    const a = await world.submit({ labels: { team: 'red', tier: '1' } });
    await world.clock.advance(1_000);
    const b = await world.submit({
      type: 'demo/other',
      schemaVersion: 2,
      pool: 'gpu',
      labels: { team: 'blue' },
    });
    await act(a.id, 'cancel', {});
    const both = [b.id, a.id];
    for (const [query, expected] of [
      ['', both],
      ['?status=cancelled', [a.id]],
      ['?status=cancelled,queued', both],
      ['?status=cancelled&status=queued', both],
      ['?type=demo/other', [b.id]],
      ['?schemaVersion=2', [b.id]],
      ['?pool=gpu', [b.id]],
      ['?label=team', both],
      ['?label=team=red', [a.id]],
      ['?label=team&label=tier=1', [a.id]],
      ['?since=2026-01-01T00:00:01.000Z', [b.id]],
      ['?until=2026-01-01T00:00:01.000Z', [a.id]],
      ['?since=2030-01-01T00:00:00.000Z', []],
      ['?needs=attention', []],
    ] as const)
      expect(await ids(query), query).toEqual(expected);
  });

  it('refuses what it does not know', async () => {
    for (const query of [
      '?status=done',
      '?limit=0',
      '?limit=501',
      '?include=secrets',
      '?since=yesterday',
      '?type=a@1',
      '?needs=x',
    ])
      expect(await world.call('GET', `/tasks${query}`), query).toMatchObject({
        status: 400,
        body: { code: 'INVALID_REQUEST' },
      });
  });

  it('holds input and result only where they are asked for', async () => {
    const { attempt } = await world.running();
    await world.report(attempt, 'complete', { result: [1] });
    const plain = (await world.call('GET', '/tasks')).body.tasks[0];
    expect(plain).not.toHaveProperty('input');
    expect(plain).not.toHaveProperty('result');
    const full = (await world.call('GET', '/tasks?include=input,result')).body.tasks[0];
    expect(full).toMatchObject({ input: { name: 'Ada' }, result: [1] });
  });
});

it('cuts a page of large tasks short, and loses none', async () => {
  const input = 'x'.repeat(260_000);
  const made: string[] = [];
  for (let i = 0; i < 70; i++) made.push((await world.submit({ input })).id);
  const seen: string[] = [];
  let pages = 0;
  for (let cursor = ''; pages < 10; pages++) {
    const { body, text } = await world.call('GET', `/tasks?limit=500&include=input${cursor}`);
    expect(text.length).toBeLessThan(9_000_000);
    seen.push(...body.tasks.map(({ id }: { id: string }) => id));
    if (!body.cursor) break;
    cursor = `&cursor=${body.cursor}`;
  }
  expect(pages).toBe(2);
  expect(seen.sort()).toEqual(made.sort());
});

describe('the journal', () => {
  it('is read from an entry on, and waits for news', async () => {
    const { id } = await world.submit();
    const events = (query: string) => world.call('GET', `/tasks/${id}/events${query}`);
    expect((await events('?after=0')).body.events).toHaveLength(1);
    const waiting = events('?after=1&waitMs=30000');
    await world.clock.advance(5_000);
    await world.claim();
    expect((await waiting).body).toMatchObject({
      events: [{ seq: 2, kind: 'leased', fence: 1 }],
      seq: 2,
    });
  });

  it('answers with nothing when nothing came, and at the end of the control plane', async () => {
    const { id } = await world.submit();
    const waiting = world.call('GET', `/tasks/${id}/events?after=1&waitMs=10000`);
    await world.clock.advance(9_999);
    let settled = false;
    void waiting.then(() => {
      settled = true;
    });
    await world.clock.advance(0);
    expect(settled).toBe(false);
    await world.clock.advance(2);
    expect((await waiting).body).toEqual({ events: [], seq: 1 });
    const last = world.call('GET', `/tasks/${id}/events?after=1&waitMs=30000`);
    await world.clock.advance(10);
    await world.app.stop();
    expect((await last).body.events).toEqual([]);
  });

  it('waits no longer than the contract allows, and for no unknown task', async () => {
    const { id } = await world.submit();
    expect((await world.call('GET', `/tasks/${id}/events?waitMs=30001`)).status).toBe(400);
    expect((await world.call('GET', '/tasks/tsk_none/events?waitMs=1000')).status).toBe(404);
  });
});
