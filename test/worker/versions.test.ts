import { expect, it } from 'vitest';
import { noAnswer, refused } from '../../sim/wire-words.ts';
import { Field, handler } from './harness.ts';
import { SimWorld } from './sim-rig.ts';

/** What a worker of version 1 does with what it does not know, and with a control plane of another version. */

const OTHER = () => refused(426, 'CONTRACT_UNSUPPORTED', { supported: [2, 3] });

it('claims nothing before the first discovery was answered, and ends where it lists no version of ours', async () => {
  const world = new SimWorld();
  const { transport } = world;
  transport.offer({ type: 'demo/hello' });
  transport.onCall('discover', (_, byDefault) => {
    const answer = byDefault();
    if (answer === 'never' || answer.kind !== 'ok') return answer;
    return { ...answer, value: { ...(answer.value as object), contracts: [2] } };
  });
  await world.start();
  expect(await world.ended()).toEqual({
    why: 'contract-mismatch',
    unsent: 0,
    stopped: 0,
    detail: 'it speaks contract 2, this program speaks 1. Update this program.',
  });
  expect(transport.of('claim')).toEqual([]);
  expect(world.log.of('contract.mismatch').length).toBe(1);
  world.check();
});

it('does not wait with its claims for a discovery that fails', async () => {
  const world = new SimWorld();
  const { transport } = world;
  transport.onCall('discover', () => noAnswer('connect'), 1);
  const one = transport.offer({ type: 'demo/hello' });
  await world.start();
  await world.until(() => one.ended, 5_000);
  await world.until(() => transport.of('discover').length === 2, 60_000);
  world.check();
});

it('asks which versions are spoken after a 426, and goes on where ours is', async () => {
  const world = new SimWorld();
  const { transport } = world;
  await world.start();
  await world.advance(2_000);
  const asked = transport.of('discover').length;
  transport.onCall('claim', OTHER, 1);
  await world.until(() => transport.of('discover').length === asked + 1, 30_000);
  const one = transport.offer({ type: 'demo/hello' });
  await world.until(() => one.ended, 90_000);
  expect(world.end).toBeUndefined();
  expect(transport.of('discover').length).toBe(asked + 1);
  world.check();
});

it('lets what runs end and keeps its report when its version is gone, without waiting for the drain', async () => {
  const world = new SimWorld();
  const { transport } = world;
  const one = transport.offer({ type: 'demo/hello', leaseMs: 120_000 });
  await world.start({ scripts: { 'demo/hello': world.works(20_000) } });
  await world.until(() => world.carrier.running === 1);
  transport.onCall(() => true, OTHER);
  const from = world.now;
  expect(await world.ended()).toMatchObject({ why: 'contract-mismatch', unsent: 1, stopped: 0 });
  expect(world.now - from).toBeLessThan(40_000);
  expect(one.ended).toBeUndefined();
  expect(world.files('reports').join('')).toContain('"complete"');
});

/** Adds what no contract of today has to every object of an answer. */
function later<A extends { readonly body?: unknown }>(answer: A): A {
  return { ...answer, body: grown(answer.body) };
}

function grown(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(grown);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).map(([name, field]) => [
    name,
    name === 'input' || name === 'labels' ? field : grown(field),
  ]);
  return { ...Object.fromEntries(fields), ofTomorrow: { deep: [1] } };
}

it('works as ever where every answer has fields, features and hints that it does not know', async () => {
  await using field = await Field.open({ features: ['of-tomorrow'] });
  const { fcp } = field;
  fcp.on(
    ({ route }) => route !== 'hints',
    (_, ctl) => ctl.pass(later),
  );
  await field.start();
  await fcp.until(() => fcp.hints.open.length > 0);
  fcp.hints.send('of-tomorrow', { taskId: 'tsk_1' });
  fcp.hints.send('wake', { types: ['demo/hello@1'], ofTomorrow: true });
  const task = fcp.offer({ type: 'demo/hello', wake: false });
  expect((await task.ended()).op).toBe('complete');
});

it('takes an effect safety that it does not know for non-idempotent: nothing runs before the gate', async () => {
  await using field = await Field.open();
  const { fcp } = field;
  fcp.on('claim', (_, ctl) =>
    ctl.pass((answer) => {
      const { attempts, ...rest } = answer.body as { attempts: object[] };
      const strange = attempts.map((one) => ({ ...one, effectSafety: 'of-tomorrow' }));
      return { ...answer, body: { ...rest, attempts: strange } };
    }),
  );
  const gate = fcp.onReport('start', (_, ctl) => ctl.problem(503, 'UNAVAILABLE'), { times: 2 });
  const rig = await field.start({ handlers: [handler('demo/hello', 'pure')] });
  const task = fcp.offer({ type: 'demo/hello' });
  await fcp.until(() => gate.seen.length === 2);
  expect(rig.carrier.started).toEqual([]);
  expect((await task.ended()).op).toBe('complete');
});
