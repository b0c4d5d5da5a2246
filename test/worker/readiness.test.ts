import { expect, it } from 'vitest';
import { noAnswer, refused } from '../../sim/wire-words.ts';
import { readinessDefaults } from '../../src/core/defaults.ts';
import { readiness } from '../../src/core/readiness.ts';
import { handler, SimWorld } from './sim-rig.ts';

/** What the loops note, and what is decided from it, in simulated time. */
const MINUTE = 60_000;
const GOOD = { ready: true, turning: true, feed: true };

const look = (world: SimWorld) => readiness(world.worker.contact());

/** Nobody answers any call any more. */
function outage(world: SimWorld): void {
  world.transport.onCall(
    () => true,
    () => noAnswer('connect'),
  );
  world.transport.cutHints();
}

it('is not ready before the first claim is answered, and ready while claims bring nothing', async () => {
  const world = new SimWorld();
  await world.make();
  expect(look(world)).toMatchObject({
    ready: false,
    why: expect.stringMatching(/^No claim or renewal has succeeded yet/),
    feed: true,
  });
  await world.clock.time.until(world.worker.start(), MINUTE);
  await world.until(() => look(world).ready, 5_000);
  for (let minute = 0; minute < 12; minute++) {
    await world.advance(MINUTE);
    expect(look(world)).toEqual(GOOD);
  }
  expect(world.worker.status()).toMatchObject({
    lastClaimOkMs: expect.any(Number),
    drain: { atMostMs: 600_000, likelyMs: 0 },
    spool: { records: 0, bytes: 0, oldestMs: null, ok: true },
    handlers: [{ type: 'demo/hello', schemaVersion: 1, effectSafety: 'pure', effectGate: 'start' }],
  });
});

it('is not ready some seconds into an outage, says for how long, and is ready again after it', async () => {
  const world = new SimWorld();
  await world.start();
  await world.advance(5 * MINUTE);
  let down = true;
  world.transport.onCall(
    () => true,
    (_, byDefault) => (down ? noAnswer('connect') : byDefault()),
  );
  world.transport.cutHints();
  await world.until(() => !look(world).ready, 41_000);
  expect(look(world).why).toMatch(
    /^No claim or renewal has succeeded for \d+ s, and one is due every \d+ s; the last one failed: Nobody answered \(connect\)\.$/,
  );
  expect(look(world).feed).toBe(true);
  down = false;
  await world.until(() => look(world).ready, 20_000);
});

it('feeds the watchdog through ten minutes of an outage with nothing held, and no longer', async () => {
  const world = new SimWorld();
  await world.start();
  await world.advance(5 * MINUTE);
  outage(world);
  await world.advance(readinessDefaults.outageMs - 20_000);
  expect(look(world)).toMatchObject({ ready: false, turning: true, feed: true });
  await world.advance(40_000);
  expect(look(world)).toMatchObject({ ready: false, turning: true, feed: false });
});

it('feeds the watchdog through half an hour of an outage while a handler may go on', async () => {
  const world = new SimWorld();
  world.transport.offer({ type: 'demo/hello' });
  await world.start({ scripts: { 'demo/hello': world.works(50 * MINUTE) } });
  await world.until(() => world.carrier.running === 1);
  outage(world);
  await world.advance(30 * MINUTE);
  expect(look(world)).toMatchObject({ ready: false, turning: true, feed: true });
});

it('is ready while it is full: renewals succeed', async () => {
  const world = new SimWorld();
  world.transport.offer({ type: 'demo/hello' });
  await world.start({
    maxConcurrent: 1,
    scripts: { 'demo/hello': world.works(50 * MINUTE) },
  });
  await world.until(() => world.carrier.running === 1);
  for (let minute = 0; minute < 12; minute++) {
    await world.advance(MINUTE);
    expect(look(world)).toEqual(GOOD);
  }
  const status = world.worker.status();
  expect(status.state).toBe('full');
  expect(status.lastClaimOkMs).toBeGreaterThan(11 * MINUTE);
  expect(status.lastRenewalOkMs).toBeLessThan(MINUTE);
  expect(status.attempts[0]?.runningMs).toBeGreaterThan(11 * MINUTE);
  // Nobody has seen one end: it may take any time up to the deadline.
  expect(status.drain).toEqual({ atMostMs: 600_000 });
});

it('estimates a drain by how long handlers of a type took before', async () => {
  const world = new SimWorld();
  const first = world.transport.offer({ type: 'demo/hello' });
  await world.start({ scripts: { 'demo/hello': world.works(30_000) } });
  await world.until(() => first.ended);
  world.transport.offer({ type: 'demo/hello' });
  await world.until(() => world.carrier.running === 1);
  await world.advance(10_000);
  const { likelyMs = 0 } = world.worker.status().drain;
  expect(likelyMs).toBeGreaterThan(15_000);
  expect(likelyMs).toBeLessThanOrEqual(20_000);
  void world.worker.drain();
  await world.advance(1_000);
  expect(world.worker.status().drain.atMostMs).toBeLessThan(600_000);
  expect(look(world)).toEqual({
    ready: false,
    why: 'It drains: nothing more is claimed.',
    turning: true,
    feed: true,
  });
  await world.ended();
});

it('says why: a disk that takes nothing, a key that is refused', async () => {
  const full = new SimWorld();
  full.transport.offer({ type: 'demo/hello' });
  await full.start({ scripts: { 'demo/hello': full.works(2_000) } });
  await full.until(() => full.carrier.running === 1);
  full.diskRefuses = true;
  full.machine.disk.fail({ step: ['write', 'append'], code: 'ENOSPC' });
  await full.until(() => full.carrier.running === 0);
  await full.advance(12 * MINUTE);
  // A restart frees no disk.
  expect(look(full)).toMatchObject({
    ready: false,
    why: expect.stringMatching(/ENOSPC/),
    feed: true,
  });

  const locked = new SimWorld();
  await locked.start();
  await locked.advance(5_000);
  locked.transport.onCall(
    (call) => call.kind !== 'discover',
    () => refused(401, 'UNAUTHENTICATED'),
  );
  await locked.advance(12 * MINUTE);
  expect(look(locked)).toMatchObject({
    ready: false,
    why: expect.stringMatching(/^Nothing is claimed: the control plane refused our key/),
    turning: true,
    feed: true,
  });
});

it('turns while the control plane asks for pauses of minutes', async () => {
  const world = new SimWorld();
  await world.start();
  await world.advance(5_000);
  world.transport.onCall(
    (call) => call.kind !== 'discover',
    () => ({ ...refused(503, 'UNAVAILABLE'), retryAfterMs: 9 * MINUTE }),
  );
  for (let minute = 0; minute < 25; minute++) {
    await world.advance(MINUTE);
    expect(look(world).turning).toBe(true);
  }
  expect(look(world).ready).toBe(false);
});

it('stands still when a claim is answered and the disk takes a minute for what it brought', async () => {
  const world = new SimWorld();
  await world.start({ handlers: [handler('demo/hello', 'non-idempotent')] });
  await world.advance(5_000);
  expect(look(world).turning).toBe(true);
  const record = world.spool.recordClaim;
  world.spool.recordClaim = () => new Promise(() => {});
  world.transport.offer({ type: 'demo/hello', effectSafety: 'non-idempotent' });
  await world.until(() => world.worker.contact().claimingSince !== undefined, 20_000);
  await world.advance(readinessDefaults.stallMs + 1_000);
  expect(look(world)).toMatchObject({
    turning: false,
    stalled: expect.stringMatching(/^The claim loop has been busy with one claim for/),
    feed: false,
  });
  world.spool.recordClaim = record;
});
