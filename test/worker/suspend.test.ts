/** A machine that slept: leases are counted on a clock that went on, and are renewed before anybody trusts them. */
import { expect, it } from 'vitest';
import { returned } from '../../sim/carrier.ts';
import { refused } from '../../sim/wire-words.ts';
import type { Report } from '../../src/contract/index.ts';
import { handler, SimWorld } from './sim-rig.ts';

const LEASE_MS = 30_000;

/** Sleeps for so long from now on and is awake again; returns when that was. */
async function sleeps(world: SimWorld, ms: number): Promise<number> {
  world.clock.suspend(ms);
  await world.advance(ms);
  return world.now;
}

/** As a real control plane: no gate opens on a lease that is over. */
function guardsGates(world: SimWorld): void {
  const { transport } = world;
  transport.onReport(
    ({ op }: Report) => op === 'start' || op === 'effect',
    ({ report }, byDefault) => {
      const offered = transport.attempts.get(report.attemptId);
      if (offered && offered.leaseUntil < world.now) return refused(409, 'LEASE_EXPIRED');
      return byDefault();
    },
  );
}

it('renews in the moment in which it wakes from a suspend shorter than the lease, and keeps it', async () => {
  const world = new SimWorld();
  const one = world.transport.offer({ type: 'demo/hello', leaseMs: LEASE_MS });
  await world.start({ scripts: { 'demo/hello': world.works(70_000) } });
  await world.until(() => world.carrier.running === 1);
  await world.advance(3_000);
  const awakeAt = await sleeps(world, 26_000);
  await world.advance(10);
  expect(world.transport.sent('renew')[0]?.at).toBe(awakeAt);
  await world.until(() => one.ended, 80_000);
  expect(one.ended?.op).toBe('complete');
  expect(world.carrier.started.length).toBe(1);
  world.check();
});

it('asks again before the rest of the lease is over where its first renewal went into a dead connection', async () => {
  const world = new SimWorld();
  const one = world.transport.offer({ type: 'demo/hello', leaseMs: LEASE_MS });
  await world.start({ scripts: { 'demo/hello': world.works(70_000) } });
  await world.until(() => world.carrier.running === 1);
  await world.advance(3_000);
  world.transport.onReport('renew', () => 'never', 1);
  await sleeps(world, 24_000);
  await world.until(() => one.ended, 80_000);
  expect(one.ended?.op).toBe('complete');
  world.check();
});

it('goes back to a third of the lease once a renewal was answered', async () => {
  const world = new SimWorld();
  world.transport.offer({ type: 'demo/hello', leaseMs: LEASE_MS });
  await world.start({ scripts: { 'demo/hello': world.works(400_000) } });
  await world.advance(3_000);
  await sleeps(world, 24_000);
  await world.advance(300_000);
  const renewals = world.transport.sent('renew').length;
  expect(renewals).toBeGreaterThanOrEqual(27);
  expect(renewals).toBeLessThanOrEqual(35);
  world.check();
});

it('stops an idempotent handler in the moment in which it wakes from a suspend longer than the lease', async () => {
  const world = new SimWorld();
  const one = world.transport.offer({
    type: 'x/y',
    effectSafety: 'idempotent',
    leaseMs: LEASE_MS,
  });
  let stopped: [string, number] | undefined;
  await world.start({
    handlers: [handler('x/y', 'idempotent')],
    scripts: {
      'x/y': async (play) => {
        stopped = [await play.stopSignal, world.now];
        return returned(1);
      },
    },
  });
  await world.until(() => world.carrier.running === 1);
  await world.advance(3_000);
  const awakeAt = await sleeps(world, 3_600_000);
  await world.until(() => one.ended, 5_000);
  expect(stopped).toEqual(['lease', awakeAt]);
  expect(one.ended).toMatchObject({ op: 'lost', reason: 'lease' });
  expect(world.transport.sent('renew').find(({ at }) => at >= awakeAt)?.at).toBe(awakeAt);
  world.check({ lapses: true });
});

it.each([
  ['before', -500],
  ['after', 500],
])(
  'asks no gate on a lease that ran out in its sleep, also if the handler wakes %s its loops',
  async (_, aside) => {
    const world = new SimWorld();
    guardsGates(world);
    const one = world.transport.offer({
      type: 'x/y',
      effectSafety: 'non-idempotent',
      effectGate: 'effect',
      leaseMs: LEASE_MS,
    });
    let gate = 'not asked';
    await world.start({
      handlers: [handler('x/y', 'non-idempotent', { effectGate: 'effect' })],
      ignoresStop: ['x/y'],
      scripts: {
        'x/y': async (play) => {
          await world.clock.sleep(10_000 + aside);
          await play.beginEffect().then(
            () => {
              gate = 'open';
            },
            (error: Error) => {
              gate = error.message;
            },
          );
          return gate === 'open' ? returned('done') : { how: 'stopped' };
        },
      },
    });
    await world.until(() => world.carrier.running === 1);
    await world.advance(3_000);
    await sleeps(world, 3_600_000);
    await world.until(() => one.ended, 30_000);
    expect(gate).toMatch(/lease of this attempt ran out/);
    expect(world.transport.sent('effect')).toEqual([]);
    expect(one.ended).toMatchObject({ op: 'lost', reason: 'lease' });
    world.check({ lapses: true });
  },
);

/** The control plane accepts `start`; the machine falls asleep before it reads that, and sleeps past the lease. */
async function sleepsOnAnAcceptedStart() {
  const world = new SimWorld();
  guardsGates(world);
  const one = world.transport.offer({
    type: 'x/y',
    effectSafety: 'non-idempotent',
    leaseMs: LEASE_MS,
  });
  let begunAt: number | undefined;
  await world.start({
    handlers: [handler('x/y', 'non-idempotent')],
    scripts: {
      'x/y': () => {
        begunAt ??= world.now;
        return returned(1);
      },
    },
  });
  await world.until(() => world.transport.sent('start').length === 1);
  const awakeAt = await sleeps(world, 3_600_000);
  return { world, one, awakeAt, begunAt: () => begunAt };
}

it('begins only after a renewal where the answer to its start was read after a long sleep', async () => {
  const { world, one, awakeAt, begunAt } = await sleepsOnAnAcceptedStart();
  await world.until(() => one.ended, 30_000);
  const renewal = world.transport.sent('renew').find(({ at }) => at >= awakeAt);
  expect(begunAt()).toBeGreaterThanOrEqual(renewal?.answeredAt ?? Number.POSITIVE_INFINITY);
  expect(one.ended?.op).toBe('complete');
  expect(world.carrier.started.length).toBe(1);
  world.check({ lapses: true });
});

it('never begins where that renewal is told that somebody else has the task', async () => {
  const world = new SimWorld();
  world.transport.onReport('renew', () => refused(409, 'STALE_ATTEMPT'));
  const one = world.transport.offer({
    type: 'x/y',
    effectSafety: 'non-idempotent',
    leaseMs: LEASE_MS,
  });
  await world.start({ handlers: [handler('x/y', 'non-idempotent')] });
  await world.until(() => world.transport.sent('start').length === 1);
  await sleeps(world, 3_600_000);
  await world.advance(60_000);
  expect(world.carrier.started).toEqual([]);
  expect(one.ended).toBeUndefined();
  world.check({ lapses: true });
});

it('never begins where that renewal is told that the lease has ended', async () => {
  const world = new SimWorld();
  world.transport.onReport('renew', () => refused(409, 'LEASE_EXPIRED'));
  const one = world.transport.offer({
    type: 'x/y',
    effectSafety: 'non-idempotent',
    leaseMs: LEASE_MS,
  });
  await world.start({ handlers: [handler('x/y', 'non-idempotent')] });
  await world.until(() => world.transport.sent('start').length === 1);
  await sleeps(world, 3_600_000);
  await world.until(() => one.ended, 60_000);
  expect(one.ended).toMatchObject({ op: 'release', reason: 'gate-refused' });
  expect(world.carrier.started).toEqual([]);
  world.check({ lapses: true });
});

it.each([
  ['idempotent', 'release'],
  ['non-idempotent', 'complete'],
] as const)(
  'does not begin an %s attempt whose claim was read after a long sleep',
  async (effectSafety, op) => {
    const world = new SimWorld();
    guardsGates(world);
    await world.start({ handlers: [handler('x/y', effectSafety)] });
    await world.advance(1_000);
    const one = world.transport.offer({ type: 'x/y', effectSafety, leaseMs: LEASE_MS });
    const claims = world.transport.of('claim').length;
    await world.until(() => world.transport.of('claim').length > claims, 20_000);
    const awakeAt = await sleeps(world, 3_600_000);
    await world.until(() => one.ended, 30_000);
    expect(one.ended?.op).toBe(op);
    const begun = world.transport.sent('start').map(({ at }) => at);
    const renewal = world.transport.sent('renew').find(({ at }) => at >= awakeAt);
    for (const at of begun) expect(at).toBeGreaterThanOrEqual(renewal?.answeredAt ?? Infinity);
    expect(world.carrier.started.length).toBe(op === 'release' ? 0 : 1);
    world.check({ lapses: true });
  },
);

it('opens a new hint stream, polls and says hello in the moment in which it wakes', async () => {
  const world = new SimWorld();
  await world.start();
  await world.advance(30_000);
  const awakeAt = await sleeps(world, 3_600_000);
  await world.advance(10);
  expect(world.transport.of('claim').at(-1)?.at).toBe(awakeAt);
  expect(world.transport.of('present').at(-1)?.at).toBe(awakeAt);
  world.check();
});
