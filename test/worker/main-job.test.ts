import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { returned } from '../../sim/carrier.ts';
import { Field, handler } from './harness.ts';

it('claims, runs, spools, reports and forgets a pure task', async () => {
  await using field = await Field.open();
  const { fcp } = field;
  const task = fcp.offer({ type: 'demo/hello', input: { name: 'Ada' }, effectSafety: 'pure' });
  const one = await field.start({
    scripts: { 'demo/hello': ({ job }) => returned({ hi: job.input }) },
  });
  const report = await task.ended();
  expect(report).toMatchObject({ op: 'complete', body: { result: { hi: { name: 'Ada' } } } });
  await fcp.until(() => one.worker.status().unanswered === 0, { what: 'answered' });
  await one.spool.idle();
  expect(one.spool.stats()).toMatchObject({ pending: 0, ok: true });
});

it('asks the gate of a non-idempotent task before its handler runs', async () => {
  await using field = await Field.open();
  const { fcp } = field;
  const order: string[] = [];
  fcp.onReport('start', (_report, ctl) => {
    order.push('start');
    ctl.pass();
  });
  const task = fcp.offer({ type: 'effect/append', input: {} });
  await field.start({
    scripts: {
      'effect/append': () => {
        order.push('handler');
        return returned('done');
      },
    },
    handlers: [handler('effect/append', 'non-idempotent')],
  });
  expect((await task.ended()).op).toBe('complete');
  expect(order).toEqual(['start', 'handler']);
});

it('opens an effect gate only after its answer', async () => {
  await using field = await Field.open();
  const { fcp } = field;
  const order: string[] = [];
  fcp.onReport('effect', (_report, ctl) => {
    order.push('effect');
    ctl.pass();
  });
  const task = fcp.offer({
    type: 'effect/gated',
    input: {},
    effectGate: 'effect',
    effectSafety: 'non-idempotent',
  });
  await field.start({
    scripts: {
      'effect/gated': async (play) => {
        order.push('begun');
        await play.beginEffect();
        order.push('opened');
        return returned(1);
      },
    },
    handlers: [handler('effect/gated', 'non-idempotent', { effectGate: 'effect' })],
  });
  expect((await task.ended()).op).toBe('complete');
  expect(order).toEqual(['begun', 'effect', 'opened']);
});

it('keeps the leases of 16 handlers over four leases, and says that it is full', async () => {
  await using field = await Field.open({ leaseMs: 2_000 });
  const { fcp } = field;
  const tasks = Array.from({ length: 16 }, () =>
    fcp.offer({ type: 'demo/hello', effectSafety: 'pure' }),
  );
  const one = await field.start({
    maxConcurrent: 16,
    scripts: { 'demo/hello': () => sleep(8_000).then(() => returned(1)) },
  });
  await fcp.until(() => fcp.workers.get('rig')?.presence?.state === 'full');
  expect(one.worker.status()).toMatchObject({ state: 'full', slots: { max: 16, busy: 16 } });
  for (const task of tasks) expect((await task.ended()).op).toBe('complete');
  for (const task of tasks) {
    expect(task.attempts.length).toBe(1);
    expect(task.lapsedMs()).toBe(0);
  }
});

it('gives back what a claim brings that was held back beyond the signal, and claims nothing more', async () => {
  await using field = await Field.open();
  const { fcp } = field;
  fcp.on('claim', (_, ctl) => ctl.later(1_000), { times: 1 });
  const task = fcp.offer({ type: 'demo/hello', effectSafety: 'pure' });
  const one = await field.start();
  await fcp.until(() => fcp.requests('claim').length === 1);
  await sleep(400);
  one.worker.signal();
  expect(await one.worker.ended).toEqual({ why: 'drained', unsent: 0, stopped: 0 });
  expect(await task.ended()).toMatchObject({ op: 'release', body: { reason: 'drain' } });
  expect(fcp.requests('claim').length).toBe(1);
  expect(one.carrier.started).toEqual([]);
  expect(fcp.workers.get('rig')?.states.slice(-2)).toEqual(['draining', 'offline']);
});
