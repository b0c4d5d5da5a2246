import { expect, it } from 'vitest';
import { returned } from '../../sim/carrier.ts';
import type { ClaimRequest } from '../../src/contract/index.ts';
import { aheadDefaults } from '../../src/core/defaults.ts';
import { handler, SimWorld } from './sim-rig.ts';

const claims = (world: SimWorld) =>
  world.transport.of('claim').map(({ request }) => request as ClaimRequest);
const most = (world: SimWorld) => Math.max(...claims(world).map(({ max }) => max));
const offer = (world: SimWorld, count: number, type = 'demo/hello') =>
  Array.from({ length: count }, () => world.transport.offer({ type }));

/** Handlers that take 2 ms; from then on, where `slow` is set, so long. */
function handlers(world: SimWorld) {
  const take = { ms: 2 };
  const script = async () => {
    await world.clock.sleep(take.ms);
    return returned('done');
  };
  return { take, script };
}

/** A worker whose short handlers are known, and that has work ahead. */
async function ahead(maxConcurrent: number, count = 400) {
  const world = new SimWorld();
  const all = offer(world, count);
  const { script, take } = handlers(world);
  await world.start({ maxConcurrent, scripts: { 'demo/hello': script } });
  await world.until(() => world.worker.status().slots.waiting > 0);
  return { world, all, take };
}

it.each([1, 4])(
  'claims ahead with %i slots where handlers are short, and runs no more at once',
  async (maxConcurrent) => {
    const { world, all } = await ahead(maxConcurrent);
    await world.until(() => all.every(({ ended }) => ended?.op === 'complete'), 60_000);
    expect(most(world)).toBeGreaterThan(maxConcurrent);
    expect(most(world)).toBeLessThanOrEqual(maxConcurrent + aheadDefaults.most);
    expect(world.carrier.peak).toBe(maxConcurrent);
    expect(world.transport.sent('release')).toEqual([]);
    expect(claims(world).length).toBeLessThan(all.length / 4);
    world.check();
  },
);

it('claims ahead beside types that are not known, also where handlers end before the next claim is answered', async () => {
  const world = new SimWorld();
  const all = offer(world, 600);
  const { script } = handlers(world);
  world.transport.latencyMs = 5;
  await world.start({
    maxConcurrent: 4,
    handlers: [handler('demo/hello'), handler('demo/other')],
    scripts: { 'demo/hello': script },
  });
  await world.until(() => all.every(({ ended }) => ended?.op === 'complete'), 60_000);
  // The first claims are for the free slots alone, since nothing is known; then each brings many.
  expect(claims(world).length).toBeLessThan(all.length / 8);
  expect(world.transport.sent('release')).toEqual([]);
  world.check();
});

it('claims nothing ahead for handlers that are longer', async () => {
  const world = new SimWorld();
  const all = offer(world, 60);
  const scripts = { 'demo/hello': world.works(aheadDefaults.shortMs + 10) };
  await world.start({ maxConcurrent: 4, scripts });
  await world.until(() => all.every(({ ended }) => ended), 60_000);
  expect(most(world)).toBe(4);
  world.check();
});

it('gives back what it claimed ahead when its handlers become slow, once, and runs the rest', async () => {
  const { world, all, take } = await ahead(1);
  take.ms = 20_000;
  await world.until(() => world.transport.sent('release').length > 0, 5_000);
  await world.advance(100);
  const released = all.filter(({ ended }) => ended?.op === 'release');
  expect(released.length).toBeGreaterThan(0);
  for (const { ended } of released) expect(ended).toMatchObject({ reason: 'waited' });
  expect(world.worker.status().slots.waiting).toBe(0);
  expect(world.files('running').length).toBeLessThanOrEqual(1);
  take.ms = 2;
  const from = claims(world).length;
  await world.until(() => claims(world).length >= from + 10, 60_000);
  // For a while nothing is claimed ahead, whatever the handlers do.
  for (const { max } of claims(world).slice(from)) expect(max).toBe(1);
  world.check();
});

it('gives back what it claimed ahead when it drains', async () => {
  const { world, all, take } = await ahead(1);
  take.ms = 400;
  await world.advance(10);
  const waiting = world.worker.status().slots.waiting;
  expect(waiting).toBeGreaterThan(0);
  world.worker.signal();
  expect(await world.ended()).toMatchObject({ why: 'drained', unsent: 0 });
  const released = all.filter(({ ended }) => ended?.op === 'release');
  expect(released.length).toBeGreaterThanOrEqual(waiting - 1);
  for (const { ended } of released) expect(ended).toMatchObject({ reason: 'drain' });
  expect(world.files('running')).toEqual([]);
  world.check();
});

it('gives back what it claimed ahead when the type is paused', async () => {
  const world = new SimWorld();
  const all = offer(world, 200);
  let broken = false;
  const script = async () => {
    await world.clock.sleep(2);
    return broken
      ? ({
          how: 'not-begun',
          error: { code: 'MODULE_NOT_LOADED', message: 'gone', retryable: true },
        } as const)
      : returned('done');
  };
  await world.start({ maxConcurrent: 1, scripts: { 'demo/hello': script } });
  await world.until(() => world.worker.status().slots.waiting > 3);
  broken = true;
  await world.until(() => world.transport.sent('release').length > 3, 5_000);
  await world.advance(200);
  const reasons = all.flatMap(({ ended }) => (ended?.op === 'release' ? [ended.reason] : []));
  expect(reasons.filter((reason) => reason === 'type-paused').length).toBeGreaterThan(1);
  expect(world.worker.status().slots.waiting).toBe(0);
  world.check();
});

it('lets a type whose handlers are long come to a slot beside short ones that never end', async () => {
  const world = new SimWorld();
  const all = offer(world, 600);
  const { script } = handlers(world);
  await world.start({
    maxConcurrent: 1,
    handlers: [handler('demo/hello'), handler('demo/long')],
    scripts: { 'demo/hello': script, 'demo/long': world.works(5_000) },
  });
  await world.until(() => world.worker.status().slots.waiting > 0);
  const [long] = offer(world, 1, 'demo/long');
  // The double gives in its order: nothing of the others is before it.
  for (const { max, want } of claims(world).slice(-1))
    expect(want.length === 2 || max > 1).toBe(true);
  await world.until(() => claims(world).at(-1)?.want.length === 2, 1_000);
  await world.until(() => all.every(({ ended }) => ended) && long?.ended !== undefined, 120_000);
  expect(long?.ended?.op).toBe('complete');
  expect(world.transport.sent('release')).toEqual([]);
  world.check();
});
