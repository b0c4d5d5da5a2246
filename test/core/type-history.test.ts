import { describe, expect, it } from 'vitest';
import { failureShare, history, historyFrom } from '../../src/core/type-history.ts';
import type { AttemptSight } from '../../src/ports/store-rows.ts';

const span = { ms: 600_000, barMs: 60_000 };
const nowMs = 1_000 * 60_000 + 30_000;
const from = historyFrom(nowMs, span);
let count = 0;
const sight = (more: Partial<AttemptSight> = {}): AttemptSight => ({
  id: `att_${++count}`,
  taskId: 'tsk_1',
  type: 'demo/hello',
  schemaVersion: 1,
  workerId: 'w',
  state: 'succeeded',
  availableAtMs: from,
  countedAtMs: from + 1_000,
  endedAtMs: from + 3_000,
  ...more,
});
const of = (rows: AttemptSight[], every = 1) => history(nowMs, span, { rows, every });
const hello = (rows: AttemptSight[], every = 1) => of(rows, every).types.get('demo/hello@1');

describe('a history of types', () => {
  it('begins at the edge of a bar and has one bar for each step, the present one with it', () => {
    expect(from).toBe(991 * 60_000);
    expect(hello([sight()])?.bars).toHaveLength(10);
    expect(hello([sight()])?.bars.at(-1)?.fromMs).toBe(1_000 * 60_000);
  });

  it('keeps types and versions apart, by their literal case', () => {
    const { types } = of([
      sight(),
      sight({ schemaVersion: 2 }),
      sight({ type: 'demo/Hello' }),
      sight(),
    ]);
    expect([...types].map(([name, { succeeded }]) => [name, succeeded])).toEqual([
      ['demo/hello@1', 2],
      ['demo/hello@2', 1],
      ['demo/Hello@1', 1],
    ]);
  });

  it('counts outcomes where they ended: what was lost is a failure, what was given back is none', () => {
    const found = hello([
      sight(),
      sight({ state: 'failed', endedAtMs: from + 61_000 }),
      sight({ state: 'lost', endedAtMs: from + 61_000 }),
      sight({ state: 'unknown', endedAtMs: from + 61_000 }),
      sight({ state: 'released', countedAtMs: undefined }),
      sight({ state: 'cancelled' }),
      sight({ state: 'started', endedAtMs: undefined }),
    ]);
    expect(found).toMatchObject({ succeeded: 1, failed: 3, other: 2 });
    expect(found?.bars[0]).toMatchObject({ succeeded: 1, failed: 0, other: 2 });
    expect(found?.bars[1]).toMatchObject({ succeeded: 0, failed: 3 });
    expect(found && failureShare(found)).toBe(0.75);
  });

  it('tells half and 95 of 100, of waits where they began to run and of runs where they ended', () => {
    const rows = Array.from({ length: 100 }, (_, i) =>
      sight({ countedAtMs: from + i + 1, endedAtMs: from + i + 1 + 10 * (i + 1) }),
    );
    expect(hello(rows)?.waited).toEqual({ p50: 50, p95: 95, measured: 100 });
    expect(hello(rows)?.ran).toEqual({ p50: 500, p95: 950, measured: 100 });
  });

  it('measures no wait where nobody knows since when, and no run whose end nobody saw', () => {
    const found = hello([sight({ availableAtMs: undefined, state: 'lost' })]);
    expect(found?.waited).toBeUndefined();
    expect(found?.ran).toBeUndefined();
    // A clock that was set back makes no time that is less than none.
    expect(hello([sight({ availableAtMs: from + 5_000 })])?.waited?.p50).toBe(0);
  });

  it('leaves out what lies outside, and scales up where only some were looked at', () => {
    const found = hello(
      [
        sight(),
        sight({ countedAtMs: from - 2, endedAtMs: from - 1 }),
        sight({ endedAtMs: nowMs + 90_000 }),
      ],
      7,
    );
    expect(found).toMatchObject({ succeeded: 7, failed: 0 });
    expect(found?.waited?.measured).toBe(2);
  });

  it('has no share of failures where nothing had an outcome', () => {
    expect(
      failureShare({ succeeded: 0, failed: 0, other: 3, waited: undefined, ran: undefined }),
    ).toBe(undefined);
  });
});
