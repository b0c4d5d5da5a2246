import { expect, it } from 'vitest';
import { SimulatedClock } from '../../sim/clock.ts';
import type { EffectSafety } from '../../src/contract/index.ts';
import { workerDefaults } from '../../src/core/defaults.ts';
import type { Attempts } from '../../src/worker/attempts.ts';
import type { WorkerContext } from '../../src/worker/context.ts';
import type { Held } from '../../src/worker/held.ts';
import { OnDisk } from '../../src/worker/on-disk.ts';

/** What is marked as begun, by attempt. */
function rig() {
  const clock = new SimulatedClock();
  const marked: string[] = [];
  const spool = { markBegun: async (attemptId: string) => void marked.push(attemptId) };
  const ctx = { stopped: false, spoolGone: false, ports: { clock, spool } };
  const disk = new OnDisk(ctx as unknown as WorkerContext, {} as Attempts);
  const begins = (attemptId: string, effectSafety: EffectSafety = 'pure'): Held => {
    const state = { phase: 'running', effectSafety };
    const held = { attempt: { attemptId }, state, begunOn: undefined } as unknown as Held;
    disk.one(held, { do: 'mark-begun' });
    return held;
  };
  return { begins, clock, disk, marked };
}

it('a begin that is told with its end is not marked: its report is on the way', async () => {
  const { begins, clock, marked } = rig();
  const short = begins('att_short');
  begins('att_slow');
  short.state = { ...short.state, phase: 'ending' };
  expect(marked).toEqual([]);
  await clock.advance(workerDefaults.beginSeenMs);
  expect(marked).toEqual(['att_slow']);
});

it('of one that must not run twice a begin is marked at once', () => {
  const { begins, marked } = rig();
  begins('att_once', 'non-idempotent');
  expect(marked).toEqual(['att_once']);
});

it('and of one that was marked before, not again', async () => {
  const { begins, clock, disk, marked } = rig();
  const held = begins('att_a');
  await disk.markBegun(held, undefined);
  await clock.advance(workerDefaults.beginSeenMs);
  expect(marked).toEqual(['att_a']);
});
