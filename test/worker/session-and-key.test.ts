import { expect, it } from 'vitest';
import { noAnswer, refused } from '../../sim/wire-words.ts';
import type { PresenceRequest } from '../../src/contract/index.ts';
import { gaps, handler, SimWorld } from './sim-rig.ts';

const isNote = (file: string) => file.endsWith('/refusal.json');
const UNAUTHENTICATED = () => refused(401, 'UNAUTHENTICATED', { detail: 'this key is not known' });

it('ends as superseded by a claim: finishes what it has, claims no more, names the other', async () => {
  const world = new SimWorld();
  const { transport } = world;
  const one = transport.offer({ type: 'demo/hello' });
  await world.start({ scripts: { 'demo/hello': world.works(10_000) } });
  await world.until(() => world.carrier.running === 1);
  transport.onCall('claim', () =>
    refused(409, 'SESSION_SUPERSEDED', { detail: 'ses_new took over' }),
  );
  const end = await world.ended();
  expect(end).toEqual({ why: 'superseded', unsent: 0, stopped: 0, detail: 'ses_new took over' });
  expect(one.ended?.op).toBe('complete');
  expect(world.log.of('session.superseded').length).toBe(1);
  world.check();
});

it('ends as superseded by its presence, also while it drains', async () => {
  for (const draining of [false, true]) {
    const world = new SimWorld();
    const { transport } = world;
    const one = transport.offer({ type: 'demo/hello' });
    await world.start({ maxConcurrent: 1, scripts: { 'demo/hello': world.works(30_000) } });
    await world.until(() => world.carrier.running === 1);
    if (draining) world.worker.signal();
    await world.advance(2_000);
    transport.onCall('present', () => refused(409, 'SESSION_SUPERSEDED'));
    expect((await world.ended()).why).toBe('superseded');
    expect(one.ended?.op).toBe('complete');
    world.check();
  }
});

it('ends as superseded by its first hello, having claimed nothing', async () => {
  const world = new SimWorld();
  world.transport.onCall('present', () => refused(409, 'SESSION_SUPERSEDED'));
  await world.start();
  expect((await world.ended()).why).toBe('superseded');
  expect(world.transport.of('claim')).toEqual([]);
});

it('ends at its first start where the key is refused, having claimed and sent nothing', async () => {
  for (const [status, code] of [
    [401, 'UNAUTHENTICATED'],
    [403, 'SCOPE_DENIED'],
  ] as const) {
    const world = new SimWorld();
    world.transport.onCall('present', () =>
      refused(status, code, { detail: 'a task-worker key is needed' }),
    );
    await world.start();
    expect(world.end).toMatchObject({
      why: 'key-refused',
      detail: `${status} ${code}: a task-worker key is needed`,
    });
    await world.advance(60_000);
    const kinds = new Set(world.transport.calls.map(({ kind }) => kind));
    expect([...kinds]).toEqual(['present']);
    expect(world.transport.keyReads).toBe(1);
    // Its end says it; nothing is read again by itself.
    expect(world.log.of('claim.paused')).toEqual([]);
    expect((await world.worker.drain()).why).toBe('key-refused');
  }
});

it('reads its key again before it gives up at its first start', async () => {
  const world = new SimWorld();
  world.transport.keys.splice(0, 1, 'il_new');
  world.transport.onCall('present', (_, byDefault) =>
    world.transport.key === 'il_new' ? byDefault() : UNAUTHENTICATED(),
  );
  const one = world.transport.offer({ type: 'demo/hello' });
  await world.start();
  await world.until(() => one.ended);
  expect(world.end).toBeUndefined();
  world.check();
});

it('pauses when its key is refused later, reads it again without a hot loop, and delivers with the new one', async () => {
  const world = new SimWorld();
  const { transport } = world;
  const one = transport.offer({ type: 'demo/hello', leaseMs: 60_000 });
  await world.start({ scripts: { 'demo/hello': world.works(3_000) } });
  await world.until(() => world.carrier.running === 1);
  await world.advance(1_500);
  transport.onCall(
    (call) => call.kind !== 'discover',
    (_, byDefault) => (transport.key === 'il_new' ? byDefault() : UNAUTHENTICATED()),
  );
  transport.cutHints();
  await world.advance(8_000);
  expect(world.worker.status().notClaiming).toMatch(
    /refused our key.*keys new .*INTERLOCK_WORKER_KEY/,
  );
  expect(world.log.text()).toMatch(/Nothing is claimed: .*Give this worker a good one/);
  // A doctor on this machine reads it from the spool.
  const noted = () => Object.keys(world.machine.disk.platter.tree()).filter(isNote);
  expect(noted()).toHaveLength(1);
  const refusedCalls = transport.calls.filter(({ answer }) => answer?.kind === 'refused').length;
  expect(refusedCalls).toBeLessThan(30);
  transport.keys.splice(0, 1, 'il_new');
  await world.until(() => one.ended, 20_000);
  expect(one.ended?.op).toBe('complete');
  expect(world.carrier.started.length).toBe(1);
  const next = transport.offer({ type: 'demo/hello' });
  await world.until(() => next.ended, 20_000);
  expect(world.worker.status().notClaiming).toBeUndefined();
  expect(world.log.text()).not.toContain('il_new');
  expect(noted()).toEqual([]);
  world.check({ lapses: true });
});

it('asks at least every minute with a key that stays refused, and never ends for it', async () => {
  const world = new SimWorld();
  const { transport } = world;
  await world.start();
  await world.advance(5_000);
  transport.onCall((call) => call.kind !== 'discover', UNAUTHENTICATED);
  const from = transport.calls.length;
  await world.advance(3_600_000);
  expect(world.end).toBeUndefined();
  const presents = transport.of('present').map(({ at }) => at);
  expect(Math.max(...gaps(presents))).toBeLessThanOrEqual(60_010);
  expect(transport.calls.length - from).toBeLessThan(400);
});

it('takes an address that knows nothing (404) for no verdict on an attempt', async () => {
  const world = new SimWorld();
  const { transport } = world;
  const one = transport.offer({ type: 'x/y', effectSafety: 'non-idempotent' });
  const off = transport.onCall(
    (call) => call.kind !== 'discover' && call.kind !== 'present',
    () => refused(404, 'NOT_FOUND', { kind: 'route' }),
  );
  await world.start({ handlers: [handler('x/y', 'non-idempotent')] });
  await world.advance(20_000);
  expect(one.sent).toEqual([]);
  off();
  await world.until(() => one.ended, 90_000);
  expect(one.ended?.op).toBe('complete');
  world.check();
});

it('keeps running, gate and all, while a proxy answers 404 in the middle of it', async () => {
  const world = new SimWorld();
  const { transport } = world;
  const one = transport.offer({ type: 'x/y', effectSafety: 'non-idempotent', leaseMs: 120_000 });
  const off = transport.onReport('start', () => refused(404, 'NOT_FOUND', { kind: 'route' }));
  await world.start({ handlers: [handler('x/y', 'non-idempotent')] });
  await world.advance(20_000);
  expect(one.ended).toBeUndefined();
  expect(transport.sent('start').length).toBeGreaterThanOrEqual(3);
  off();
  await world.until(() => one.ended, 20_000);
  expect(one.ended?.op).toBe('complete');
  world.check();
});

it('says hello every 15 s, or as seldom as the control plane wishes, but not more often', async () => {
  for (const [wish, least, most] of [
    [15_000, 15_000, 16_510],
    [100, 15_000, 16_510],
    [40_000, 40_000, 44_010],
    [1e9, 120_000, 132_010],
  ] as const) {
    const world = new SimWorld();
    world.transport.presentAfterMs = wish;
    await world.start();
    await world.advance(600_000);
    const between = gaps(world.transport.of('present').map(({ at }) => at)).slice(1);
    expect(Math.min(...between)).toBeGreaterThanOrEqual(least);
    expect(Math.max(...between)).toBeLessThanOrEqual(most);
  }
});

it('sends its handlers once, and again when they are asked for', async () => {
  const world = new SimWorld();
  const { transport } = world;
  await world.start();
  await world.advance(40_000);
  const withHandlers = () =>
    transport.of('present').filter(({ request }) => 'handlers' in (request as object)).length;
  expect(withHandlers()).toBe(1);
  transport.needHandlers = true;
  await world.until(() => withHandlers() === 2, 20_000);
  const from = transport.of('present').length;
  await world.advance(60_000);
  // A control plane that asks for ever gets them with every hello, not in a loop.
  expect(transport.of('present').length - from).toBeLessThanOrEqual(6);
});

it('tells soon that it is full and that it is ready again, without a hello for each task', async () => {
  const world = new SimWorld();
  const { transport } = world;
  const states = () =>
    transport.of('present').map(({ request }) => (request as PresenceRequest).state);
  await world.start({ maxConcurrent: 1, scripts: { 'demo/hello': world.works(3_000) } });
  transport.offer({ type: 'demo/hello' });
  transport.hint({ kind: 'wake', types: [] });
  await world.until(() => states().at(-1) === 'full', 1_500);
  await world.until(() => states().at(-1) === 'ready', 5_000);
  const busy = new SimWorld();
  const all = Array.from({ length: 2_000 }, () => busy.transport.offer({ type: 'demo/hello' }));
  await busy.start({ maxConcurrent: 4, scripts: { 'demo/hello': busy.works(20) } });
  await busy.until(() => all.every(({ ended }) => ended), 60_000);
  expect(busy.transport.of('present').length).toBeLessThan(60);
  busy.check();
});

it('waits as long as its hello is told to', async () => {
  const world = new SimWorld();
  world.transport.onCall(
    'present',
    () => refused(429, 'RATE_LIMITED', { retryAfterMs: 90_000 }),
    1,
  );
  await world.start({ maxConcurrent: 1, scripts: { 'demo/hello': world.works(500) } });
  world.transport.offer({ type: 'demo/hello' });
  await world.advance(120_000);
  const [gap] = gaps(world.transport.of('present').map(({ at }) => at));
  expect(gap).toBeGreaterThanOrEqual(90_000);
  expect(gap).toBeLessThanOrEqual(99_010);
});

it('asks again soon where its first hello got no answer', async () => {
  const world = new SimWorld();
  world.transport.onCall('present', () => noAnswer('connect'), 3);
  await world.start();
  await world.until(() => world.transport.of('present').length === 4, 6_000);
  await world.until(() => world.worker.status().state === 'ready');
  world.check();
});

it('writes the project that it learnt into its records', async () => {
  const world = new SimWorld();
  world.transport.project = 'workshop';
  world.transport.onReport('complete', () => noAnswer('cut'));
  world.transport.offer({ type: 'demo/hello' });
  await world.start();
  await world.until(() => world.spool.stats().pending === 1);
  expect(world.files('reports').join('')).toContain('"project":"workshop"');
});
