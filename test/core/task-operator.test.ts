import { describe, expect, it } from 'vitest';
import type { PolicyRequest } from '../../src/contract/index.ts';
import {
  cancelled,
  complete,
  effectGate,
  fail,
  failRetryable,
  failUncalled,
  failUncalledRetryable,
  idempotent,
  inWords,
  lost,
  lostUnbegun,
  pure,
  release,
  renew,
  start,
  startGate,
  T0,
  TaskWorld,
  unknown,
} from './task-world.ts';

/** What people ask for: cancel, retry, resolve (contract, section 6). */
const states: Record<string, () => TaskWorld> = {
  queued: () => new TaskWorld(),
  running: () => {
    const world = new TaskWorld();
    world.claim(pure);
    return world;
  },
  succeeded: () => ended(complete),
  failed: () => ended(fail),
  'failed, begun': () => ended(fail, startGate),
  'outcome-unknown': () => ended(unknown),
  cancelled: () => {
    const world = new TaskWorld();
    world.cancel();
    return world;
  },
  expired: () => {
    const world = new TaskWorld({ queueTimeoutMs: 1 });
    world.pass(1).sweep();
    return world;
  },
};
function ended(said: Parameters<TaskWorld['say']>[0], safety = pure): TaskWorld {
  const world = new TaskWorld();
  world.claim(safety);
  world.say(start);
  world.say(said);
  return world;
}
const lateOf = (status: 'queued' | 'failed' | 'expired' | 'outcome-unknown' | 'cancelled') => {
  const world = new TaskWorld({
    maxAttempts: status === 'failed' ? 1 : 5,
    lostGraceMs: 0,
    ...(status === 'expired' ? { deadlineAt: new Date(T0 + 1).toISOString() } : {}),
  });
  world.claim(status === 'outcome-unknown' ? startGate : idempotent);
  world.say(start);
  if (status === 'cancelled') world.cancel();
  world.pass(30_000).sweep();
  expect(world.task.status).toBe(status);
  return world;
};

describe('every action on every status', () => {
  const table: Record<
    string,
    [cancel: string, retry: string, succeeded: string, failed: string, again: string]
  > = {
    queued: ['cancelled', 'CONFLICT', 'CONFLICT', 'CONFLICT', 'CONFLICT'],
    running: ['running', 'CONFLICT', 'CONFLICT', 'CONFLICT', 'CONFLICT'],
    succeeded: ['TASK_TERMINAL', 'CONFLICT', 'CONFLICT', 'CONFLICT', 'CONFLICT'],
    failed: ['TASK_TERMINAL', 'queued', 'CONFLICT', 'CONFLICT', 'CONFLICT'],
    'failed, begun': ['TASK_TERMINAL', 'CONFLICT', 'CONFLICT', 'CONFLICT', 'CONFLICT'],
    'outcome-unknown': ['TASK_TERMINAL', 'CONFLICT', 'succeeded', 'failed', 'queued'],
    cancelled: ['TASK_TERMINAL', 'queued', 'CONFLICT', 'CONFLICT', 'CONFLICT'],
    expired: ['TASK_TERMINAL', 'queued', 'CONFLICT', 'CONFLICT', 'CONFLICT'],
  };
  const actions = [
    (w: TaskWorld) => w.cancel(),
    (w: TaskWorld) => w.retry(),
    (w: TaskWorld) => w.resolve('succeeded'),
    (w: TaskWorld) => w.resolve('failed'),
    (w: TaskWorld) => w.resolve('retry'),
  ];

  it.each(Object.keys(states))('%s', (state) => {
    const were = actions.map((act) => {
      const world = (states[state] as () => TaskWorld)();
      const before = world.task;
      const verdict = act(world);
      if (verdict.ok) return world.task.status;
      // Refused: nothing changed, and the present seq is told.
      expect(world.task).toEqual(before);
      expect(verdict.more).toMatchObject({ seq: before.seq });
      return verdict.code;
    });
    expect(were).toEqual(table[state]);
  });

  it.each(['queued', 'failed', 'expired', 'outcome-unknown'] as const)(
    'takes a late report of a task that is %s',
    (status) => {
      const world = lateOf(status);
      expect(inWords(world.resolve('late-report'))).toBe('CONFLICT');
      world.say(complete);
      expect(inWords(world.resolve('late-report'))).toBe('ok');
      expect(world.task).toMatchObject({
        status: 'succeeded',
        resultJson: '{"n":1}',
        finishedAtMs: world.now,
      });
      expect(world.task.error).toBeUndefined();
      expect(world.journal.at(-1)).toMatchObject({
        kind: 'resolved',
        data: { resolution: 'late-report', op: 'complete', status: 'succeeded' },
      });
    },
  );

  it('takes no late report of a task that is cancelled, succeeded or running again', () => {
    const gone = lateOf('cancelled');
    gone.say(complete);
    expect(inWords(gone.resolve('late-report'))).toBe('CONFLICT');
    const again = lateOf('queued');
    again.say(complete);
    again.claim(pure);
    expect(inWords(again.resolve('late-report'))).toBe('CONFLICT');
    again.say(complete);
    expect(inWords(again.resolve('late-report'))).toBe('CONFLICT');
  });

  it('takes a late report as what it says', () => {
    for (const [said, outcome] of [
      [fail, 'failed BROKEN begun'],
      [failRetryable, 'failed BROKEN begun'],
      [unknown, 'outcome-unknown BROKEN begun'],
    ] as const) {
      const world = lateOf('outcome-unknown');
      world.say(said);
      world.resolve('late-report');
      expect(world.outcome).toBe(outcome);
    }
  });
});

describe('cancel', () => {
  it('ends a queued task at once, and only asks a running one', () => {
    const queued = new TaskWorld();
    queued.cancel({ reason: 'no need' });
    expect(queued.journal.at(-1)).toMatchObject({
      kind: 'cancelled',
      by: 'key:k',
      data: { reason: 'no need', status: 'cancelled' },
    });
    const running = states.running?.() as TaskWorld;
    running.cancel({ reason: 'no need' });
    expect(running.task).toMatchObject({
      status: 'running',
      cancelRequested: true,
      cancelReason: 'no need',
    });
    expect(running.journal.at(-1)).toMatchObject({
      kind: 'cancel-requested',
      data: { reason: 'no need' },
    });
    expect(running.say(renew)).toMatchObject({ cancelRequested: true });
  });

  it('is one entry however often it is asked', () => {
    const world = states.running?.() as TaskWorld;
    world.cancel();
    expect(inWords(world.cancel())).toBe('ok replayed');
    expect(world.kinds.filter((kind) => kind === 'cancel-requested')).toHaveLength(1);
  });

  it('wins over being queued again, whatever ends the attempt', () => {
    for (const said of [failRetryable, lost, release, cancelled]) {
      const world = states.running?.() as TaskWorld;
      world.cancel();
      world.say(said);
      expect(world.task.status).toBe('cancelled');
      expect(world.journal.at(-1)).toMatchObject({
        kind: 'cancelled',
        data: { status: 'cancelled' },
      });
    }
  });

  it('loses to a handler that returned before it saw the cancel', () => {
    const world = states.running?.() as TaskWorld;
    world.cancel();
    world.say(complete);
    expect(world.task.status).toBe('succeeded');
  });

  it('from before an operator acted is not for what came after', () => {
    const world = ended(fail);
    const seen = world.task.seq;
    world.retry();
    expect(world.cancel({ ifSeq: seen })).toMatchObject({
      ok: false,
      code: 'CONFLICT',
      more: { seq: world.task.seq },
    });
    expect(world.task.status).toBe('queued');
    expect(inWords(world.cancel({ ifSeq: world.task.seq }))).toBe('ok');
  });

  it('is not disturbed by entries that no operator made', () => {
    const world = new TaskWorld();
    const seen = world.task.seq;
    world.claim(pure);
    world.say(start);
    expect(inWords(world.cancel({ ifSeq: seen }))).toBe('ok');
  });
});

describe('retry', () => {
  it('asks for the present seq', () => {
    const world = ended(fail);
    for (const ifSeq of [world.task.seq - 1, world.task.seq + 1])
      expect(world.retry({ ifSeq })).toMatchObject({
        ok: false,
        code: 'CONFLICT',
        more: { seq: world.task.seq },
      });
    expect(inWords(world.retry())).toBe('ok');
  });

  it('repeats an effect that had begun only when told that this is all right', () => {
    const world = ended(fail, startGate);
    expect(world.retry()).toMatchObject({
      code: 'CONFLICT',
      more: {
        hint: expect.stringContaining(
          `interlock tasks retry ${world.task.id} --reason "…" --accept-repeated-effect`,
        ),
      },
    });
    const open = ended(unknown);
    expect(open.retry()).toMatchObject({
      code: 'CONFLICT',
      more: {
        hint: expect.stringContaining(`interlock tasks resolve ${open.task.id} --as succeeded`),
      },
    });
    expect(inWords(world.retry({ acceptRepeatedEffect: true }))).toBe('ok');
    expect(world.journal.at(-1)).toMatchObject({
      kind: 'retried',
      by: 'key:o',
      data: { acceptRepeatedEffect: true, status: 'queued' },
    });
  });

  describe('after an accepted one', () => {
    const accepted = (policy: PolicyRequest = {}) => {
      const world = new TaskWorld(policy);
      world.claim(startGate);
      world.say(start);
      world.say(fail);
      world.retry({ acceptRepeatedEffect: true });
      expect(world.task).toMatchObject({
        status: 'queued',
        error: { effect: 'begun', attempt: 1 },
      });
      return world;
    };
    const needsLeave = (world: TaskWorld) => {
      expect(world.task.error).toMatchObject({ effect: 'begun' });
      expect(inWords(world.retry())).toBe('CONFLICT');
      expect(inWords(world.retry({ acceptRepeatedEffect: true }))).toBe('ok');
    };

    it('asks again where the handler was not called', () => {
      const world = accepted();
      world.claim(startGate);
      world.say(start);
      world.say(failUncalled);
      expect(world.task).toMatchObject({ status: 'failed', error: { begun: false, attempt: 2 } });
      needsLeave(world);
    });

    it('asks again where it failed before its gate, though it was lost and queued by itself between', () => {
      const world = accepted();
      world.claim(effectGate);
      world.say(lostUnbegun);
      expect(world.task).toMatchObject({ status: 'queued', error: { effect: 'begun' } });
      world.claim(effectGate);
      world.say(fail);
      expect(world.task.status).toBe('failed');
      needsLeave(world);
    });

    it('asks again where it was cancelled, or nobody took it', () => {
      const cancelled = accepted();
      cancelled.cancel();
      needsLeave(cancelled);
      const running = accepted();
      running.claim(effectGate);
      running.cancel();
      running.say({ op: 'cancelled' });
      expect(running.task.status).toBe('cancelled');
      needsLeave(running);
      const expired = accepted({ queueTimeoutMs: 60_000 });
      expired.pass(60_000);
      expired.sweep();
      expect(expired.task.status).toBe('expired');
      needsLeave(expired);
    });

    it('asks again where its late word that it called no handler is taken', () => {
      const world = accepted();
      world.claim(startGate);
      world.say(start);
      world.say(lost);
      expect(inWords(world.say(failUncalled))).toBe('STALE_ATTEMPT recorded');
      world.resolve('late-report');
      expect(world.task).toMatchObject({ status: 'failed', error: { begun: false, attempt: 2 } });
      needsLeave(world);
    });

    it('has nothing to ask once somebody has resolved it, queues by itself what is not called after that, and says nothing of it where it succeeds', () => {
      const world = accepted();
      world.claim(startGate);
      world.say(start);
      world.say(lost);
      world.resolve('retry');
      expect(world.task.error).toBeUndefined();
      world.claim(startGate);
      world.say(start);
      world.say(failUncalled);
      expect(world.task.error?.effect).toBeUndefined();
      expect(inWords(world.retry())).toBe('ok');
      world.claim(startGate);
      world.say(start);
      world.say(lost);
      world.resolve('retry');
      world.claim(startGate);
      world.say(start);
      world.say(failUncalledRetryable);
      expect(world.task).toMatchObject({ status: 'queued', error: { begun: false } });
      const done = accepted();
      done.claim(startGate);
      done.say(complete);
      expect(done.task).toMatchObject({ status: 'succeeded', error: undefined });
    });
  });

  it('grants more attempts than were permitted', () => {
    const world = new TaskWorld({ maxAttempts: 1, backoff: { initialMs: 0 } });
    world.claim(pure);
    world.say(failRetryable);
    expect(world.outcome).toBe('failed BROKEN');
    world.retry({ attempts: 2 });
    expect(world.task).toMatchObject({ status: 'queued', attempts: 1, permitted: 3 });
    for (const status of ['queued', 'failed']) {
      world.claim(pure);
      world.say(failRetryable);
      world.pass(1);
      expect(world.task.status).toBe(status);
    }
  });

  it('takes none away from a task that had not used its attempts', () => {
    const world = new TaskWorld();
    world.cancel();
    world.retry();
    expect(world.task).toMatchObject({ attempts: 0, permitted: 6 });
  });

  it('clears the cancel, the undelivered and a passed deadline', () => {
    const world = new TaskWorld({ deadlineAt: new Date(T0 + 60_000).toISOString() });
    world.claim(pure);
    world.say(release);
    world.pass(30_000).claim(pure);
    world.cancel({ reason: 'no need' });
    world.say(cancelled);
    expect(world.task).toMatchObject({
      status: 'cancelled',
      undelivered: 1,
      cancelRequested: true,
    });
    world.pass(30_000).retry();
    expect(world.task).toMatchObject({
      status: 'queued',
      undelivered: 0,
      cancelRequested: false,
      policy: { deadlineAt: null },
      queuedAtMs: world.now,
      availableAtMs: world.now,
    });
    for (const name of [
      'cancelReason',
      'deadlineMs',
      'finishedAtMs',
      'error',
      'resultJson',
    ] as const)
      expect(world.task[name], name).toBeUndefined();
    expect(world.sweep()).toBeUndefined();
    expect(world.claim(pure).verdict.ok).toBe(true);
  });

  it('keeps a deadline that has not passed, and the producer’s notBeforeAt', () => {
    const at = (ms: number) => new Date(T0 + ms).toISOString();
    const world = new TaskWorld({ deadlineAt: at(60_000) }, { notBeforeAt: at(10_000) });
    world.cancel();
    world.retry();
    expect(world.task).toMatchObject({ deadlineMs: T0 + 60_000, availableAtMs: T0 + 10_000 });
  });

  it('lets no old report touch what comes after', () => {
    const world = lateOf('failed');
    const first = world.latest;
    world.retry();
    for (const said of [complete, lost, renew, cancelled])
      expect(inWords(world.say(said, { of: first }))).toBe('STALE_ATTEMPT');
    expect(world.kinds.at(-1)).toBe('retried');
  });
});

describe('resolve', () => {
  it('asks for the present seq', () => {
    const world = ended(unknown);
    expect(world.resolve('succeeded', { ifSeq: 1 })).toMatchObject({
      ok: false,
      code: 'CONFLICT',
      more: { seq: world.task.seq },
    });
  });

  it('records what was found', () => {
    const world = ended(unknown);
    world.resolve('succeeded', { result: { receipt: 7 } });
    expect(world.task).toMatchObject({ status: 'succeeded', resultJson: '{"receipt":7}' });
    expect(world.task.error).toBeUndefined();
    const failed = ended(unknown, startGate);
    failed.resolve('failed');
    expect(failed.outcome).toBe('failed RESOLVED_FAILED');
    expect(failed.task.error?.message).toContain('seen');
  });

  it('grants one more attempt when it says retry, also past the gate', () => {
    const world = ended(unknown, startGate);
    world.resolve('retry');
    expect(world.task).toMatchObject({ status: 'queued', permitted: 6, cancelRequested: false });
    expect(world.journal.at(-1)).toMatchObject({
      kind: 'resolved',
      data: { resolution: 'retry', status: 'queued' },
    });
  });

  it('closes the door for a report that comes later still', () => {
    for (const resolution of ['succeeded', 'failed', 'retry'] as const) {
      const world = lateOf('outcome-unknown');
      const attempt = world.latest;
      world.resolve(resolution);
      const { task } = world;
      expect(inWords(world.say(complete, { of: attempt }))).toBe('STALE_ATTEMPT');
      expect(world.task).toEqual(task);
    }
  });
});
