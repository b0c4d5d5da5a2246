import { describe, expect, it } from 'vitest';
import { leaseAnew, queuedAhead } from '../../src/core/clock-back.ts';
import type { TaskState } from '../../src/core/task.ts';
import { dueAtMs } from '../../src/core/task-sweep.ts';
import { pure, T0, TaskWorld } from './task-world.ts';

const HOUR = 3_600_000;
const { task } = new TaskWorld({ queueTimeoutMs: 60_000 });

/** Instants against the clock at the start of the control plane. */
interface Row {
  readonly what: string;
  readonly queued: number;
  readonly available: number;
  readonly notBefore?: number;
  readonly status?: TaskState['status'];
  /** `undefined`: the task stays as it is. */
  readonly becomes: readonly [queued: number, available: number] | undefined;
}

const rows: readonly Row[] = [
  {
    what: 'a backoff from a clock an hour ahead',
    queued: HOUR,
    available: HOUR + 5_000,
    becomes: [0, 5_000],
  },
  { what: 'a wait that was over', queued: HOUR, available: HOUR, becomes: [0, 0] },
  { what: 'a clock a millisecond ahead', queued: 1, available: 1, becomes: [0, 0] },
  { what: 'queued now', queued: 0, available: 5_000, becomes: undefined },
  {
    what: 'queued before, its backoff not over',
    queued: -1_000,
    available: 5_000,
    becomes: undefined,
  },
  {
    what: 'a notBeforeAt that comes sooner than the backoff ends',
    queued: HOUR,
    available: HOUR + 5_000,
    notBefore: 1_000,
    becomes: [0, 5_000],
  },
  {
    what: 'a notBeforeAt that is not to be undercut',
    queued: HOUR,
    available: HOUR + 5_000,
    notBefore: 9_000,
    becomes: [0, 9_000],
  },
  {
    what: 'a retry by an operator before the notBeforeAt',
    queued: HOUR,
    available: 2 * HOUR,
    notBefore: 2 * HOUR,
    becomes: [0, 2 * HOUR],
  },
  {
    what: 'a repeat that was made available before its notBeforeAt',
    queued: HOUR,
    available: HOUR + 5_000,
    notBefore: 3 * HOUR,
    becomes: [0, HOUR + 5_000],
  },
  {
    what: 'nothing but its notBeforeAt ahead',
    queued: HOUR,
    available: HOUR,
    notBefore: HOUR,
    becomes: undefined,
  },
  {
    what: 'a task that runs',
    status: 'running',
    queued: HOUR,
    available: HOUR,
    becomes: undefined,
  },
  {
    what: 'a task that is over',
    status: 'failed',
    queued: HOUR,
    available: HOUR,
    becomes: undefined,
  },
];

describe('a task that was queued by a clock ahead', () => {
  it.each(rows)('$what', ({ status = 'queued', queued, available, notBefore, becomes }) => {
    const before: TaskState = {
      ...task,
      status,
      queuedAtMs: T0 + queued,
      availableAtMs: T0 + available,
      notBeforeMs: notBefore === undefined ? undefined : T0 + notBefore,
    };
    const made = queuedAhead(T0, before);
    if (becomes === undefined) {
      expect(made).toBeUndefined();
      return;
    }
    const [queuedAtMs, availableAtMs] = [T0 + becomes[0], T0 + becomes[1]];
    expect(made).toEqual({ backMs: queued, task: { ...before, queuedAtMs, availableAtMs } });
    // Once is enough.
    expect(made && queuedAhead(T0, made.task)).toBeUndefined();
  });

  it('counts its queueTimeoutMs from now, its deadlineAt stays', () => {
    const before = { ...task, queuedAtMs: T0 + HOUR, availableAtMs: T0 + HOUR };
    const made = queuedAhead(T0, before)?.task as TaskState;
    expect(dueAtMs(made, undefined)).toBe(T0 + 60_000);
    const deadlineMs = T0 + 30_000;
    const dated = queuedAhead(T0, { ...before, deadlineMs })?.task as TaskState;
    expect(dueAtMs(dated, undefined)).toBe(deadlineMs);
  });
});

describe('an open attempt at a start', () => {
  it('gets a whole lease from now, from however far ahead or behind the old one is', () => {
    const world = new TaskWorld();
    world.claim(pure);
    const { latest } = world;
    for (const nowMs of [T0 - HOUR, T0, T0 + HOUR])
      expect(leaseAnew(nowMs, latest).leaseUntilMs).toBe(nowMs + latest.leaseMs);
  });

  it('counts as begun now where it was begun ahead of the clock', () => {
    const world = new TaskWorld();
    world.claim(pure);
    const begun = { ...world.latest, countedAtMs: T0 };
    expect(leaseAnew(T0 - HOUR, begun).countedAtMs).toBe(T0 - HOUR);
    expect(leaseAnew(T0 + HOUR, begun).countedAtMs).toBe(T0);
    expect(leaseAnew(T0, world.latest).countedAtMs).toBeUndefined();
  });
});
