import { describe, expect, it } from 'vitest';
import { World } from './world.ts';

/** Contract, section 4, through the door: what happened × how safe a repeat is. */

type Way =
  | 'pure'
  | 'idempotent'
  | 'before its gate'
  | 'past its gate'
  | 'before its effect'
  | 'past its effect';

const wants: Record<Way, Record<string, unknown>> = {
  pure: { effectSafety: 'pure' },
  idempotent: { effectSafety: 'idempotent' },
  'before its gate': { effectSafety: 'non-idempotent' },
  'past its gate': { effectSafety: 'non-idempotent' },
  'before its effect': { effectSafety: 'non-idempotent', effectGate: 'effect' },
  'past its effect': { effectSafety: 'non-idempotent', effectGate: 'effect' },
};
const LEFT: Way[] = ['pure', 'idempotent', 'before its gate', 'before its effect'];
const RIGHT: Way[] = ['past its gate', 'past its effect'];

async function begun(way: Way, policy: Record<string, unknown> = {}) {
  const world = await World.start();
  const { task, attempt } = await world.running(wants[way], { policy });
  const gates =
    way === 'before its gate' ? [] : way === 'past its effect' ? ['start', 'effect'] : ['start'];
  for (const gate of gates) {
    const reply = await world.gate(attempt, gate as 'start' | 'effect');
    if (reply.status !== 200) throw new Error(reply.text);
  }
  return { world, task, attempt, id: task.id as string };
}

const error = (retryable: boolean) => ({
  error: { code: 'BROKE', message: 'it broke', retryable },
});

describe.each([...LEFT, ...RIGHT])('a handler that is %s', (way) => {
  const past = RIGHT.includes(way);

  it('succeeds with a result', async () => {
    const { world, id, attempt } = await begun(way);
    await world.report(attempt, 'complete', { result: 1 });
    expect(await world.task(id)).toMatchObject({ status: 'succeeded', result: 1 });
  });

  it('is repeated after a retryable failure only where that is safe', async () => {
    const { world, id, attempt } = await begun(way);
    await world.report(attempt, 'fail', error(true));
    const task = await world.task(id);
    if (past) {
      expect(task).toMatchObject({ status: 'failed', error: { code: 'BROKE', effect: 'begun' } });
    } else {
      expect(task.status).toBe('queued');
      expect(task.waitingFor).toMatch(/^retry in \d s$/);
      await world.clock.advance(6_000);
      expect(
        await world.claim('w2', { want: [{ type: 'demo/hello', schemaVersion: 1, slots: 1 }] }),
      ).toMatchObject([{ fence: 2, attempt: 2 }]);
    }
  });

  it('fails after its last permitted attempt', async () => {
    const { world, id, attempt } = await begun(way, { maxAttempts: 1 });
    await world.report(attempt, 'fail', error(true));
    expect(await world.task(id)).toMatchObject({
      status: 'failed',
      error: { code: 'BROKE', attempt: 1 },
    });
  });

  it('is outcome-unknown when it says so', async () => {
    const { world, id, attempt } = await begun(way);
    await world.report(attempt, 'unknown', error(false));
    expect(await world.task(id)).toMatchObject({
      status: 'outcome-unknown',
      error: { code: 'BROKE' },
    });
  });

  it('fails for good after any other exception', async () => {
    const { world, id, attempt } = await begun(way);
    await world.report(attempt, 'fail', error(false));
    const task = await world.task(id);
    expect(task).toMatchObject({ status: 'failed', error: { code: 'BROKE' } });
    expect(task.error.effect).toBe(past ? 'begun' : undefined);
  });

  it('without a word from it is repeated, or unknown past its gate', async () => {
    const { world, id, attempt } = await begun(way);
    await world.report(attempt, 'lost', {
      reason: 'host-died',
      begun: true,
      details: { signal: 'SIGKILL' },
    });
    const task = await world.task(id);
    expect(task.status).toBe(past ? 'outcome-unknown' : 'queued');
    if (past) {
      expect(task.error).toMatchObject({
        code: 'OUTCOME_UNKNOWN',
        effect: 'begun',
        details: { reason: 'host-died', signal: 'SIGKILL' },
      });
    } else {
      // A first loss is queued again at once.
      expect(await world.claim('w2')).toHaveLength(1);
    }
  });

  it('that obeyed a cancel is cancelled, or unknown past its gate', async () => {
    const { world, id, attempt } = await begun(way);
    expect((await world.report(attempt, 'cancelled')).body.code).toBe('NOT_CANCELLING');
    await world.call('POST', `/tasks/${id}/cancel`, { body: {} });
    expect((await world.report(attempt, 'cancelled')).status).toBe(200);
    expect((await world.task(id)).status).toBe(past ? 'outcome-unknown' : 'cancelled');
  });

  it('is expired after its deadline, or unknown past its gate', async () => {
    const world = await World.start();
    const { task, attempt } = await world.running(wants[way], {
      policy: { deadlineAt: '2026-01-01T00:01:00.000Z', leaseMs: 600_000 },
    });
    if (way !== 'before its gate') await world.gate(attempt);
    if (way === 'past its effect') await world.gate(attempt, 'effect');
    await world.clock.advance(61_000);
    expect((await world.report(attempt, 'renew')).body.cancelRequested).toBe(true);
    await world.report(attempt, 'cancelled');
    expect(await world.task(task.id)).toMatchObject(
      past
        ? { status: 'outcome-unknown' }
        : { status: 'expired', error: { code: 'DEADLINE_PASSED' } },
    );
  });

  it('is given back unless it is past its gate', async () => {
    const { world, id, attempt } = await begun(way);
    const reply = await world.report(attempt, 'release', { reason: 'drain' });
    if (past) {
      expect(reply).toMatchObject({ status: 409, body: { code: 'NOT_RELEASABLE' } });
      expect((await world.report(attempt, 'complete', { result: 1 })).status).toBe(200);
    } else {
      expect(reply.status).toBe(200);
      expect(await world.task(id)).toMatchObject({ status: 'queued', attempts: 0, undelivered: 1 });
    }
  });

  it('with a cancel requested is cancelled instead of queued again', async () => {
    for (const [op, more] of [
      ['lost', { reason: 'lease', begun: true }],
      ['fail', error(true)],
    ] as const) {
      const { world, id, attempt } = await begun(way);
      await world.call('POST', `/tasks/${id}/cancel`, { body: {} });
      await world.report(attempt, op, more);
      const status = past ? (op === 'fail' ? 'failed' : 'outcome-unknown') : 'cancelled';
      expect((await world.task(id)).status).toBe(status);
    }
  });

  it('that returned before it saw the cancel has succeeded', async () => {
    const { world, id, attempt } = await begun(way);
    await world.call('POST', `/tasks/${id}/cancel`, { body: {} });
    await world.report(attempt, 'complete', { result: 1 });
    expect((await world.task(id)).status).toBe('succeeded');
  });
});

describe('counting', () => {
  it('ends a task that is given back 20 times', async () => {
    const world = await World.start();
    const { id } = await world.submit();
    for (let i = 0; i < 20; i++) {
      const [attempt] = await world.claim();
      expect(attempt, `round ${i}`).toMatchObject({ attempt: 1, fence: i + 1 });
      await world.report(attempt, 'release', { reason: i % 2 ? 'no-handler' : 'drain' });
      await world.clock.advance(200_000);
    }
    expect(await world.task(id)).toMatchObject({
      status: 'failed',
      attempts: 0,
      undelivered: 20,
      error: { code: 'UNDELIVERABLE', details: { reason: 'no-handler' } },
    });
  });

  it('ends a task whose attempts were all lost, with what is known (F43)', async () => {
    const world = await World.start();
    const { id } = await world.submit({ policy: { maxAttempts: 3 } });
    for (let i = 1; i <= 3; i++) {
      const [attempt] = await world.claim();
      expect(attempt.attempt).toBe(i);
      await world.gate(attempt);
      await world.report(attempt, 'lost', {
        reason: 'host-died',
        begun: true,
        details: { signal: 'SIGKILL', outOfMemory: true },
      });
      await world.clock.advance(200_000);
    }
    expect(await world.task(id)).toMatchObject({
      status: 'failed',
      attempts: 3,
      error: {
        code: 'ATTEMPTS_EXHAUSTED',
        details: { reason: 'host-died', signal: 'SIGKILL', outOfMemory: true },
      },
    });
  });

  it('counts from the first word, and never a renewal', async () => {
    const world = await World.start();
    const { task, attempt } = await world.running();
    await world.report(attempt, 'renew');
    expect((await world.task(task.id)).attempts).toBe(0);
    await world.report(attempt, 'progress', { n: 1 });
    expect((await world.task(task.id)).attempts).toBe(1);
    await world.gate(attempt);
    expect((await world.task(task.id)).attempts).toBe(1);
    await world.report(attempt, 'lost', { reason: 'drain', begun: true });
    expect(await world.task(task.id)).toMatchObject({
      attempts: 0,
      undelivered: 1,
      status: 'queued',
    });
  });

  it('says where a gate was skipped', async () => {
    const world = await World.start();
    const { task, attempt } = await world.running({ effectSafety: 'non-idempotent' });
    await world.report(attempt, 'complete', { result: 1 });
    const { body } = await world.call('GET', `/tasks/${task.id}/events`);
    expect(body.events.at(-1)).toMatchObject({ kind: 'succeeded', data: { gateSkipped: true } });
  });

  it('renews no attempt later than a minute past its timeout', async () => {
    const world = await World.start();
    const { attempt } = await world.running(
      {},
      { policy: { attemptTimeoutMs: 60_000, leaseMs: 600_000 } },
    );
    await world.gate(attempt);
    await world.clock.advance(119_000);
    expect((await world.report(attempt, 'renew')).status).toBe(200);
    await world.clock.advance(1_001);
    for (const [op, more] of [
      ['renew', {}],
      ['progress', { n: 1 }],
    ] as const)
      expect((await world.report(attempt, op, more)).body.code).toBe('LEASE_EXPIRED');
    expect((await world.report(attempt, 'complete', { result: 1 })).status).toBe(200);
  });
});

describe('what needs attention', () => {
  const waiting = async (world: World) =>
    (await world.call('GET', '/tasks?needs=attention')).body.tasks.map(
      ({ id }: { id: string }) => id,
    );

  it('includes a failure past its gate, also one that says the effect had not begun', async () => {
    const { world, id, attempt } = await begun('past its effect');
    await world.report(attempt, 'fail', {
      error: { code: 'EFFECT_NOT_BEGUN', message: 'the answer was lost', retryable: true },
    });
    expect(await world.task(id)).toMatchObject({ status: 'failed', error: { effect: 'begun' } });
    expect(await waiting(world)).toEqual([id]);
    const { seq } = await world.task(id);
    await world.call('POST', `/tasks/${id}/retry`, {
      body: { actionId: 'a', ifSeq: seq, reason: 'looked', acceptRepeatedEffect: true },
    });
    expect(await waiting(world)).toEqual([]);
  });

  it('leaves out a failure past its gate whose handler was never called, which is retried without more', async () => {
    const { world, id, attempt } = await begun('past its gate');
    await world.report(attempt, 'fail', { ...error(false), begun: false });
    const task = await world.task(id);
    expect(task).toMatchObject({ status: 'failed', error: { code: 'BROKE', begun: false } });
    expect(task.error.effect).toBeUndefined();
    expect(await waiting(world)).toEqual([]);
    const { events } = (await world.call('GET', `/tasks/${id}/events`)).body;
    const { data } = events.find(({ kind }: { kind: string }) => kind === 'failed');
    expect(data).toEqual(expect.objectContaining({ begun: false, code: 'BROKE' }));
    expect(data.gatePassed).toBeUndefined();
    const retried = await world.call('POST', `/tasks/${id}/retry`, {
      body: { actionId: 'a', ifSeq: task.seq, reason: 'mended' },
    });
    expect(retried.status).toBe(200);
  });

  it.each([true, null, 'no', 0])(
    'takes `begun: %j` of a failure as a failure without it',
    async (said) => {
      const { world, id, attempt } = await begun('past its gate');
      await world.report(attempt, 'fail', { ...error(false), begun: said });
      expect((await world.task(id)).error).toMatchObject({ effect: 'begun' });
    },
  );

  it('leaves out a failure before its gate, and one that an operator has resolved as failed', async () => {
    const { world, attempt } = await begun('before its effect');
    await world.report(attempt, 'fail', error(false));
    expect(await waiting(world)).toEqual([]);
    const other = await begun('past its effect');
    await other.world.report(other.attempt, 'unknown', error(false));
    expect(await waiting(other.world)).toEqual([other.id]);
    const { seq } = await other.world.task(other.id);
    await other.world.call('POST', `/tasks/${other.id}/resolve`, {
      body: { actionId: 'a', ifSeq: seq, resolution: 'failed', reason: 'looked' },
    });
    const resolved = await other.world.task(other.id);
    expect(resolved).toMatchObject({ status: 'failed', error: { code: 'RESOLVED_FAILED' } });
    // Somebody looked: there was no effect that a repeat could repeat.
    expect(resolved.error.effect).toBeUndefined();
    expect(await waiting(other.world)).toEqual([]);
  });
});
