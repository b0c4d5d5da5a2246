import { expect, it } from 'vitest';
import { SimulatedClock } from '../../sim/clock.ts';
import type { EffectSafety } from '../../src/contract/index.ts';
import { workerDefaults } from '../../src/core/defaults.ts';
import type { Attempts } from '../../src/worker/attempts.ts';
import type { WorkerContext } from '../../src/worker/context.ts';
import type { Held } from '../../src/worker/held.ts';
import { OnDisk } from '../../src/worker/on-disk.ts';
import { SimWorld } from './sim-rig.ts';

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

it('an end whose report the disk keeps waiting is marked, and one whose report is there is not', async () => {
  const { begins, clock, marked } = rig();
  const [written, waits] = [begins('att_written'), begins('att_waits')];
  for (const held of [written, waits]) held.state = { ...held.state, phase: 'ending' };
  await clock.advance(workerDefaults.beginSeenMs);
  written.state = { ...written.state, phase: 'spooled' };
  await clock.advance(workerDefaults.endSeenMs - 1);
  expect(marked).toEqual([]);
  await clock.advance(1);
  expect(marked).toEqual(['att_waits']);
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

it('a killed worker tells as begun what had ended while a slow disk kept its report waiting', async () => {
  const world = new SimWorld();
  const [first, second] = [1, 2].map(() => world.transport.offer({ type: 'demo/hello' }));
  world.machine.disk.fail({ step: 'syncFile', path: /reports/, ms: 5_000, times: 1 });
  const options = { maxConcurrent: 1, waitInHost: true };
  await world.start({ ...options, scripts: { 'demo/hello': world.works(1) } });
  await world.until(() => world.carrier.started.length === 2);
  await world.advance(500);
  world.kill();
  await world.start(options);
  await world.until(() => first?.ended && second?.ended);
  // Its report had been written and waited for its sync.
  expect(first?.ended).toMatchObject({ op: 'complete' });
  expect(second?.ended).toMatchObject({ op: 'lost', reason: 'worker-restarted', begun: true });
  expect(world.carrier.started).toEqual([]);
  world.check({ lapses: true });
});
