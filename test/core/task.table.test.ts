import { describe, expect, it } from 'vitest';
import { claimRank } from '../../src/core/task.ts';
import { claimable, leaseLength } from '../../src/core/task-claim.ts';
import { dueAtMs } from '../../src/core/task-sweep.ts';
import {
  cancelled,
  complete,
  effectGate,
  fail,
  failRetryable,
  idempotent,
  inWords,
  log,
  lost,
  lostUnbegun,
  progress,
  pure,
  release,
  renew,
  type Said,
  start,
  startGate,
  T0,
  TaskWorld,
  unknown,
} from './task-world.ts';

/** Counting, delays, leases and times of a task at the control plane (contract, sections 1, 2, 4 and 9). */

describe('counting', () => {
  const lostFor = (reason: string, begun: boolean): Said => ({ op: 'lost', reason, begun });
  const rows: [
    what: string,
    said: (Said | 'sweep' | 'cancel')[],
    attempts: number,
    undelivered: number,
  ][] = [
    ['an outcome counts: result', [complete], 1, 0],
    ['an outcome counts: failure', [fail], 1, 0],
    ['an outcome counts: retryable failure', [failRetryable], 1, 0],
    ['an outcome counts: unknown', [unknown], 1, 0],
    ['once only', [start, progress(1), log(1), complete], 1, 0],
    ['an accepted start counts', [start, lostFor('host-died', false)], 1, 0],
    ['an accepted effect counts', [{ op: 'effect' }, lostFor('host-died', false)], 1, 0],
    ['an accepted progress counts', [progress(1), 'sweep'], 1, 0],
    ['an accepted log counts', [log(1), 'sweep'], 1, 0],
    ['a lost that had begun counts', [lostFor('timeout', true)], 1, 0],
    ['a lost for a cancel that had begun counts', [lostFor('cancel', true)], 1, 0],
    ['lost unbegun was not delivered', [lostFor('worker-restarted', false)], 0, 1],
    ['renewals never count', [renew, renew, lostFor('host-died', false)], 0, 1],
    ['swept without a word was not delivered', ['sweep'], 0, 1],
    ['swept after renewals was not delivered', [renew, 'sweep'], 0, 1],
    ['lost for drain was not delivered', [lostFor('drain', true)], 0, 1],
    [
      'lost for drain was not delivered, although it started',
      [start, progress(1), lostFor('drain', true)],
      0,
      1,
    ],
    ['released was not delivered', [release], 0, 1],
    ['released was not delivered, although it started', [start, release], 0, 1],
    ['cancelled before anything counts as neither', ['cancel', cancelled], 0, 0],
    ['cancelled after it started counts', [start, 'cancel', cancelled], 1, 0],
  ];

  it.each(rows)('%s', (_, said, attempts, undelivered) => {
    const world = new TaskWorld({ lostGraceMs: 0 });
    world.claim(pure);
    for (const what of said) {
      if (what === 'sweep') world.pass(30_000).sweep();
      else if (what === 'cancel') world.cancel();
      else expect(inWords(world.say(what))).toBe('ok');
    }
    expect(world.latest.endedAtMs).toBeDefined();
    expect({ attempts: world.task.attempts, undelivered: world.task.undelivered }).toEqual({
      attempts,
      undelivered,
    });
  });

  it('gives up after 20 that were not delivered', () => {
    const world = new TaskWorld({ maxAttempts: 1, backoff: { initialMs: 0 } });
    for (let i = 1; i <= 20; i++) {
      expect(world.task.status).toBe('queued');
      world.claim(startGate);
      expect(world.latest).toMatchObject({ fence: i, number: 1 });
      world.say(i % 2 ? release : lostUnbegun);
      world.pass(1);
    }
    expect(world.outcome).toBe('failed UNDELIVERABLE');
    expect(world.task.error?.details).toMatchObject({ reason: 'worker-restarted' });
    expect(world.task).toMatchObject({ attempts: 0, undelivered: 20 });
  });

  it('tells a worker the attempt’s number without those that were not delivered', () => {
    const world = new TaskWorld({ backoff: { initialMs: 0 } });
    const numbers = [start, release, lost, lostUnbegun, failRetryable].map((said) => {
      world.claim(pure);
      const { number } = world.latest;
      if (said !== start) world.say(said);
      else world.say(failRetryable);
      world.pass(1);
      return number;
    });
    expect(numbers).toEqual([1, 2, 2, 3, 3]);
  });

  it('never hands out more counted attempts than permitted', () => {
    const world = new TaskWorld({ maxAttempts: 3, backoff: { initialMs: 0 } });
    for (let i = 0; i < 3; i++) {
      world.claim(idempotent);
      world.say(lost);
      world.pass(1);
    }
    expect(world.outcome).toBe('failed ATTEMPTS_EXHAUSTED');
    expect(world.task.attempts).toBe(3);
    expect(world.claim(pure).verdict.ok).toBe(false);
  });
});

describe('the delay before the next attempt', () => {
  const policy = {
    maxAttempts: 50,
    backoff: { initialMs: 1_000, factor: 2, maxMs: 60_000, jitter: 0.2 },
  };
  /** Delays after each of these ends. */
  const delays = (said: Said[], chance = 0.5) => {
    const world = new TaskWorld(policy);
    world.chance = chance;
    return said.map((what) => {
      world.claim(pure);
      expect(inWords(world.say(what))).toBe('ok');
      const delay = world.task.availableAtMs - world.now;
      world.pass(delay);
      return delay;
    });
  };
  const drained: Said = { op: 'release', reason: 'drain' };

  it('is initialMs × factor^(attempts + undelivered − 1), at most maxMs', () => {
    expect(delays(Array(8).fill(failRetryable))).toEqual([
      1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000,
    ]);
    expect(delays([failRetryable, release, failRetryable])).toEqual([1_000, 2_000, 4_000]);
  });

  it('is none after a task’s first loss, and only after that', () => {
    expect(delays([lost, lost, lost])).toEqual([0, 2_000, 4_000]);
    expect(delays([failRetryable, lostUnbegun, lost])).toEqual([1_000, 0, 4_000]);
  });

  it('is none after any release for drain', () => {
    expect(delays([drained, drained, failRetryable, drained])).toEqual([0, 0, 4_000, 0]);
  });

  it('is jittered', () => {
    expect(delays([failRetryable], 0)).toEqual([800]);
    expect(delays([failRetryable], 0.75)).toEqual([1_100]);
  });

  it('is no shorter than the handler wishes, which counts up to 10 × maxMs', () => {
    const wish = (retryAfterMs: number): Said => ({
      op: 'fail',
      error: { code: 'BUSY', message: 'm', retryable: true, retryAfterMs },
    });
    expect(delays([wish(5_000)])).toEqual([5_000]);
    expect(delays([wish(10)])).toEqual([1_000]);
    expect(delays([wish(9_999_999)])).toEqual([600_000]);
  });

  it('keeps the task from claims until it is over', () => {
    const world = new TaskWorld(policy);
    world.claim(pure);
    world.say(failRetryable);
    expect(world.pass(999).claim(pure).verdict.ok).toBe(false);
    expect(world.pass(1).claim(pure).verdict.ok).toBe(true);
    expect(world.kinds.slice(-3)).toEqual(['failed', 'requeued', 'leased']);
  });
});

describe('an expired lease', () => {
  const due = (world: TaskWorld) =>
    (dueAtMs(world.task, world.latest) ?? Number.NaN) - world.latest.leaseUntilMs;
  const GRACE = 300_000;

  it('is waited for where nobody else could run the task', () => {
    const world = (safety: typeof pure, said: Said[], policy = {}) => {
      const w = new TaskWorld(policy);
      w.claim(safety);
      for (const what of said) w.say(what);
      return w;
    };
    const last = { maxAttempts: 1 };
    // Past its gate.
    expect(due(world(startGate, [start]))).toBe(GRACE);
    expect(due(world(effectGate, [{ op: 'effect' }]))).toBe(GRACE);
    expect(due(world(startGate, [start], { lostGraceMs: 7 }))).toBe(7);
    // Before it, somebody else can.
    expect(due(world(startGate, []))).toBe(0);
    expect(due(world(startGate, [progress(1)]))).toBe(0);
    expect(due(world(effectGate, [start]))).toBe(0);
    expect(due(world(pure, [start]))).toBe(0);
    expect(due(world(idempotent, [start]))).toBe(0);
    // The last permitted attempt, once it counts.
    expect(due(world(pure, [start], last))).toBe(GRACE);
    expect(due(world(pure, [progress(1)], last))).toBe(GRACE);
    expect(due(world(pure, [], last))).toBe(0);
    expect(due(world(pure, [renew], last))).toBe(0);
  });

  it('is not waited for once a cancel is requested, but past the gate', () => {
    const asked = (safety: typeof pure) => {
      const world = new TaskWorld({ maxAttempts: 1 });
      world.claim(safety);
      world.say(start);
      world.cancel();
      return world;
    };
    expect(due(asked(pure))).toBe(0);
    expect(due(asked(startGate))).toBe(GRACE);
  });

  it('ends the attempt then, not a millisecond before', () => {
    const world = new TaskWorld();
    world.claim(startGate);
    world.say(start);
    expect(world.pass(30_000 + GRACE - 1).sweep()).toBeUndefined();
    expect(world.pass(1).sweep()).toBeDefined();
    expect(world.journal.at(-1)).toMatchObject({
      kind: 'lost',
      by: 'sweeper',
      data: { reason: 'lease', status: 'outcome-unknown' },
    });
    expect(world.pass(1e9).sweep()).toBeUndefined();
  });

  it('is counted from the last renewal', () => {
    const world = new TaskWorld();
    world.claim(pure);
    world.pass(20_000).say(renew);
    expect(world.pass(29_999).sweep()).toBeUndefined();
    expect(world.pass(1).sweep()).toBeDefined();
  });
});

describe('times in the queue', () => {
  it('runs out queueTimeoutMs after each time the task becomes queued', () => {
    const world = new TaskWorld({
      queueTimeoutMs: 60_000,
      backoff: { initialMs: 1_000, jitter: 0 },
    });
    expect(world.pass(59_999).sweep()).toBeUndefined();
    world.claim(pure);
    expect(world.pass(10_000).sweep()).toBeUndefined();
    world.say(failRetryable);
    expect(world.pass(59_999).sweep()).toBeUndefined();
    world.pass(1).sweep();
    expect(world.outcome).toBe('expired QUEUE_TIMEOUT');
    expect(world.journal.at(-1)).toMatchObject({
      kind: 'expired',
      by: 'sweeper',
      data: { code: 'QUEUE_TIMEOUT' },
    });
  });

  it('counts from notBeforeAt where that is later', () => {
    const world = new TaskWorld(
      { queueTimeoutMs: 60_000 },
      { notBeforeAt: new Date(T0 + 100_000).toISOString() },
    );
    expect(world.pass(99_999).claim(pure).verdict.ok).toBe(false);
    expect(world.pass(60_000).sweep()).toBeUndefined();
    expect(world.pass(1).sweep()).toBeDefined();
    expect(world.outcome).toBe('expired QUEUE_TIMEOUT');
  });

  it('expires a queued task at its deadline', () => {
    const world = new TaskWorld({ deadlineAt: new Date(T0 + 5_000).toISOString() });
    expect(world.pass(4_999).sweep()).toBeUndefined();
    expect(claimable(world.now, world.task)).toBe(true);
    world.pass(1).sweep();
    expect(world.outcome).toBe('expired DEADLINE_PASSED');
  });

  it('gives to no claim what should have expired before the sweeper came', () => {
    for (const policy of [
      { queueTimeoutMs: 5_000 },
      { deadlineAt: new Date(T0 + 5_000).toISOString() },
    ]) {
      const world = new TaskWorld(policy).pass(5_000);
      expect(claimable(world.now, world.task)).toBe(false);
      expect(inWords(world.claim(pure).verdict)).toBe('CONFLICT');
      world.sweep();
      expect(world.task.status).toBe('expired');
    }
  });

  it('has no end by itself without a timeout or a deadline', () => {
    expect(dueAtMs(new TaskWorld().task, undefined)).toBeUndefined();
  });

  it('asks a running task to stop at its deadline, and leaves its end to the worker or the lease', () => {
    const world = new TaskWorld({ deadlineAt: new Date(T0 + 5_000).toISOString() });
    world.claim(pure);
    world.say(start);
    expect(world.pass(10_000).sweep()).toBeUndefined();
    expect(world.say(renew)).toMatchObject({ ok: true, cancelRequested: true });
    world.pass(30_000).sweep();
    expect(world.outcome).toBe('expired DEADLINE_PASSED');
    expect(world.kinds.slice(-2)).toEqual(['lost', 'expired']);
  });
});

describe('a claim', () => {
  it('makes a new attempt, its fence one above the last, with what the claim wanted', () => {
    const world = new TaskWorld();
    for (const fence of [1, 2, 3]) {
      world.claim(effectGate, {
        workerId: `w${fence}`,
        sessionId: `s${fence}`,
        leaseMs: 5_000 + fence,
      });
      expect(world.latest).toMatchObject({
        ...effectGate,
        id: `att_${fence}`,
        fence,
        state: 'leased',
        workerId: `w${fence}`,
        sessionId: `s${fence}`,
        leaseUntilMs: world.now + 5_000 + fence,
        startAccepted: false,
        effectAccepted: false,
      });
      expect(world.task).toMatchObject({
        status: 'running',
        fence,
        attemptId: `att_${fence}`,
        workerId: `w${fence}`,
      });
      expect(world.journal.at(-1)).toMatchObject({ kind: 'leased', by: `worker:w${fence}`, fence });
      world.say(lostUnbegun);
      world.pass(3_600_000);
    }
  });

  it('gets no task that is running or has ended', () => {
    const world = new TaskWorld();
    world.claim(pure);
    expect(inWords(world.claim(pure).verdict)).toBe('CONFLICT');
    world.say(complete);
    expect(inWords(world.claim(pure).verdict)).toBe('CONFLICT');
    expect(world.kinds).toEqual(['submitted', 'leased', 'succeeded']);
  });

  it('has a lease of min(claim, policy) within the limits', () => {
    const limits = { min: 5_000, default: 30_000, max: 600_000 };
    expect(leaseLength(30_000, undefined, limits)).toBe(30_000);
    expect(leaseLength(30_000, 10_000, limits)).toBe(10_000);
    expect(leaseLength(10_000, 30_000, limits)).toBe(10_000);
    expect(leaseLength(1, undefined, limits)).toBe(5_000);
    expect(leaseLength(30_000, 1, limits)).toBe(5_000);
    expect(leaseLength(9_999_999, 9_999_999, limits)).toBe(600_000);
  });

  it('comes in the order of priority with a point a minute of ageing, then of age', () => {
    const task = (priority: number, ageMs: number) => ({ priority, createdAtMs: T0 - ageMs });
    const sooner = (a: ReturnType<typeof task>, b: ReturnType<typeof task>) =>
      claimRank(a) < claimRank(b);
    expect(sooner(task(1, 0), task(0, 59_999))).toBe(true);
    expect(sooner(task(0, 60_001), task(1, 0))).toBe(true);
    expect(sooner(task(0, 2), task(0, 1))).toBe(true);
    expect(sooner(task(-1, 60_001), task(0, 0))).toBe(true);
  });

  it('keeps nothing of the attempt before but its checkpoint', () => {
    const world = new TaskWorld();
    world.claim(pure);
    world.say({ op: 'progress', n: 1, percent: 50, checkpoint: { at: 5 } });
    world.say(lost);
    world.say(complete);
    expect(world.task).toMatchObject({ lateReport: { op: 'complete' }, progress: { percent: 50 } });
    world.claim(pure);
    expect(world.task).toMatchObject({ checkpointJson: '{"at":5}' });
    expect(world.task.progress).toBeUndefined();
    expect(world.task.lateReport).toBeUndefined();
  });
});

describe('a submission', () => {
  it('is queued, with the defaults of the contract', () => {
    const { task, journal } = new TaskWorld();
    expect(task).toMatchObject({
      status: 'queued',
      pool: 'default',
      priority: 0,
      labels: {},
      effectKey: 'tsk_1',
      attempts: 0,
      undelivered: 0,
      permitted: 5,
      fence: 0,
      seq: 1,
    });
    expect(journal).toMatchObject([{ seq: 1, kind: 'submitted', by: 'key:k' }]);
  });

  it('keeps its own effect key, and waits for notBeforeAt', () => {
    const { task } = new TaskWorld({}, { effectKey: 'mine', notBeforeAt: '2026-01-01T00:01:00Z' });
    expect(task).toMatchObject({ effectKey: 'mine', availableAtMs: T0 + 60_000 });
    const { task: past } = new TaskWorld({}, { notBeforeAt: '2025-01-01T00:00:00Z' });
    expect(past.availableAtMs).toBe(T0);
  });
});
