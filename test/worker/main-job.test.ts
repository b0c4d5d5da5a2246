import { afterEach, beforeEach, expect, it } from 'vitest';
import { returned } from '../../sim/carrier.ts';
import { type Fcp, startFcp } from '../fcp/fcp.ts';
import { handler, type Rig, rig } from './harness.ts';

let fcp: Fcp;
let rigs: Rig[] = [];

beforeEach(async () => {
  fcp = await startFcp();
});
afterEach(async () => {
  for (const one of rigs) await one.close();
  rigs = [];
  await fcp.stop();
});

async function start(options: Omit<Parameters<typeof rig>[0], 'url'>): Promise<Rig> {
  const made = await rig({ url: fcp.url, ...options });
  rigs.push(made);
  await made.worker.start();
  return made;
}

it('claims, runs, spools, reports and forgets a pure task', async () => {
  const task = fcp.offer({ type: 'demo/hello', input: { name: 'Ada' }, effectSafety: 'pure' });
  const one = await start({
    scripts: { 'demo/hello': ({ job }) => returned({ hi: job.input }) },
    handlers: [handler('demo/hello')],
  });
  const report = await task.ended();
  expect(report).toMatchObject({ op: 'complete', body: { result: { hi: { name: 'Ada' } } } });
  await fcp.until(() => one.worker.status().unanswered === 0, { what: 'answered' });
  await one.spool.idle();
  expect(one.spool.stats()).toMatchObject({ pending: 0, ok: true });
  expect(fcp.violations).toEqual([]);
});

it('asks the gate of a non-idempotent task before its handler runs', async () => {
  const order: string[] = [];
  fcp.onReport('start', (_report, ctl) => {
    order.push('start');
    ctl.pass();
  });
  const task = fcp.offer({ type: 'effect/append', input: {} });
  await start({
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
  expect(fcp.violations).toEqual([]);
});

it('opens an effect gate only after its answer', async () => {
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
  await start({
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
  expect(fcp.violations).toEqual([]);
});
