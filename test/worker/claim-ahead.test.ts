import { expect, it } from 'vitest';
import { returned } from '../../sim/carrier.ts';
import type { SimulatedTime } from '../../sim/time.ts';
import type { OfferedAttempt } from '../../sim/wire-words.ts';
import type { ClaimRequest } from '../../src/contract/index.ts';
import { aheadDefaults } from '../../src/core/ahead-defaults.ts';
import { workerDefaults } from '../../src/core/defaults.ts';
import { serverDefaults } from '../../src/core/server-defaults.ts';
import { handler, SimWorld } from './sim-rig.ts';

const claims = (world: SimWorld) =>
  world.transport.of('claim').map(({ request }) => request as ClaimRequest);
const most = (world: SimWorld) => Math.max(...claims(world).map(({ max }) => max));
const offer = (world: SimWorld, count: number, type = 'demo/hello') =>
  Array.from({ length: count }, () => world.transport.offer({ type }));

/** What a test has ahead, some are at work by the time the last have come. */
const MANY = aheadDefaults.most - 40;

/** Simulated: two batches of reports, there and back. */
const ON_THE_WAY_MS = 20;

/** Handlers that take so long, and from then on what `take` is set to. */
function handlers(world: SimWorld, ms = 2) {
  const take = { ms };
  const script = async () => {
    await world.clock.sleep(take.ms);
    return returned('done');
  };
  return { take, script };
}

/** A worker whose short handlers are known, and that has work ahead. */
async function ahead(
  maxConcurrent: number,
  count = 400,
  { ms, time }: { ms?: number; time?: SimulatedTime } = {},
) {
  const world = new SimWorld(time);
  world.transport.claimMax = serverDefaults.claimMax;
  const all = offer(world, count);
  const { script, take } = handlers(world, ms);
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

it('gives back all of some 500 within a second when its handlers become slow, and an idle worker runs them', async () => {
  const idle = new SimWorld();
  await idle.start({ workerId: 'idle', scripts: { 'demo/hello': idle.works(1) } });
  const { world, all, take } = await ahead(16, 1_500, { ms: 1, time: idle.clock.time });
  // What is given back is queued again, and the idle one is told.
  const again = new Map<string, OfferedAttempt>();
  world.transport.onReport('release', ({ report: { taskId } }, byDefault) => {
    again.set(taskId, idle.transport.offer({ type: 'demo/hello', taskId }));
    idle.transport.hint({ kind: 'wake', types: [] });
    return byDefault();
  });
  take.ms = 60_000;
  const waiting = () => world.worker.status().slots.waiting;
  await world.until(() => waiting() >= MANY, 1_000);
  await world.advance(aheadDefaults.waitMs + ON_THE_WAY_MS);
  expect(waiting()).toBe(0);
  expect(again.size).toBeGreaterThanOrEqual(MANY);
  for (const { sent, grantedAt = 0, ended } of all.filter(({ attempt }) =>
    again.has(attempt.taskId),
  )) {
    expect(ended).toMatchObject({ op: 'release', reason: 'waited' });
    expect((sent.at(-1)?.at ?? 0) - grantedAt).toBeLessThanOrEqual(
      aheadDefaults.waitMs + ON_THE_WAY_MS,
    );
  }
  await idle.until(() => [...again.values()].every(({ ended }) => ended), 1_000);
  for (const { ended } of again.values()) expect(ended?.op).toBe('complete');
  // Where it was slow none of them had begun.
  expect(world.carrier.started.filter(({ taskId }) => again.has(taskId))).toEqual([]);
  world.check();
  idle.check();
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

it('gives back all of some 500 that it claimed ahead when it drains, claims nothing more and leaves nothing on disk', async () => {
  const { world, all, take } = await ahead(16, 1_500, { ms: 1 });
  take.ms = 400;
  const waiting = () => world.worker.status().slots.waiting;
  await world.until(() => waiting() >= MANY, 1_000);
  world.worker.signal();
  const asked = claims(world).length;
  const begun = world.carrier.started.length;
  const granted = all.filter(({ grantedAt }) => grantedAt !== undefined).length;
  expect(await world.ended()).toMatchObject({ why: 'drained', unsent: 0 });
  expect(claims(world).length).toBe(asked);
  expect(world.carrier.started.length).toBe(begun);
  const ended = all.flatMap((one) => (one.ended ? [one.ended] : []));
  expect(ended.length).toBe(granted);
  const back = ended.filter(({ op }) => op === 'release');
  expect(back.length).toBe(granted - begun);
  expect(back.length).toBeGreaterThanOrEqual(MANY);
  for (const release of back) expect(release).toMatchObject({ reason: 'drain' });
  expect([...world.files('running'), ...world.files('reports')]).toEqual([]);
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

/** Calls with reports, and claims, each with the moment of its send. */
function sends(world: SimWorld) {
  const { transport } = world;
  const at = (kind: 'claim' | 'batch' | 'report') => transport.of(kind).map((call) => call.at);
  return { claims: at('claim'), reports: [...at('batch'), ...at('report')] };
}

/** A backlog, calls that take 8 ms, at a control plane that takes as much at once as ours. */
async function backlog(
  world: SimWorld,
  count: number,
  maxConcurrent: number,
  script: () => Promise<ReturnType<typeof returned>>,
) {
  const { transport } = world;
  transport.claimMax = serverDefaults.claimMax;
  transport.batch = serverDefaults.batch;
  transport.latencyMs = 8;
  const all = offer(world, count);
  await world.start({ maxConcurrent, scripts: { 'demo/hello': script } });
  await world.until(() => all.every(({ ended }) => ended), 60_000);
  return all;
}

it('costs a claim and a call with reports for each hundred tasks of a backlog, and both go together', async () => {
  const world = new SimWorld();
  const all = await backlog(world, 3_000, 16, handlers(world).script);
  const { claims: asked, reports } = sends(world);
  expect(asked.length).toBeLessThan(all.length / 90);
  expect(reports.length).toBeLessThan(all.length / 70);
  const moments = new Set([...asked, ...reports]);
  expect(moments.size).toBeLessThan(all.length / 60);
  // The reports first: what is in the claim's answer does not wait for another commit.
  const order = world.transport.calls.map(({ kind }) => kind);
  expect(
    order.filter((kind, i) => kind === 'batch' && order[i + 1] === 'claim').length,
  ).toBeGreaterThan(15);
  world.check();
});

// However far the pause between two calls is by then: it is 16 tasks long.
it.each([200, 205, 209, 211])(
  'sends what has gathered as soon as the last one of %i that waited has begun, however long that takes',
  async (count) => {
    const world = new SimWorld();
    let begun = 0;
    let lastAt = 0;
    const lastMs = aheadDefaults.shortMs - 1;
    const script = async () => {
      const last = ++begun === count;
      if (last) lastAt = world.clock.now();
      await world.clock.sleep(last ? lastMs : 2);
      return returned('done');
    };
    const all = await backlog(world, count, 1, script);
    const sent = all.flatMap((one) => one.sent.map(({ at }) => at));
    const others = sent.filter((at) => at < lastAt + lastMs);
    expect(Math.max(...others) - lastAt).toBeLessThanOrEqual(workerDefaults.reportsGatherMs);
    world.check();
  },
);
