import { describe, expect, it } from 'vitest';
import {
  cancelled,
  complete,
  effect,
  effectGate,
  fail,
  failUncalled,
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
  type SayOptions,
  start,
  startGate,
  TaskWorld,
  unknown,
} from './task-world.ts';

/** Section 1 of the contract: what each report is answered, by what has become of its attempt. */
const reports: Record<string, Said> = {
  renew,
  start,
  effect,
  progress: progress(9),
  log: log(9),
  complete,
  fail,
  unknown,
  cancelled,
  lost,
  release,
};
const other: Record<string, Said> = {
  complete: { op: 'complete', result: 'another' },
  fail: { op: 'fail', error: { code: 'OTHER', message: 'm', retryable: false } },
  unknown: { op: 'unknown', error: { code: 'OTHER', message: 'm', retryable: false } },
  cancelled: { op: 'cancelled', message: 'other' },
  lost: { op: 'lost', reason: 'timeout', begun: true },
  release: { op: 'release', reason: 'other' },
};
const running = (safety = idempotent, policy = {}) => {
  const world = new TaskWorld({ backoff: { initialMs: 0 }, ...policy });
  world.claim(safety);
  world.say(start);
  return world;
};
const later = (world: TaskWorld) => {
  world.claim(pure, { workerId: 'w2', sessionId: 's2' });
  return world;
};

/** What has become of the attempt → the answer to each report (asked in a world of its own). */
const cases: Record<string, { world: () => TaskWorld; answers: Record<string, string> }> = {
  'the current attempt': {
    world: () => running(),
    answers: {
      renew: 'ok',
      start: 'ok replayed',
      effect: 'ok',
      progress: 'ok',
      log: 'ok',
      complete: 'ok',
      fail: 'ok',
      unknown: 'ok',
      cancelled: 'NOT_CANCELLING',
      lost: 'ok',
      release: 'ok',
    },
  },
  'current, its lease expired but not ended': {
    world: () => running().pass(3_600_000),
    answers: {
      renew: 'ok',
      start: 'ok replayed',
      effect: 'ok',
      progress: 'ok',
      log: 'ok',
      complete: 'ok',
      fail: 'ok',
      unknown: 'ok',
      cancelled: 'NOT_CANCELLING',
      lost: 'ok',
      release: 'ok',
    },
  },
  'current, past its gate': {
    world: () => running(startGate),
    answers: {
      renew: 'ok',
      start: 'ok replayed',
      effect: 'ok',
      progress: 'ok',
      log: 'ok',
      complete: 'ok',
      fail: 'ok',
      unknown: 'ok',
      cancelled: 'NOT_CANCELLING',
      lost: 'ok',
      release: 'NOT_RELEASABLE',
    },
  },
  succeeded: {
    world: () => {
      const world = running();
      world.say(complete);
      return world;
    },
    answers: {
      // The report that ended it, sent again, gets its own answer: the worker must not be told that it is stale.
      renew: 'LEASE_EXPIRED',
      start: 'STALE_ATTEMPT',
      effect: 'STALE_ATTEMPT',
      progress: 'STALE_ATTEMPT',
      log: 'STALE_ATTEMPT',
      complete: 'ok replayed',
      fail: 'STALE_ATTEMPT',
      unknown: 'STALE_ATTEMPT',
      cancelled: 'STALE_ATTEMPT',
      lost: 'STALE_ATTEMPT',
      release: 'STALE_ATTEMPT',
    },
  },
  'released, nobody has it': {
    world: () => {
      const world = running();
      world.say(release);
      return world;
    },
    answers: {
      renew: 'LEASE_EXPIRED',
      start: 'STALE_ATTEMPT',
      effect: 'STALE_ATTEMPT',
      progress: 'STALE_ATTEMPT',
      log: 'STALE_ATTEMPT',
      complete: 'STALE_ATTEMPT',
      fail: 'STALE_ATTEMPT',
      unknown: 'STALE_ATTEMPT',
      cancelled: 'STALE_ATTEMPT',
      lost: 'STALE_ATTEMPT',
      release: 'ok replayed',
    },
  },
  'failed, another attempt runs': {
    world: () => {
      const world = running();
      world.say({ ...fail, error: { code: 'BROKEN', message: 'm', retryable: true } });
      return later(world.pass(1));
    },
    answers: {
      renew: 'LEASE_EXPIRED',
      start: 'STALE_ATTEMPT',
      effect: 'STALE_ATTEMPT',
      progress: 'STALE_ATTEMPT',
      log: 'STALE_ATTEMPT',
      complete: 'STALE_ATTEMPT',
      fail: 'STALE_ATTEMPT',
      unknown: 'STALE_ATTEMPT',
      cancelled: 'STALE_ATTEMPT',
      lost: 'STALE_ATTEMPT',
      release: 'STALE_ATTEMPT',
    },
  },
  'ended by the sweeper, still the latest': {
    world: () => {
      const world = running();
      world.pass(30_000).sweep();
      return world;
    },
    answers: {
      renew: 'LEASE_EXPIRED',
      start: 'LEASE_EXPIRED',
      effect: 'LEASE_EXPIRED',
      progress: 'LEASE_EXPIRED',
      log: 'LEASE_EXPIRED',
      complete: 'STALE_ATTEMPT recorded',
      fail: 'STALE_ATTEMPT recorded',
      unknown: 'STALE_ATTEMPT recorded',
      cancelled: 'LEASE_EXPIRED',
      lost: 'LEASE_EXPIRED',
      release: 'LEASE_EXPIRED',
    },
  },
  'ended by the sweeper past its gate': {
    world: () => {
      const world = running(startGate);
      world.pass(330_000).sweep();
      return world;
    },
    answers: {
      renew: 'LEASE_EXPIRED',
      start: 'LEASE_EXPIRED',
      effect: 'LEASE_EXPIRED',
      progress: 'LEASE_EXPIRED',
      log: 'LEASE_EXPIRED',
      complete: 'STALE_ATTEMPT recorded',
      fail: 'STALE_ATTEMPT recorded',
      unknown: 'STALE_ATTEMPT recorded',
      cancelled: 'LEASE_EXPIRED',
      lost: 'LEASE_EXPIRED',
      release: 'LEASE_EXPIRED',
    },
  },
  'ended by its own lost': {
    world: () => {
      const world = running();
      world.say(lost);
      return world;
    },
    answers: {
      renew: 'LEASE_EXPIRED',
      start: 'LEASE_EXPIRED',
      effect: 'LEASE_EXPIRED',
      progress: 'LEASE_EXPIRED',
      log: 'LEASE_EXPIRED',
      complete: 'STALE_ATTEMPT recorded',
      fail: 'STALE_ATTEMPT recorded',
      unknown: 'STALE_ATTEMPT recorded',
      cancelled: 'LEASE_EXPIRED',
      lost: 'ok replayed',
      release: 'LEASE_EXPIRED',
    },
  },
  'lost, its outcome was recorded': {
    world: () => {
      const world = running();
      world.pass(30_000).sweep();
      world.say(complete);
      return world;
    },
    answers: {
      renew: 'LEASE_EXPIRED',
      start: 'STALE_ATTEMPT',
      effect: 'STALE_ATTEMPT',
      progress: 'STALE_ATTEMPT',
      log: 'STALE_ATTEMPT',
      complete: 'STALE_ATTEMPT recorded replayed',
      fail: 'STALE_ATTEMPT',
      unknown: 'STALE_ATTEMPT',
      cancelled: 'STALE_ATTEMPT',
      lost: 'STALE_ATTEMPT',
      release: 'STALE_ATTEMPT',
    },
  },
  'lost, another attempt runs': {
    world: () => {
      const world = running();
      world.pass(30_000).sweep();
      return later(world);
    },
    answers: Object.fromEntries(Object.keys(reports).map((op) => [op, 'STALE_ATTEMPT'])),
  },
  'lost and recorded, another attempt runs': {
    world: () => {
      const world = running();
      world.pass(30_000).sweep();
      world.say(complete);
      return later(world);
    },
    answers: {
      ...Object.fromEntries(Object.keys(reports).map((op) => [op, 'STALE_ATTEMPT'])),
      renew: 'LEASE_EXPIRED',
      complete: 'STALE_ATTEMPT recorded replayed',
    },
  },
  'lost, an operator has acted': {
    world: () => {
      const world = running(startGate);
      world.pass(330_000).sweep();
      world.resolve('failed');
      return world;
    },
    answers: Object.fromEntries(Object.keys(reports).map((op) => [op, 'STALE_ATTEMPT'])),
  },
};

describe.each(Object.entries(cases))('%s', (_, { world, answers }) => {
  const first = (w: TaskWorld) => w.attempts.get('att_1');

  it('answers every report as the rules say', () => {
    const were = Object.fromEntries(
      Object.entries(reports).map(([op, said]) => {
        const w = world();
        return [op, inWords(w.say(said, { of: first(w) }))];
      }),
    );
    expect(were).toEqual(answers);
  });

  it('changes nothing where it refuses or replays, but for a late report and a lease', () => {
    for (const [op, said] of Object.entries(reports)) {
      const w = world();
      const { task, journal } = { task: w.task, journal: w.journal.length };
      const verdict = inWords(w.say(said, { of: first(w) }));
      if (verdict === 'ok') continue;
      if (verdict === 'STALE_ATTEMPT recorded') {
        expect(w.kinds.slice(journal), op).toEqual(['late-report']);
        expect({ ...w.task, seq: 0, lateReport: undefined }).toEqual({
          ...task,
          seq: 0,
          lateReport: undefined,
        });
      } else {
        expect(w.task, op).toEqual(task);
        expect(w.journal).toHaveLength(journal);
      }
    }
  });

  it('refuses everything first that does not carry its task, fence and token', () => {
    const wrong: [string, Record<string, unknown>, SayOptions][] = [
      ['task', { taskId: 'tsk_2' }, {}],
      ['fence', { fence: 2 }, {}],
      ['token', {}, { tokenFits: false }],
    ];
    for (const [name, fields, facts] of wrong)
      for (const [op, said] of Object.entries(reports)) {
        const w = world();
        const before = { task: w.task, attempts: new Map(w.attempts) };
        const verdict = w.say(
          { ...said, ...fields },
          { of: first(w), session: 'superseded', ...facts },
        );
        expect(inWords(verdict), `${op} with another ${name}`).toBe('STALE_ATTEMPT');
        expect({ task: w.task, attempts: w.attempts }).toEqual(before);
      }
  });
});

describe('a terminal report', () => {
  it.each(['complete', 'fail', 'unknown', 'cancelled', 'lost', 'release'])(
    '%s gets its first answer again, another one is stale',
    (op) => {
      const said = reports[op] as Said;
      const world = running();
      if (op === 'cancelled') world.cancel();
      expect(inWords(world.say(said))).toBe('ok');
      const { task, journal } = { task: world.task, journal: [...world.journal] };
      for (let i = 0; i < 2; i++) expect(inWords(world.say(said))).toBe('ok replayed');
      const answer = inWords(world.say(other[op] as Said));
      expect(answer).toBe(op === 'lost' ? 'LEASE_EXPIRED' : 'STALE_ATTEMPT');
      expect(world.task).toEqual(task);
      expect(world.journal).toEqual(journal);
    },
  );

  it('is told apart by its op, its attempt and its body, not by the order of names', () => {
    const world = running();
    world.say({ op: 'complete', result: { a: 1, b: 2 } });
    expect(inWords(world.say({ op: 'complete', result: { b: 2, a: 1 } }))).toBe('ok replayed');
    expect(inWords(world.say({ op: 'complete', result: { a: 1 } }))).toBe('STALE_ATTEMPT');
  });

  it('leaves a note where the gate was skipped', () => {
    for (const safety of [startGate, effectGate])
      for (const said of [complete, fail]) {
        const world = new TaskWorld();
        world.claim(safety);
        expect(inWords(world.say(said))).toBe('ok');
        expect(world.journal.at(-1)?.data).toMatchObject({ gateSkipped: true });
      }
    for (const safety of [pure, idempotent]) {
      const world = new TaskWorld();
      world.claim(safety);
      world.say(complete);
      expect(world.journal.at(-1)?.data).not.toHaveProperty('gateSkipped');
    }
    const world = running(startGate);
    world.say(complete);
    expect(world.journal.at(-1)?.data).not.toHaveProperty('gateSkipped');
  });

  it('is accepted from any session, also of a restarted worker', () => {
    for (const session of ['superseded', 'unknown'] as const)
      expect(inWords(running().say(complete, { session }))).toBe('ok');
  });

  it('may say cancelled once a cancel is requested or the deadline has passed', () => {
    const asked = running();
    asked.cancel();
    expect(inWords(asked.say(cancelled))).toBe('ok');
    const late = running(idempotent, { deadlineAt: '2026-01-01T00:00:10Z' });
    expect(inWords(late.pass(9_999).say(cancelled))).toBe('NOT_CANCELLING');
    expect(inWords(late.pass(1).say(cancelled))).toBe('ok');
  });
});

describe('start and effect', () => {
  const claimed = (safety = startGate) => {
    const world = new TaskWorld();
    world.claim(safety);
    return world;
  };

  it.each([start, effect])('are accepted from the session that claimed alone ($op)', (said) => {
    expect(inWords(claimed().say(said, { session: 'superseded' }))).toBe('SESSION_SUPERSEDED');
    expect(inWords(claimed().say(said, { session: 'unknown' }))).toBe('STALE_ATTEMPT');
    // The current session of the worker id, but not the one that claimed.
    expect(inWords(claimed().say(said, { as: 's9' }))).toBe('STALE_ATTEMPT');
    expect(inWords(claimed().say(said))).toBe('ok');
  });

  it('are replayed while the attempt is current, and write one entry', () => {
    const world = claimed(effectGate);
    for (const said of [start, effect]) {
      expect(inWords(world.say(said))).toBe('ok');
      expect(inWords(world.say(said))).toBe('ok replayed');
    }
    expect(world.kinds).toEqual(['submitted', 'leased', 'started', 'effect-begun']);
  });

  it('open no gate on an expired lease, until it is renewed', () => {
    for (const [safety, said] of [
      [startGate, start],
      [effectGate, effect],
    ] as const) {
      const world = claimed(safety);
      world.pass(29_999);
      expect(inWords(world.say(renew))).toBe('ok');
      world.pass(30_000);
      expect(inWords(world.say(said))).toBe('LEASE_EXPIRED');
      expect(world.latest).toMatchObject({ startAccepted: false, effectAccepted: false });
      expect(inWords(world.say(renew))).toBe('ok');
      expect(inWords(world.say(said))).toBe('ok');
    }
  });

  it('open no start gate by way of an effect on an expired lease', () => {
    const world = claimed(startGate);
    expect(inWords(world.pass(30_000).say(effect))).toBe('LEASE_EXPIRED');
  });

  it('renew where they are no gate', () => {
    for (const [safety, said] of [
      [pure, start],
      [idempotent, effect],
      [effectGate, start],
    ] as const) {
      const world = claimed(safety);
      expect(inWords(world.pass(40_000).say(said))).toBe('ok');
      expect(world.latest.leaseUntilMs).toBe(world.now + 30_000);
    }
  });

  it('imply one another in one way: an accepted effect implies start', () => {
    const world = claimed(effectGate);
    world.say(effect);
    expect(world.latest).toMatchObject({ startAccepted: true, effectAccepted: true });
    const other = claimed(effectGate);
    other.say(start);
    expect(other.latest).toMatchObject({ startAccepted: true, effectAccepted: false });
  });
});

describe('progress and log', () => {
  it('count n per op, and one that was there changes nothing but the lease', () => {
    const world = running();
    expect(inWords(world.say({ op: 'progress', n: 2, percent: 20, checkpoint: { at: 2 } }))).toBe(
      'ok',
    );
    expect(world.task).toMatchObject({ progress: { percent: 20 }, checkpointJson: '{"at":2}' });
    world.pass(10_000);
    for (const n of [2, 1])
      expect(world.say({ op: 'progress', n, percent: 10, checkpoint: { at: 1 } }).ok).toBe(true);
    expect(world.task).toMatchObject({ progress: { percent: 20 }, checkpointJson: '{"at":2}' });
    expect(world.latest.leaseUntilMs).toBe(world.now + 30_000);
    // Its own count.
    expect(inWords(world.say(log(1)))).toBe('ok');
    expect(world.latest).toMatchObject({ progressN: 2, logN: 1 });
  });

  it('keep the last checkpoint when a later progress has none', () => {
    const world = running();
    world.say({ op: 'progress', n: 1, checkpoint: null });
    world.say({ op: 'progress', n: 2, percent: 50 });
    expect(world.task.checkpointJson).toBe('null');
    expect(world.task.progress).toMatchObject({ percent: 50 });
  });

  it('are no entries of the journal, but the first that counts starts the attempt', () => {
    const world = new TaskWorld();
    world.claim(pure);
    world.say(progress(1));
    world.say(progress(2));
    world.say(log(1));
    world.say(renew);
    expect(world.kinds).toEqual(['submitted', 'leased', 'started']);
    expect(world.latest.state).toBe('started');
  });
});

describe('every accepted report that does not end the attempt', () => {
  it.each(['renew', 'start', 'effect', 'progress', 'log'])(
    'renews and tells the lease: %s',
    (op) => {
      const world = new TaskWorld();
      world.claim(pure, { leaseMs: 7_000 });
      world.pass(5_000);
      expect(world.say(reports[op] as Said)).toMatchObject({
        ok: true,
        leaseMs: 7_000,
        cancelRequested: false,
      });
      expect(world.latest.leaseUntilMs).toBe(world.now + 7_000);
      world.cancel();
      expect(world.say(renew)).toMatchObject({ ok: true, cancelRequested: true });
    },
  );

  it('says cancelRequested when the deadline has passed', () => {
    const world = running(idempotent, { deadlineAt: '2026-01-01T00:00:10Z' });
    expect(world.pass(9_999).say(renew)).toMatchObject({ cancelRequested: false });
    expect(world.pass(1).say(renew)).toMatchObject({ cancelRequested: true });
  });
});

describe('an attempt beyond its timeout', () => {
  const policy = { attemptTimeoutMs: 60_000 };
  const hour = (world: TaskWorld, ms: number) => {
    // Renewed all the time: only the timeout matters.
    for (let t = 0; t < ms; t += 10_000) {
      world.say(renew);
      world.pass(Math.min(10_000, ms - t));
    }
    return world;
  };

  it.each(['renew', 'start', 'effect', 'progress', 'log'])(
    'is not renewed later than 60 s past it: %s',
    (op) => {
      const said = reports[op] as Said;
      expect(inWords(hour(running(idempotent, policy), 120_000).say(said))).toMatch(/^ok/);
      expect(inWords(hour(running(idempotent, policy), 120_001).say(said))).toBe('LEASE_EXPIRED');
    },
  );

  it('still takes an outcome', () => {
    expect(inWords(hour(running(idempotent, policy), 500_000).say(complete))).toBe('ok');
  });

  it('counts from the first report that counts, not from the claim', () => {
    const world = new TaskWorld(policy);
    world.claim(pure);
    hour(world, 300_000);
    expect(inWords(world.say(renew))).toBe('ok');
    expect(inWords(world.say(start))).toBe('ok');
    expect(inWords(hour(world, 120_000).say(renew))).toBe('ok');
    expect(inWords(world.pass(1).say(renew))).toBe('LEASE_EXPIRED');
  });

  it('has no end without a timeout', () => {
    expect(
      inWords(hour(running(idempotent, { attemptTimeoutMs: null }), 10_000_000).say(renew)),
    ).toBe('ok');
  });
});

describe('a late report', () => {
  const gone = () => {
    const world = running(startGate);
    world.pass(330_000).sweep();
    return world;
  };

  it('is an entry that changes no status', () => {
    const world = gone();
    expect(inWords(world.say(complete))).toBe('STALE_ATTEMPT recorded');
    expect(world.task.status).toBe('outcome-unknown');
    expect(world.journal.at(-1)).toMatchObject({
      kind: 'late-report',
      attemptId: 'att_1',
      fence: 1,
      by: 'worker:w1',
      data: { op: 'complete' },
    });
    expect(world.task.lateReport).toMatchObject({ op: 'complete', resultJson: '{"n":1}' });
  });

  it('is the first outcome only', () => {
    const world = gone();
    world.say(fail);
    expect(inWords(world.say(complete))).toBe('STALE_ATTEMPT');
    expect(inWords(world.say(fail))).toBe('STALE_ATTEMPT recorded replayed');
    expect(world.task.lateReport).toMatchObject({
      op: 'fail',
      error: { code: 'BROKEN', effect: 'begun', attempt: 1 },
    });
    expect(world.kinds.filter((kind) => kind === 'late-report')).toHaveLength(1);
  });

  it('tells of a handler that was never called, where nothing speaks against it', () => {
    const world = gone();
    world.say(failUncalled);
    expect(world.task.lateReport?.error).toMatchObject({ code: 'BROKEN', begun: false });
    expect(world.task.lateReport?.error?.effect).toBeUndefined();
    expect(world.journal.at(-1)?.data).toMatchObject({ op: 'fail', begun: false });
    world.resolve('late-report');
    expect(inWords(world.retry())).toBe('ok');
    const spoke = running(startGate);
    spoke.say(progress(1));
    spoke.pass(330_000).sweep();
    spoke.say(failUncalled);
    expect(spoke.task.lateReport?.error).toMatchObject({ effect: 'begun' });
    expect(spoke.task.lateReport?.error?.begun).toBeUndefined();
  });

  it('is taken of a task that is queued, cancelled or failed as well', () => {
    for (const [policy, ask, status] of [
      [{}, false, 'queued'],
      [{ maxAttempts: 1, lostGraceMs: 0 }, false, 'failed'],
      [{}, true, 'cancelled'],
    ] as const) {
      const world = running(idempotent, policy);
      if (ask) world.cancel();
      world.pass(30_000).sweep();
      expect(world.task.status).toBe(status);
      expect(inWords(world.say(complete))).toBe('STALE_ATTEMPT recorded');
      expect(world.task.status).toBe(status);
    }
  });

  it('follows a lost of the worker that never began', () => {
    const world = new TaskWorld();
    world.claim(pure);
    world.say(lostUnbegun);
    expect(inWords(world.say(complete))).toBe('STALE_ATTEMPT recorded');
  });
});
