import { expect, it } from 'vitest';
import { noAnswer, ok, refused, type Said } from '../../sim/wire-words.ts';
import type { ClaimRequest } from '../../src/contract/index.ts';
import { serviceInfo } from '../../src/contract/service.ts';
import { gaps, handler, SimWorld } from './sim-rig.ts';

const requests = (world: SimWorld) =>
  world.transport.of('claim').map(({ request }) => request as ClaimRequest);

/** Attempts in the answer to the next claim, as the test bends them. */
function answering(world: SimWorld, bend: (attempts: unknown[]) => unknown[], times = 1) {
  world.transport.onCall(
    'claim',
    (_, byDefault) => {
      const said = byDefault() as { kind: 'ok'; value: { attempts: unknown[] } };
      return ok({ ...said.value, attempts: bend(said.value.attempts) }) as Said<unknown>;
    },
    times,
  );
}

it('claims for the slots that are free, with what its handlers declare', async () => {
  const world = new SimWorld();
  world.transport.offer({ type: 'demo/hello' });
  await world.start({
    maxConcurrent: 3,
    pools: ['default', 'gpu'],
    handlers: [handler('demo/hello'), handler('x/y', 'non-idempotent', { effectGate: 'effect' })],
    scripts: { 'demo/hello': world.works(20_000) },
  });
  await world.advance(5_000);
  const [first, , third] = requests(world);
  expect(first).toMatchObject({
    workerId: 'sim',
    sessionId: 'ses_1',
    pools: ['default', 'gpu'],
    max: 3,
    want: [
      { type: 'demo/hello', schemaVersion: 1, slots: 3, effectSafety: 'pure', effectGate: 'start' },
      { type: 'x/y', slots: 3, effectSafety: 'non-idempotent', effectGate: 'effect' },
    ],
  });
  expect(third?.max).toBe(2);
  world.check();
});

it('claims nothing while all slots are working', async () => {
  const world = new SimWorld();
  for (let i = 0; i < 3; i++) world.transport.offer({ type: 'demo/hello' });
  await world.start({ scripts: { 'demo/hello': world.works(30_000) } });
  await world.until(() => world.carrier.running === 2);
  const claims = requests(world).length;
  for (let i = 0; i < 20; i++) {
    world.transport.hint({ kind: 'wake', types: ['demo/hello@1'] });
    await world.advance(1_000);
  }
  expect(requests(world).length).toBe(claims);
  expect(world.carrier.peak).toBe(2);
  world.check();
});

it('claims at once when a slot becomes free, and never runs more than its slots', async () => {
  const world = new SimWorld();
  const all = Array.from({ length: 20 }, () => world.transport.offer({ type: 'demo/hello' }));
  await world.start({ scripts: { 'demo/hello': world.works(100) } });
  await world.until(() => all.every(({ ended }) => ended), 2_000);
  expect(world.carrier.peak).toBe(2);
  world.check();
});

it('asks for a freed slot together with the report of what had it, where nothing was left to be claimed', async () => {
  const world = new SimWorld();
  const all = [1, 2].map(() => world.transport.offer({ type: 'demo/hello' }));
  await world.start({ maxConcurrent: 4, scripts: { 'demo/hello': world.works(30_000) } });
  await world.until(() => all.every(({ grantedAt }) => grantedAt !== undefined), 100);
  await world.advance(20_000);
  const from = world.transport.calls.length;
  await world.until(() => all.every(({ ended }) => ended), 20_000);
  await world.advance(100);
  const after = world.transport.calls.slice(from).map(({ kind }) => kind);
  const first = after.indexOf('report');
  expect(after.slice(first - 1, first + 2)).toEqual(['batch', 'report', 'claim']);
  world.check();
});

it('claims again at once after a full answer', async () => {
  const world = new SimWorld();
  const all = Array.from({ length: 150 }, () => world.transport.offer({ type: 'demo/hello' }));
  await world.start({ maxConcurrent: 150, scripts: { 'demo/hello': world.works(500) } });
  await world.until(() => all.every(({ grantedAt }) => grantedAt !== undefined), 100);
  expect(requests(world)[0]?.max).toBe(100);
  await world.until(() => all.every(({ ended }) => ended), 2_000);
  world.check();
});

it('claims at once after a hint for a type that it serves, and for one that names none', async () => {
  const world = new SimWorld();
  await world.start();
  await world.advance(40_000);
  for (const types of [['demo/hello@1'], ['a@1', 'demo/hello@1'], []]) {
    const before = requests(world).length;
    world.transport.hint({ kind: 'wake', types });
    await world.advance(5);
    expect(requests(world).length).toBe(before + 1);
    await world.advance(4_000);
  }
  const before = requests(world).length;
  world.transport.hint({ kind: 'wake', types: ['demo/hello@2', 'other@1'] });
  await world.advance(50);
  expect(requests(world).length).toBe(before);
  world.check();
});

it('claims once for many hints, and once more for those that come during a claim', async () => {
  const world = new SimWorld();
  await world.start();
  await world.advance(40_000);
  world.transport.latencyMs = 50;
  const before = requests(world).length;
  for (let i = 0; i < 100; i++) world.transport.hint({ kind: 'wake', types: [] });
  await world.advance(20);
  expect(requests(world).length).toBe(before + 1);
  world.transport.hint({ kind: 'wake', types: [] });
  await world.advance(400);
  expect(requests(world).length).toBe(before + 2);
  world.check();
});

it('leaves 200 ms between claims that bring nothing, however many hints come', async () => {
  const world = new SimWorld();
  await world.start();
  for (let i = 0; i < 5_000; i++) {
    world.transport.hint({ kind: 'wake', types: [] });
    await world.advance(1);
  }
  expect(requests(world).length).toBeLessThanOrEqual(28);
  expect(requests(world).length).toBeGreaterThan(20);
  world.check();
});

it('polls from 1 s to 15 s while hints work, varied', async () => {
  const world = new SimWorld();
  await world.start();
  await world.advance(200_000);
  const between = gaps(world.transport.of('claim').map(({ at }) => at)).slice(1);
  // The second claim came with the stream's opening.
  expect(between[0]).toBeLessThanOrEqual(2_010);
  const late = between.slice(6);
  for (const gap of late) {
    expect(gap).toBeGreaterThanOrEqual(12_000);
    expect(gap).toBeLessThanOrEqual(15_010);
  }
  expect(new Set(late.map(Math.round)).size).toBeGreaterThan(5);
  world.check();
});

it('polls at least every 5 s while hints are refused, without a claim for each refused stream', async () => {
  const world = new SimWorld();
  world.transport.onCall('hints', () => refused(404, 'NOT_FOUND'));
  await world.start();
  await world.advance(100_000);
  const between = gaps(world.transport.of('claim').map(({ at }) => at)).slice(4);
  for (const gap of between) {
    expect(gap).toBeGreaterThanOrEqual(4_000);
    expect(gap).toBeLessThanOrEqual(5_010);
  }
  world.check();
});

it('polls sooner as soon as its hint stream is gone', async () => {
  const world = new SimWorld();
  await world.start();
  await world.advance(60_000);
  world.transport.onCall('hints', () => refused(503, 'UNAVAILABLE'));
  const one = world.transport.offer({ type: 'demo/hello' });
  world.transport.cutHints();
  await world.until(() => one.ended, 5_100);
  world.check();
});

it('does not claim in the moment its stream ends: a whole fleet would', async () => {
  const world = new SimWorld();
  await world.start();
  await world.until(() => world.transport.of('claim').length === 6, 100_000);
  await world.advance(500);
  const before = requests(world).length;
  world.transport.cutHints();
  await world.advance(200);
  expect(requests(world).length).toBe(before);
  await world.advance(1_000);
  // Reconnected by now: what came meanwhile is looked for.
  expect(requests(world).length).toBe(before + 1);
  world.check();
});

it('polls no sooner than the control plane wishes, but a hint still asks at once', async () => {
  const world = new SimWorld();
  world.transport.pollAfterMs = 60_000;
  await world.start();
  await world.advance(1_000);
  await world.advance(200_000);
  const between = gaps(world.transport.of('claim').map(({ at }) => at)).slice(1);
  for (const gap of between) expect(gap).toBeGreaterThanOrEqual(60_000);
  expect(between.length).toBeGreaterThanOrEqual(2);
  const one = world.transport.offer({ type: 'demo/hello' });
  world.transport.hint({ kind: 'wake', types: ['demo/hello@1'] });
  await world.until(() => one.ended, 500);
  world.check();
});

it('bounds the wish of a control plane to two minutes', async () => {
  const world = new SimWorld();
  world.transport.pollAfterMs = 1e9;
  await world.start();
  await world.advance(400_000);
  const between = gaps(world.transport.of('claim').map(({ at }) => at)).slice(1);
  expect(Math.max(...between)).toBeLessThanOrEqual(120_010);
});

it('repeats an unanswered claim with the same request id, and runs what it brings once', async () => {
  const world = new SimWorld();
  const { transport } = world;
  const one = transport.offer({ type: 'demo/hello' });
  let n = 0;
  transport.onCall(
    'claim',
    (_, byDefault) => {
      byDefault();
      return ++n === 1 ? 'never' : noAnswer('cut');
    },
    3,
  );
  await world.start();
  await world.until(() => one.ended, 60_000);
  const bodies = requests(world)
    .slice(0, 4)
    .map((request) => JSON.stringify(request));
  expect(new Set(bodies).size).toBe(1);
  expect(requests(world)[4]?.requestId).not.toBe(requests(world)[0]?.requestId);
  expect(world.carrier.started.length).toBe(1);
  world.check({ lapses: true });
});

it('does not wait longer than a poll for a control plane that comes back', async () => {
  const world = new SimWorld();
  world.transport.onCall('hints', () => refused(404, 'NOT_FOUND'));
  await world.start();
  world.transport.down = true;
  await world.advance(600_000);
  world.transport.down = false;
  const one = world.transport.offer({ type: 'demo/hello' });
  await world.until(() => one.ended, 5_100);
  world.check();
});

it('waits as long as a refused claim is told to, and no hint cuts that short', async () => {
  const world = new SimWorld();
  await world.start();
  await world.advance(30_000);
  world.transport.onCall('claim', () => refused(429, 'RATE_LIMITED', { retryAfterMs: 20_000 }), 1);
  world.transport.hint({ kind: 'wake', types: [] });
  await world.advance(50);
  const told = world.now;
  const before = requests(world).length;
  for (let i = 0; i < 10; i++) {
    world.transport.hint({ kind: 'wake', types: [] });
    await world.advance(1_500);
  }
  expect(requests(world).length).toBe(before);
  await world.until(() => requests(world).length > before);
  expect(world.now - told).toBeLessThanOrEqual(22_100);
  world.check();
});

it('runs nothing twice that an answer brings twice, nor what an answer brings back after its end', async () => {
  const world = new SimWorld();
  const one = world.transport.offer({ type: 'demo/hello' });
  answering(world, (attempts) => [...attempts, ...attempts]);
  await world.start();
  await world.until(() => one.ended);
  answering(world, () => [one.attempt]);
  world.transport.hint({ kind: 'wake', types: [] });
  await world.advance(5_000);
  expect(world.carrier.started.length).toBe(1);
  expect(one.sent.filter(({ report }) => report.op === 'complete').length).toBe(1);
  world.check();
});

it('gives back what it cannot read, and runs its neighbours', async () => {
  const world = new SimWorld();
  const [good, bad, worse] = [1, 2, 3].map(() => world.transport.offer({ type: 'demo/hello' }));
  answering(world, (attempts) => [
    attempts[0],
    { ...(attempts[1] as object), effectKey: 7 },
    { ...(attempts[2] as object), attemptId: 5 },
    null,
    'nonsense',
  ]);
  await world.start({ maxConcurrent: 3 });
  await world.until(() => good?.ended && bad?.ended);
  expect(good?.ended?.op).toBe('complete');
  expect(bad?.ended).toMatchObject({ op: 'release', reason: 'undecodable' });
  expect(worse?.sent).toEqual([]);
  expect(world.carrier.started.length).toBe(1);
  expect(world.log.of('attempt.undecodable').length).toBe(4);
  world.check();
});

it('gives back what it has no handler for, as an unknown version or another type', async () => {
  const world = new SimWorld();
  world.transport.grantsUnwanted = true;
  const other = world.transport.offer({ type: 'x/y' });
  const version = world.transport.offer({ type: 'demo/hello', schemaVersion: 2 });
  const odd = world.transport.offer({ type: 'not a type @ all', effectSafety: 'pure' });
  await world.start({ maxConcurrent: 3 });
  await world.until(() => other.ended && version.ended && odd.ended);
  for (const one of [other, version, odd])
    expect(one.ended).toMatchObject({ op: 'release', reason: 'no-handler' });
  world.check();
});

it('gives back what exceeds the free slots, renewing it until that is answered', async () => {
  const world = new SimWorld();
  world.transport.grantsUnwanted = true;
  const all = [1, 2, 3].map(() => world.transport.offer({ type: 'demo/hello' }));
  world.transport.onCall(
    'claim',
    (call, byDefault) => {
      (call.request as { max: number }).max = 3;
      return byDefault();
    },
    1,
  );
  world.transport.onReport(
    'release',
    () => refused(503, 'UNAVAILABLE', { retryAfterMs: 8_000 }),
    2,
  );
  await world.start({ maxConcurrent: 1, scripts: { 'demo/hello': world.works(5_000) } });
  await world.until(() => all.every(({ ended }) => ended), 30_000);
  expect(all.map(({ ended }) => ended?.op)).toEqual(['complete', 'release', 'release']);
  expect(all[1]?.ended).toMatchObject({ reason: 'no-slot' });
  world.check();
});

it('drains when an answer to a claim says so, giving back what that answer brings', async () => {
  const world = new SimWorld();
  const one = world.transport.offer({ type: 'demo/hello' });
  world.transport.drainWish = true;
  world.transport.onCall('present', (_, byDefault) => {
    const said = byDefault() as { kind: 'ok'; value: object };
    return ok({ ...said.value, drain: false }) as Said<unknown>;
  });
  await world.start();
  expect(await world.ended()).toMatchObject({ why: 'drained', unsent: 0 });
  expect(one.ended).toMatchObject({ op: 'release', reason: 'drain' });
  expect(world.carrier.started).toEqual([]);
  expect(requests(world).length).toBe(1);
  world.check();
});

it('serves nothing without handlers, and says hello all the same', async () => {
  const world = new SimWorld();
  await world.start({ handlers: [] });
  await world.advance(60_000);
  expect(requests(world)).toEqual([]);
  expect(world.transport.of('present').length).toBeGreaterThanOrEqual(4);
  world.check();
});

it('does not hammer a control plane that refuses its claims', async () => {
  const world = new SimWorld();
  world.transport.onCall('claim', () => refused(400, 'INVALID_REQUEST'));
  await world.start();
  for (let i = 0; i < 60; i++) {
    world.transport.hint({ kind: 'wake', types: [] });
    await world.advance(1_000);
  }
  expect(requests(world).length).toBeLessThan(15);
  const ids = requests(world).map(({ requestId }) => requestId);
  expect(new Set(ids).size).toBe(ids.length);
  expect(world.log.of('claim.refused').filter(({ level }) => level === 'warn').length).toBe(1);
});

it('says once that claims get no answer, and once that they are answered again', async () => {
  const world = new SimWorld();
  world.transport.onCall('claim', () => noAnswer('cut'), 3);
  await world.start();
  await world.advance(120_000);
  expect(world.log.of('claim.no-answer').filter(({ level }) => level === 'warn').length).toBe(1);
  expect(world.log.of('claim.answered').length).toBe(1);
});

/** A worker with slots for more than the contract's own limit of a claim. */
const WIDE = 300;

async function wide(told: number | undefined) {
  const world = new SimWorld();
  const { transport } = world;
  if (told !== undefined) transport.claimMax = told;
  else
    transport.onCall('discover', (_, byDefault) => {
      const said = byDefault() as { kind: 'ok'; value: { limits: Record<string, unknown> } };
      return ok(
        serviceInfo.parse({ ...said.value, limits: { ...said.value.limits, claimMax: told } }),
      );
    });
  const offer = (count: number) =>
    Array.from({ length: count }, () => transport.offer({ type: 'demo/hello' }));
  return { world, transport, offer };
}
const largest = (world: SimWorld) => Math.max(...requests(world).map(({ max }) => max));

it.each([
  ['a claim is for 100 at most where the control plane tells nothing', undefined, 100],
  ['a claim is for what the control plane grants at once', 150, 150],
  ['a claim is for 256 at most, whatever the control plane grants at once', 10_000, 256],
  ['a claim is for fewer where the control plane grants less than the contract asks for', 7, 7],
])('%s', async (_, told, most) => {
  const { world, offer } = await wide(told);
  const all = offer(400);
  await world.start({ maxConcurrent: WIDE, scripts: { 'demo/hello': world.works(100) } });
  await world.until(() => all.every(({ ended }) => ended), 60_000);
  expect(largest(world)).toBe(most);
  expect(world.transport.sent('release')).toEqual([]);
  world.check();
});

it('claims 100 at once, without a pause, where a claim for more is refused, and asks once for the limits', async () => {
  const { world, transport, offer } = await wide(256);
  await world.start({ maxConcurrent: WIDE, scripts: { 'demo/hello': world.works(100) } });
  await world.advance(5_000);
  const asked = transport.of('discover').length;
  // Another one answers at that address from now on: of an earlier version, it tells nothing.
  transport.claimMax = 100;
  const all = offer(250);
  const from = requests(world).length;
  transport.hint({ kind: 'wake', types: [] });
  await world.until(() => requests(world).length >= from + 4, 200);
  expect(
    requests(world)
      .slice(from, from + 4)
      .map(({ max }) => max),
  ).toEqual([256, 100, 100, 100]);
  await world.until(() => all.every(({ ended }) => ended), 10_000);
  expect(
    Math.max(
      ...requests(world)
        .slice(from + 1)
        .map(({ max }) => max),
    ),
  ).toBe(100);
  expect(transport.of('discover').length).toBe(asked + 1);
  expect(world.log.of('claim.fewer').length).toBe(1);
  expect(world.log.of('claim.refused')).toEqual([]);
  world.check();
});

it('does not hammer a control plane that tells a larger claim than it takes', async () => {
  const { world, transport } = await wide(256);
  transport.onCall(
    ({ kind, request }) => kind === 'claim' && (request as ClaimRequest).max > 100,
    () => refused(422, 'INVALID_REQUEST'),
  );
  await world.start({ maxConcurrent: WIDE });
  await world.advance(120_000);
  const large = requests(world).filter(({ max }) => max > 100).length;
  expect(large).toBeGreaterThan(0);
  expect(large).toBeLessThanOrEqual(3);
  expect(world.log.of('claim.refused')).toEqual([]);
  world.check();
});

it('keeps to a limit below that of the contract as soon as a claim was refused and it has asked', async () => {
  const { world, transport, offer } = await wide(256);
  await world.start({ maxConcurrent: 20, scripts: { 'demo/hello': world.works(100) } });
  await world.advance(5_000);
  transport.claimMax = 3;
  const all = offer(20);
  const from = requests(world).length;
  transport.hint({ kind: 'wake', types: [] });
  await world.until(() => all.every(({ ended }) => ended), 10_000);
  expect(
    requests(world)
      .slice(from)
      .map(({ max }) => max)
      .filter((max) => max > 3).length,
  ).toBe(1);
  world.check();
});
