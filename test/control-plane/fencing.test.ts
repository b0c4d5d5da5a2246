import { beforeEach, describe, expect, it } from 'vitest';
import { type Reply, World } from './world.ts';

/** Contract, section 1: truth and fencing; with the list by curl of the issue. */

const GATED = { effectSafety: 'non-idempotent' };
let world: World;
beforeEach(async () => {
  world = await World.start();
});

const stale = (reply: Reply) =>
  expect(reply).toMatchObject({ status: 409, body: { code: 'STALE_ATTEMPT' } });
const expired = (reply: Reply) =>
  expect(reply).toMatchObject({ status: 409, body: { code: 'LEASE_EXPIRED' } });
/** Long enough for a lease of 30 s and the sweeper after it. */
const loseLease = () => world.clock.advance(31_000);

describe('the list by curl', () => {
  it('refuses the complete of an old attempt', async () => {
    const { task, attempt } = await world.running();
    await loseLease();
    const [second] = await world.claim('w2');
    expect(second).toMatchObject({ taskId: task.id, fence: 2, attempt: 1 });
    stale(await world.report(attempt, 'complete', { result: 1 }));
    expect((await world.task(task.id)).status).toBe('running');
    expect((await world.report(second, 'complete', { result: 2 })).status).toBe(200);
    expect((await world.task(task.id)).result).toBe(2);
  });

  it('answers the right complete twice, the second time as replayed', async () => {
    const { task, attempt } = await world.running();
    const first = await world.report(attempt, 'complete', { result: { a: 1, b: [2] } });
    expect(first.status).toBe(200);
    expect(first.body.replayed).toBeUndefined();
    // Another order of names is the same canonical body.
    const again = await world.report(attempt, 'complete', { result: { b: [2], a: 1 } });
    expect(again).toMatchObject({
      status: 200,
      body: { accepted: true, op: 'complete', replayed: true },
    });
    expect((await world.task(task.id)).seq).toBe(3);
  });

  it('refuses another result for an ended attempt', async () => {
    const { task, attempt } = await world.running();
    await world.report(attempt, 'complete', { result: 1 });
    stale(await world.report(attempt, 'complete', { result: 2 }));
    stale(
      await world.report(attempt, 'fail', { error: { code: 'X', message: 'x', retryable: false } }),
    );
    expect((await world.task(task.id)).result).toBe(1);
  });

  it('answers a repeated start only while the attempt is not over', async () => {
    const { attempt } = await world.running(GATED);
    expect((await world.gate(attempt)).body.replayed).toBeUndefined();
    expect((await world.gate(attempt)).body).toMatchObject({ accepted: true, replayed: true });
    await world.report(attempt, 'complete', { result: null });
    stale(await world.gate(attempt));
  });

  it('gives a repeated claim the same attempts, after their end none, never new work', async () => {
    await world.submit();
    await world.submit();
    const body = world.claimBody();
    const first = await world.call('POST', '/claims', { body });
    expect(first.body.attempts).toHaveLength(1);
    await world.clock.advance(20_000);
    const again = await world.call('POST', '/claims', { body });
    expect(again.body.attempts).toEqual(first.body.attempts);
    // Leases are renewed as of that answer.
    await world.clock.advance(20_000);
    const [attempt] = again.body.attempts;
    expect((await world.report(attempt, 'renew')).status).toBe(200);
    await world.report(attempt, 'complete', { result: 1 });
    const after = await world.call('POST', '/claims', { body });
    expect(after.body.attempts).toEqual([]);
    const { body: types } = await world.call('GET', '/types');
    expect(types.types[0].queued).toBe(1);
  });

  it('refuses a superseded session', async () => {
    await world.claim('w1');
    await world.claim('w1', { sessionId: 'ses-new' });
    const old = await world.call('POST', '/claims', { body: world.claimBody('w1') });
    expect(old).toMatchObject({ status: 409, body: { code: 'SESSION_SUPERSEDED' } });
    expect(old.body.detail).toContain('w1');
  });
});

describe('identity of a report', () => {
  it('does not know an attempt of nobody or of another project', async () => {
    const { attempt } = await world.running();
    const other = await world.key('task-worker', 'other');
    for (const options of [{ key: other }, {}]) {
      const id = 'key' in options ? attempt.attemptId : 'att_none';
      const reply = await world.call('POST', `/attempts/${id}/renew`, {
        ...options,
        body: { ...attempt, attemptId: id },
      });
      const project = 'key' in options ? 'other' : 'default';
      expect(reply).toMatchObject({
        status: 404,
        body: { code: 'NOT_FOUND', kind: 'attempt', project },
      });
    }
  });

  it('compares task id, fence and lease token', async () => {
    const { attempt } = await world.running();
    const other = await world.submit();
    for (const wrong of [
      { taskId: other.id },
      { fence: 2 },
      {
        leaseToken: `${attempt.leaseToken.slice(0, -1)}${attempt.leaseToken.endsWith('A') ? 'B' : 'A'}`,
      },
      { leaseToken: 'short' },
    ]) {
      stale(await world.report({ ...attempt, ...wrong }, 'renew'));
      stale(await world.report({ ...attempt, ...wrong }, 'complete', { result: 1 }));
    }
    expect((await world.report(attempt, 'renew')).status).toBe(200);
  });

  it('takes terminal reports with any worker key of the project', async () => {
    const { attempt } = await world.running();
    const key = await world.key('task-worker', 'default', 'new key');
    const { taskId, attemptId, fence, leaseToken } = attempt;
    const reply = await world.call('POST', `/attempts/${attemptId}/complete`, {
      key,
      body: { taskId, attemptId, fence, leaseToken, result: 1 },
    });
    expect(reply.status).toBe(200);
  });

  it('keeps lease tokens the same after a restart, and out of every view', async () => {
    const { task, attempt } = await world.running();
    await world.restart();
    expect((await world.report(attempt, 'renew')).status).toBe(200);
    const reader = await world.key('task-producer');
    for (const path of [
      `/tasks/${task.id}`,
      `/tasks/${task.id}/events`,
      '/tasks',
      '/workers',
      '/workers/w1',
    ])
      expect((await world.call('GET', path, { key: reader })).text).not.toContain(
        attempt.leaseToken,
      );
    expect(JSON.stringify(world.log)).not.toContain(attempt.leaseToken);
  });
});

describe('an expired lease (contract 1.22–1.30)', () => {
  it('takes a report of an expired attempt until the sweeper has ended it', async () => {
    const slow = await World.start({ timing: { sweepEveryMs: 3_600_000 } });
    // Nothing is due sooner than what the sweeper knows of, so its next look is made far away.
    const { task, attempt } = await slow.running({}, { policy: { leaseMs: 5_000 } });
    expect(attempt.leaseMs).toBe(5_000);
    await slow.clock.advance(6_000);
    expect((await slow.report(attempt, 'complete', { result: 1 })).status).toBe(200);
    expect((await slow.task(task.id)).status).toBe('succeeded');
  });

  it('refuses a gate on an expired lease until it is renewed', async () => {
    const slow = await World.start({ timing: { sweepEveryMs: 3_600_000 } });
    const { attempt } = await slow.running(GATED, { policy: { leaseMs: 5_000 } });
    await slow.clock.advance(6_000);
    expired(await slow.gate(attempt));
    expect((await slow.report(attempt, 'renew')).status).toBe(200);
    expect((await slow.gate(attempt)).status).toBe(200);
  });

  it('queues again at once what another worker may run, and waits where nobody may', async () => {
    const free = await world.running({}, {}, 'w1');
    const gated = await world.running(GATED, {}, 'w2');
    await world.gate(gated.attempt, 'start', 'w2');
    await loseLease();
    expect(await world.task(free.task.id)).toMatchObject({
      status: 'queued',
      undelivered: 1,
      attempts: 0,
    });
    const waiting = await world.task(gated.task.id);
    expect(waiting.status).toBe('running');
    expect(waiting.waitingFor).toMatch(
      /worker w2 has not renewed its lease for 31 s; nobody else may run/,
    );
    await world.clock.advance(300_000);
    expect(await world.task(gated.task.id)).toMatchObject({
      status: 'outcome-unknown',
      error: { code: 'OUTCOME_UNKNOWN', effect: 'begun', details: { reason: 'lease' } },
    });
  });

  it('waits for the word of the last permitted attempt, but not when a cancel is requested', async () => {
    const policy = { maxAttempts: 1, lostGraceMs: 60_000 };
    const last = await world.running({}, { policy }, 'w1');
    await world.gate(last.attempt, 'start', 'w1');
    const cancelled = await world.running({}, { policy }, 'w2');
    await world.gate(cancelled.attempt, 'start', 'w2');
    await world.call('POST', `/tasks/${cancelled.task.id}/cancel`, { body: {} });
    await loseLease();
    expect((await world.task(last.task.id)).status).toBe('running');
    expect((await world.task(cancelled.task.id)).status).toBe('cancelled');
    await world.clock.advance(60_000);
    expect(await world.task(last.task.id)).toMatchObject({
      status: 'failed',
      error: { code: 'ATTEMPTS_EXHAUSTED', details: { reason: 'lease' } },
    });
  });

  it('keeps the first outcome of a lost attempt as a late report, which an operator can take', async () => {
    const { task, attempt } = await world.running(GATED, { policy: { lostGraceMs: 1_000 } });
    await world.gate(attempt);
    await world.clock.advance(32_000);
    expect((await world.task(task.id)).status).toBe('outcome-unknown');
    expired(await world.report(attempt, 'renew'));
    expired(await world.gate(attempt));
    expired(await world.report(attempt, 'lost', { reason: 'lease', begun: true }));
    const late = await world.report(attempt, 'complete', { result: { late: true } });
    expect(late).toMatchObject({ status: 409, body: { code: 'STALE_ATTEMPT', recorded: true } });
    const again = await world.report(attempt, 'complete', { result: { late: true } });
    expect(again).toMatchObject({ status: 409, body: { recorded: true, replayed: true } });
    const other = await world.report(attempt, 'complete', { result: 'other' });
    stale(other);
    expect(other.body.recorded).toBeUndefined();
    expired(await world.report(attempt, 'renew'));
    const before = await world.task(task.id);
    expect(before).toMatchObject({ status: 'outcome-unknown', lateReport: { op: 'complete' } });
    expect(before.result).toBeUndefined();
    const attention = await world.call('GET', '/tasks?needs=attention');
    expect(attention.body.tasks.map(({ id }: { id: string }) => id)).toEqual([task.id]);
    const taken = await world.call('POST', `/tasks/${task.id}/resolve`, {
      body: { actionId: 'a1', ifSeq: before.seq, resolution: 'late-report', reason: 'it did' },
    });
    expect(taken.body).toMatchObject({ status: 'succeeded', result: { late: true } });
    expect(await world.kinds(task.id)).toEqual([
      'submitted',
      'leased',
      'started',
      'lost',
      'late-report',
      'resolved',
    ]);
    expect((await world.call('GET', '/tasks?needs=attention')).body.tasks).toEqual([]);
    stale(
      await world.report(attempt, 'fail', { error: { code: 'X', message: 'x', retryable: false } }),
    );
  });

  it('records no late report once the task was claimed again or an operator has acted', async () => {
    const { task, attempt } = await world.running(GATED);
    await loseLease();
    expect((await world.task(task.id)).status).toBe('queued');
    await world.claim('w2');
    stale(await world.report(attempt, 'complete', { result: 1 }));
    expect((await world.task(task.id)).lateReport).toBeUndefined();
  });

  it('tells a renewal that came after the outcome that there is nothing to renew', async () => {
    for (const [op, more] of [
      ['complete', { result: 1 }],
      ['release', { reason: 'no-slot' }],
    ] as const) {
      const { task, attempt } = await world.running();
      expect((await world.report(attempt, op, more)).status).toBe(200);
      expired(await world.report(attempt, 'renew'));
      expect((await world.report(attempt, op, more)).body.replayed).toBe(true);
      await world.call('POST', `/tasks/${task.id}/cancel`, { body: {} });
    }
  });
});

it('lets no lease expire for one lease length after its own start', async () => {
  const { task, attempt } = await world.running();
  await world.app.stop();
  await world.clock.advance(600_000);
  await world.restart();
  await world.clock.advance(29_000);
  expect((await world.task(task.id)).status).toBe('running');
  expect((await world.report(attempt, 'renew')).status).toBe(200);
  await world.app.stop();
  await world.restart();
  await world.clock.advance(31_000);
  expect((await world.task(task.id)).status).toBe('queued');
});

it('gives leases anew after it stood still, since renewals are still on their way', async () => {
  const { task, attempt } = await world.running();
  world.clock.suspend(3_600_000);
  await world.clock.advance(3_600_000);
  await world.clock.advance(10_000);
  expect((await world.task(task.id)).status).toBe('running');
  expect((await world.report(attempt, 'renew')).status).toBe(200);
});

it('goes on sweeping after a store that failed, without flooding the log', async () => {
  const { task } = await world.running();
  const { nextTimeMs } = world.store;
  world.store.nextTimeMs = () => Promise.reject(new Error('disk I/O error'));
  await world.clock.advance(60_000);
  const failures = world.log.filter(({ event }) => event === 'sweep.failed').length;
  expect(failures).toBeGreaterThan(10);
  expect(failures).toBeLessThanOrEqual(61);
  world.store.nextTimeMs = nextTimeMs;
  await world.clock.advance(2_000);
  expect((await world.task(task.id)).status).toBe('queued');
});

it('numbers the journal 1, 2, 3 without gaps through every kind of change', async () => {
  const { task, attempt } = await world.running();
  await world.gate(attempt);
  await world.report(attempt, 'renew');
  await world.report(attempt, 'progress', { n: 1, percent: 5 });
  await world.report(attempt, 'log', { n: 1, lines: [{ at: 'x', level: 'info', text: 'hello' }] });
  await world.report(attempt, 'fail', { error: { code: 'AGAIN', message: 'm', retryable: true } });
  await world.call('POST', `/tasks/${task.id}/cancel`, { body: { reason: 'enough' } });
  const view = await world.task(task.id);
  await world.call('POST', `/tasks/${task.id}/retry`, {
    body: { actionId: 'a', ifSeq: view.seq, reason: 'again' },
  });
  const { body } = await world.call('GET', `/tasks/${task.id}/events`);
  expect(body.events.map(({ seq }: { seq: number }) => seq)).toEqual(
    body.events.map((_: unknown, i: number) => i + 1),
  );
  expect(body.seq).toBe(body.events.length);
  expect(body.events.map(({ kind }: { kind: string }) => kind)).toEqual([
    'submitted',
    'leased',
    'started',
    'failed',
    'requeued',
    'cancelled',
    'retried',
  ]);
});

it('counts n of progress and log up: what is not above the last changes nothing but the lease', async () => {
  const { task, attempt } = await world.running();
  expect(
    (await world.report(attempt, 'progress', { n: 2, percent: 20, checkpoint: { at: 2 } })).status,
  ).toBe(200);
  const old = await world.report(attempt, 'progress', { n: 1, percent: 10, checkpoint: { at: 1 } });
  expect(old).toMatchObject({
    status: 200,
    body: { accepted: true, replayed: true, leaseMs: 30_000 },
  });
  const line = (text: string) => ({
    lines: [{ at: '2026-01-01T00:00:00.000Z', level: 'info', text }],
  });
  await world.report(attempt, 'log', { n: 1, ...line('one') });
  await world.report(attempt, 'log', { n: 1, ...line('one') });
  await world.report(attempt, 'log', { n: 2, ...line('two\u0000') });
  expect((await world.task(task.id)).progress).toMatchObject({ percent: 20 });
  const { body } = await world.call('GET', `/tasks/${task.id}/logs`);
  expect(body.lines.map(({ text }: { text: string }) => text)).toEqual(['one', 'two\u0000']);
  const rest = await world.call('GET', `/tasks/${task.id}/logs?after=${body.lines[0].cursor}`);
  expect(rest.body.lines).toHaveLength(1);
  // The last checkpoint goes to the next attempt.
  await loseLease();
  const [next] = await world.claim('w2');
  expect(next).toMatchObject({ attempt: 2, checkpoint: { at: 2 } });
});
