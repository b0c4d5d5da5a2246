import { describe, expect, it } from 'vitest';
import {
  type WorkerFacts,
  waitingFor,
  waitsFor,
  workersByPlace,
} from '../../src/core/waiting-for.ts';
import {
  complete,
  failRetryable,
  progress,
  pure,
  start,
  startGate,
  T0,
  TaskWorld,
} from './task-world.ts';

/** Why a task is not running, in words. */
const worker = (workerId: string, more: Partial<WorkerFacts> = {}): WorkerFacts => ({
  workerId,
  state: 'ready',
  pools: ['default'],
  types: [{ type: 'demo/hello', schemaVersion: 1 }],
  ...more,
});
const paused = (type: string) => ({
  type,
  schemaVersion: 1,
  forMs: 8_000,
  failures: 1,
  why: 'its handler could not be started: ENOENT',
});
const full = (workerId: string) => worker(workerId, { state: 'full' });
const words = (world: TaskWorld, workers: WorkerFacts[] = []) =>
  waitingFor(world.now, world.task, world.task.attemptId ? world.latest : undefined, workers);

describe('a queued task waits for', () => {
  it.each<[string, WorkerFacts[]]>([
    ['no worker for demo/hello@1 in pool default', []],
    [
      'no worker for demo/hello@1 in pool default',
      [worker('b', { types: [{ type: 'other', schemaVersion: 1 }] })],
    ],
    [
      'no worker for demo/hello@1 in pool default: a does not serve it: demo/hello@1.mjs: it does not load: Error: x.',
      [
        worker('b', { types: [], unserved: [{ type: 'demo/hello', schemaVersion: 2, why: '' }] }),
        worker('a', {
          types: [],
          unserved: [
            {
              type: 'demo/hello',
              schemaVersion: 1,
              why: 'demo/hello@1.mjs: it does not load: Error: x.',
            },
          ],
        }),
      ],
    ],
    [
      'no worker for demo/hello@1 in pool default: a is offline',
      [worker('a', { state: 'offline' })],
    ],
    [
      '1 worker, a ready: it should be claimed within seconds',
      [worker('a', { pausedTypes: [paused('demo/other')] })],
    ],
    [
      '1 worker, not claiming (a: demo/hello@1 is paused for 8 s: its handler could not be started: ENOENT)',
      [worker('a', { pausedTypes: [paused('demo/other'), paused('demo/hello')] })],
    ],
    [
      '1 worker, not claiming (a: the spool cannot be written)',
      [
        worker('a', {
          notClaiming: 'the spool cannot be written',
          pausedTypes: [paused('demo/hello')],
        }),
      ],
    ],
    [
      '2 workers, b ready: it should be claimed within seconds',
      [worker('a', { pausedTypes: [paused('demo/hello')] }), worker('b')],
    ],
    [
      '1 worker, full (a: 1 handler does not go and keeps its slot)',
      [worker('a', { state: 'full', stuck: 1 })],
    ],
    ['1 worker, not heard from for 19 s', [worker('a', { quietMs: 19_000 })]],
    [
      '2 workers, b ready: it should be claimed within seconds',
      [worker('a', { quietMs: 19_000 }), worker('b', { quietMs: 4_000 })],
    ],
    ['2 workers: 1 not heard from for 19 s, 1 full', [worker('a', { quietMs: 19_000 }), full('b')]],
    [
      'no worker for demo/hello@1 in pool default: a, b are offline',
      [worker('a', { state: 'offline' }), worker('b', { state: 'offline' })],
    ],
    [
      'no worker for demo/hello@1 in pool default; a serves it in pool gpu, big',
      [worker('a', { pools: ['gpu', 'big'] })],
    ],
    [
      'no worker for demo/hello@1 in pool default; served there: demo/hello@2, demo/hello@10',
      [
        worker('a', {
          types: [
            { type: 'demo/hello', schemaVersion: 10 },
            { type: 'demo/hello', schemaVersion: 2 },
          ],
        }),
      ],
    ],
    [
      'no worker for demo/hello@1 in pool default; served there under another case: demo/Hello@1',
      [worker('a', { types: [{ type: 'demo/Hello', schemaVersion: 1 }] })],
    ],
    [
      'no worker for demo/hello@1 in pool default; served there under a name like it: demo/helo@1',
      [worker('a', { types: [{ type: 'demo/helo', schemaVersion: 1 }] })],
    ],
    ['1 worker, full', [full('a')]],
    ['2 workers, all full', [full('a'), full('b')]],
    ['3 workers: 2 full, 1 draining', [full('a'), full('b'), worker('c', { state: 'draining' })]],
    ['1 worker, full', [full('a'), worker('b', { state: 'offline' })]],
    [
      '1 worker, not claiming (a: the spool cannot be written)',
      [worker('a', { notClaiming: 'the spool cannot be written' })],
    ],
    ['1 worker, a ready: it should be claimed within seconds', [worker('a')]],
    [
      '3 workers, 2 of them ready: it should be claimed within seconds',
      [worker('a'), worker('b'), full('c')],
    ],
  ])('%s', (expected, workers) => {
    expect(words(new TaskWorld(), workers)).toBe(expected);
  });

  it('its time', () => {
    const world = new TaskWorld({}, { notBeforeAt: '2026-01-01T00:05:00Z' });
    expect(words(world, [worker('a')])).toBe('not before 2026-01-01T00:05:00.000Z');
    expect(words(world.pass(300_000), [worker('a')])).toContain('ready');
  });

  it('its next attempt', () => {
    const world = new TaskWorld({ backoff: { initialMs: 12_000, jitter: 0 } });
    world.claim(pure);
    world.say(failRetryable);
    expect(words(world, [worker('a')])).toBe('retry in 12 s');
    expect(words(world.pass(11_001), [worker('a')])).toBe('retry in 1 s');
    expect(words(world.pass(999), [worker('a')])).toContain('ready');
  });

  it('its next attempt, also long after notBeforeAt', () => {
    const world = new TaskWorld(
      { backoff: { initialMs: 120_000, jitter: 0 } },
      { notBeforeAt: new Date(T0 + 1_000).toISOString() },
    );
    world.pass(1_000).claim(pure);
    world.say(failRetryable);
    expect(words(world)).toBe('retry in 2 min');
  });
});

describe('a running task', () => {
  it('is not remarked on while its lease is renewed', () => {
    const world = new TaskWorld();
    world.claim(pure);
    expect(words(world.pass(29_999))).toBeUndefined();
  });

  it('is said to be silent after that', () => {
    const world = new TaskWorld();
    world.claim(pure);
    expect(words(world.pass(31_000))).toBe('worker w1 has not renewed its lease for 31 s');
  });

  it('is said to be waited for where nobody else may run it', () => {
    for (const [policy, safety, said] of [
      [{}, startGate, start],
      [{ maxAttempts: 1 }, pure, progress(1)],
    ] as const) {
      const world = new TaskWorld(policy);
      world.claim(safety);
      world.say(said);
      expect(words(world.pass(40_000))).toBe(
        'worker w1 has not renewed its lease for 40 s; nobody else may run the task, so its word is awaited for another 5 min',
      );
      expect(words(world.pass(900_000))).toContain('for another 0 s');
    }
  });
});

it('says nothing of a task that has ended', () => {
  const world = new TaskWorld();
  world.claim(pure);
  world.say(complete);
  expect(words(world, [worker('a')])).toBeUndefined();
});

it('says the same where only the workers that matter for a place are looked at', () => {
  const types = [
    { type: 'demo/hello', schemaVersion: 1 },
    { type: 'demo/Hello', schemaVersion: 2 },
    { type: 'demo/other', schemaVersion: 1 },
  ];
  const workers = (['ready', 'full', 'offline', 'draining'] as const).flatMap((state, i) =>
    [['default'], ['gpu'], ['default', 'gpu']].map((pools, j) => ({
      workerId: `w${i}${j}`,
      state,
      pools,
      types: types.slice((i + j) % 3, 3),
    })),
  );
  const places = types.flatMap(({ type }) =>
    [1, 2].flatMap((schemaVersion) =>
      ['default', 'gpu', 'none'].map((pool) => ({ type, schemaVersion, pool })),
    ),
  );
  for (let from = 0; from < workers.length; from++) {
    const some = workers.slice(from);
    const able = workersByPlace(places, some);
    for (const place of places) {
      expect(waitsFor(place, able(place))).toEqual(waitsFor(place, some));
      for (const worker of able(place)) expect(worker.types.length).toBeLessThanOrEqual(2);
    }
  }
});
