import { expect, it } from 'vitest';
import { returned } from '../../sim/carrier.ts';
import { noAnswer, ok, refused } from '../../sim/wire-words.ts';
import { gaps, handler, SimWorld } from './sim-rig.ts';

it('renews at a third of the lease, varied, for as long as a handler takes', async () => {
  const world = new SimWorld();
  const one = world.transport.offer({ type: 'demo/hello', leaseMs: 9_000 });
  await world.start({ scripts: { 'demo/hello': world.works(90_000) } });
  await world.until(() => one.ended, 100_000);
  const between = gaps(world.transport.sent('renew').map(({ at }) => at));
  expect(between.length).toBeGreaterThan(25);
  for (const gap of between) {
    expect(gap).toBeGreaterThanOrEqual(3_000 * 0.9 - 1);
    expect(gap).toBeLessThanOrEqual(3_000 * 1.1 + 1);
  }
  expect(new Set(between.map(Math.round)).size).toBeGreaterThan(5);
  world.check();
});

it('renews many attempts in one batch', async () => {
  const world = new SimWorld();
  const all = Array.from({ length: 16 }, () => world.transport.offer({ type: 'demo/hello' }));
  await world.start({ maxConcurrent: 16, scripts: { 'demo/hello': world.works(12_000) } });
  await world.until(() => all.every(({ ended }) => ended), 20_000);
  const calls = new Set(world.transport.sent('renew').map(({ call }) => call));
  // 12 s of leases of 3 s: 12 rounds, and a few stragglers of the first.
  expect(calls.size).toBeLessThanOrEqual(20);
  expect(world.transport.sent('renew').length).toBeGreaterThanOrEqual(16 * 9);
  world.check();
});

it('keeps every lease of 16 handlers that hold all slots for four leases, and says that it is full', async () => {
  const world = new SimWorld();
  const all = Array.from({ length: 16 }, () => world.transport.offer({ type: 'demo/hello' }));
  await world.start({ maxConcurrent: 16, scripts: { 'demo/hello': world.works(12_000) } });
  await world.until(() => world.carrier.running === 16);
  await world.advance(1_000);
  expect(world.transport.of('present').at(-1)?.request).toMatchObject({
    state: 'full',
    slots: { max: 16, busy: 16 },
  });
  await world.until(() => all.every(({ ended }) => ended), 20_000);
  expect(world.carrier.started.length).toBe(16);
  world.check();
});

it('counts a lease from the send of the claim, also where its answer is held back longer than a third', async () => {
  const world = new SimWorld();
  const one = world.transport.offer({ type: 'demo/hello' });
  let sentAt = 0;
  world.transport.onCall(
    'claim',
    async (call, byDefault) => {
      sentAt = call.at;
      const said = byDefault();
      await world.clock.sleep(2_000);
      return said;
    },
    1,
  );
  await world.start({ scripts: { 'demo/hello': world.works(5_000) } });
  await world.until(() => world.transport.sent('renew').length > 0);
  // A third of 3 s was over before the answer came: the first renewal goes out with it.
  expect((world.transport.sent('renew')[0]?.at ?? 0) - sentAt).toBeLessThan(2_020);
  await world.until(() => one.ended);
  world.check();
});

it('does not begin the next renewal later because one hangs', async () => {
  const world = new SimWorld();
  const one = world.transport.offer({ type: 'demo/hello', leaseMs: 6_000 });
  await world.start({ scripts: { 'demo/hello': world.works(30_000) } });
  await world.advance(500);
  world.transport.onReport('renew', () => 'never', 2);
  await world.until(() => one.ended, 40_000);
  const at = world.transport.sent('renew').map((sent) => sent.at);
  for (const gap of gaps(at)) expect(gap).toBeLessThanOrEqual(2_000 * 1.1 + 1);
  expect(one.lapsedMs).toBeLessThanOrEqual(700);
  world.check({ lapses: true });
});

it('renews while a call with a report hangs', async () => {
  const world = new SimWorld();
  const one = world.transport.offer({ type: 'demo/hello' });
  world.transport.onReport('complete', () => 'never', 1);
  await world.start();
  await world.until(() => one.ended, 30_000);
  expect(world.transport.sent('complete').length).toBe(2);
  expect(world.transport.sent('renew').length).toBeGreaterThanOrEqual(8);
  world.check();
});

it('keeps to a third of the lease where a renewal is told to come back in a minute', async () => {
  const world = new SimWorld();
  const one = world.transport.offer({ type: 'demo/hello' });
  world.transport.onReport(
    'renew',
    () => refused(429, 'RATE_LIMITED', { retryAfterMs: 60_000 }),
    1,
  );
  await world.start({ scripts: { 'demo/hello': world.works(10_000) } });
  await world.until(() => one.ended, 15_000);
  const between = gaps(world.transport.sent('renew').map(({ at }) => at));
  for (const gap of between) expect(gap).toBeLessThanOrEqual(1_101);
  world.check();
});

it('follows a lease that becomes shorter', async () => {
  const world = new SimWorld();
  const one = world.transport.offer({ type: 'demo/hello', leaseMs: 30_000 });
  world.transport.onReport('renew', ({ report: { attemptId, fence, op } }) => {
    one.leaseUntil = world.now + 3_000;
    return ok({ accepted: true, attemptId, fence, op, leaseMs: 3_000 });
  });
  await world.start({ scripts: { 'demo/hello': world.works(60_000) } });
  await world.until(() => one.ended, 70_000);
  const [, ...between] = gaps(world.transport.sent('renew').map(({ at }) => at));
  for (const gap of between) expect(gap).toBeLessThanOrEqual(1_101);
  expect(between.length).toBeGreaterThan(30);
});

it('does not flood a control plane that refuses renewals for an hour', async () => {
  const world = new SimWorld();
  world.transport.offer({ type: 'demo/hello', leaseMs: 30_000 });
  await world.start({ scripts: { 'demo/hello': world.works(3_700_000) } });
  await world.advance(5_000);
  world.transport.down = true;
  const before = world.transport.sent('renew').length;
  await world.advance(3_600_000);
  // 360 thirds of a lease, and the quick tries at the beginning.
  expect(world.transport.sent('renew').length - before).toBeLessThan(420);
});

it('keeps its cadence when the wall clock jumps an hour back and an hour ahead (F06)', async () => {
  const world = new SimWorld();
  const one = world.transport.offer({ type: 'demo/hello' });
  await world.start({ scripts: { 'demo/hello': world.works(30_000) } });
  await world.advance(8_000);
  world.machine.clock.jumpWall(-3_600_000);
  await world.advance(8_000);
  world.machine.clock.jumpWall(7_200_000);
  await world.until(() => one.ended, 20_000);
  for (const gap of gaps(world.transport.sent('renew').map(({ at }) => at)))
    expect(gap).toBeLessThanOrEqual(1_101);
  const presents = gaps(world.transport.of('present').map(({ at }) => at));
  expect(Math.max(...presents)).toBeLessThanOrEqual(16_600);
  world.check();
});

it('sends a cancel on with the next renewal, at once after its hint, and reports that it was obeyed', async () => {
  const world = new SimWorld();
  const one = world.transport.offer({ type: 'demo/hello', leaseMs: 30_000 });
  await world.start({ scripts: { 'demo/hello': world.works(60_000) } });
  await world.advance(2_000);
  one.cancelRequested = true;
  world.transport.hint({ kind: 'cancel', attemptId: one.attempt.attemptId });
  await world.until(() => one.ended, 500);
  expect(one.ended?.op).toBe('cancelled');
  world.check();
});

it('does not take a hint to cancel at its word', async () => {
  const world = new SimWorld();
  const one = world.transport.offer({ type: 'demo/hello' });
  await world.start({ scripts: { 'demo/hello': world.works(5_000) } });
  await world.advance(1_500);
  const before = world.transport.sent('renew').length;
  for (let i = 0; i < 1_000; i++) {
    world.transport.hint({ kind: 'cancel', attemptId: one.attempt.attemptId });
    await world.advance(1);
  }
  expect(world.transport.sent('renew').length - before).toBeLessThanOrEqual(6);
  await world.until(() => one.ended);
  expect(one.ended?.op).toBe('complete');
  world.check();
});

const outage = async (
  effectSafety: 'pure' | 'idempotent' | 'non-idempotent',
  effectGate: 'start' | 'effect' = 'start',
  more: { open?: boolean } = {},
) => {
  const world = new SimWorld();
  const { transport } = world;
  const one = transport.offer({ type: 'x/y', effectSafety, effectGate });
  let gate = 'not asked';
  await world.start({
    handlers: [handler('x/y', effectSafety, { effectGate })],
    scripts: {
      'x/y': async (play) => {
        if (more.open) await play.beginEffect();
        await world.clock.sleep(2_000);
        if (effectGate === 'effect' && !more.open) {
          gate = 'asked';
          await play.beginEffect().then(
            () => {
              gate = 'open';
            },
            (error: Error) => {
              gate = error.message;
            },
          );
        }
        await world.clock.sleep(20_000);
        return returned('done');
      },
    },
  });
  await world.until(() => world.carrier.running === 1);
  await world.advance(1_200);
  transport.down = true;
  await world.advance(12_000);
  const running = world.carrier.running;
  await world.advance(15_000);
  const sentMeanwhile = transport.reports.filter(({ answer }) => answer?.kind === 'ok').length;
  transport.down = false;
  await world.until(() => one.ended, 60_000);
  return { world, one, running, gate: () => gate, sentMeanwhile };
};

it('lets a pure handler go on when its lease runs out in an outage, and delivers its result later', async () => {
  const { world, one, running } = await outage('pure');
  expect(running).toBe(1);
  expect(one.ended).toMatchObject({ op: 'complete', result: 'done' });
  expect(world.carrier.started.length).toBe(1);
  world.check({ lapses: true });
});

it('stops an idempotent handler when its lease runs out in an outage, and reports it lost for the lease', async () => {
  const { world, one, running } = await outage('idempotent');
  expect(running).toBe(0);
  expect(one.ended).toMatchObject({ op: 'lost', reason: 'lease', begun: true });
  world.check({ lapses: true });
});

it('lets a non-idempotent handler past its start gate go on when its lease runs out', async () => {
  const { world, one, running } = await outage('non-idempotent');
  expect(running).toBe(1);
  expect(one.ended).toMatchObject({ op: 'complete' });
  world.check({ lapses: true });
});

it('lets a non-idempotent handler past its effect gate go on when its lease runs out', async () => {
  const { world, one, running } = await outage('non-idempotent', 'effect', { open: true });
  expect(running).toBe(1);
  expect(one.ended).toMatchObject({ op: 'complete' });
  world.check({ lapses: true });
});

it('refuses the pending gate of a handler whose lease runs out before it, and stops it', async () => {
  const { world, one, running, gate } = await outage('non-idempotent', 'effect');
  expect(running).toBe(0);
  expect(gate()).toMatch(/lease of this attempt ran out/);
  expect(one.ended).toMatchObject({ op: 'lost', reason: 'lease', begun: true });
  world.check({ lapses: true });
});

it('goes on asking with renew after LEASE_EXPIRED, and still sends the outcome', async () => {
  const world = new SimWorld();
  const one = world.transport.offer({ type: 'demo/hello' });
  world.transport.onReport('renew', () => refused(409, 'LEASE_EXPIRED'));
  await world.start({ scripts: { 'demo/hello': world.works(10_000) } });
  await world.until(() => one.ended, 15_000);
  expect(one.ended?.op).toBe('complete');
  const asked = world.transport.sent('renew').length;
  expect(asked).toBeGreaterThanOrEqual(8);
  expect(asked).toBeLessThanOrEqual(12);
  world.check({ lapses: true });
});

it('stops a handler whose renewal was told STALE_ATTEMPT and sends nothing more for it', async () => {
  const world = new SimWorld();
  const one = world.transport.offer({ type: 'demo/hello' });
  world.transport.onReport('renew', () => refused(409, 'STALE_ATTEMPT'));
  let stopped: string | undefined;
  await world.start({
    ignoresStop: ['demo/hello'],
    scripts: {
      'demo/hello': async (play) => {
        stopped = await play.stopSignal;
        // It goes on talking before it gives in.
        await world.clock.sleep(50);
        play.listener.progress({ percent: 50 });
        play.listener.log([{ at: '2026-01-01T00:00:00Z', level: 'info', text: 'still here' }]);
        await world.clock.sleep(3_000);
        return returned('too late');
      },
    },
  });
  await world.until(() => stopped !== undefined);
  const sent = one.sent.length;
  await world.advance(20_000);
  expect(stopped).toBe('stale');
  expect(one.sent.length).toBe(sent);
  expect(world.carrier.running).toBe(0);
  expect(world.worker.status().attempts).toEqual([]);
  expect(world.files('running').join('')).not.toContain('"kind":"running"');
  world.check({ lapses: true });
});

it('keeps the slot of a handler that cannot be killed, renews it no more and says so', async () => {
  const world = new SimWorld();
  const one = world.transport.offer({ type: 'demo/hello', policy: policyWith(5_000) });
  await world.start({
    maxConcurrent: 1,
    stopGraceMs: 1_000,
    unkillable: ['demo/hello'],
    scripts: { 'demo/hello': () => new Promise(() => {}) },
  });
  await world.until(() => world.log.of('handler.stuck').length > 0, 15_000);
  const renewals = world.transport.sent('renew').length;
  const claims = world.transport.of('claim').length;
  await world.advance(30_000);
  expect(world.transport.sent('renew').length).toBe(renewals);
  expect(world.transport.of('claim').length).toBe(claims);
  expect(one.ended).toBeUndefined();
  expect(world.transport.of('present').at(-1)?.request).toMatchObject({
    state: 'full',
    stuck: [{ type: 'demo/hello', attemptId: one.attempt.attemptId }],
  });
  world.check({ lapses: true });
});

it('tells of a handler that has ended and left what cannot be killed, and says what it said once that is gone', async () => {
  const world = new SimWorld();
  const one = world.transport.offer({ type: 'demo/hello' });
  let thaw = () => {};
  await world.start({
    maxConcurrent: 1,
    scripts: {
      'demo/hello': async ({ listener }) => {
        listener.stuck?.();
        await new Promise<void>((resolve) => {
          thaw = resolve;
        });
        return returned('kept');
      },
    },
  });
  await world.until(() => world.log.of('handler.stuck').length > 0);
  const renewals = world.transport.sent('renew').length;
  await world.advance(20_000);
  expect(world.transport.sent('renew').length).toBe(renewals);
  expect(world.log.of('handler.stuck')).toHaveLength(1);
  expect(world.worker.status().stuck).toMatchObject([{ attemptId: one.attempt.attemptId }]);
  expect(world.transport.of('present').at(-1)?.request).toMatchObject({
    state: 'full',
    stuck: [{ type: 'demo/hello' }],
  });
  thaw();
  await world.until(() => one.ended);
  expect(one.ended).toMatchObject({ op: 'complete', result: 'kept' });
  world.check({ lapses: true });
});

function policyWith(attemptTimeoutMs: number) {
  return { ...new SimWorld().transport.offer({ type: 'a' }).attempt.policy, attemptTimeoutMs };
}

it('stops a handler at the smaller of its own timeout and the policy of the task', async () => {
  const world = new SimWorld();
  const ours = world.transport.offer({ type: 'demo/hello', policy: policyWith(60_000) });
  const theirs = world.transport.offer({ type: 'demo/hello', policy: policyWith(4_000) });
  await world.start({
    handlers: [handler('demo/hello', 'pure', { timeoutMs: 7_000 })],
    scripts: { 'demo/hello': world.works(100_000) },
  });
  await world.until(() => ours.ended && theirs.ended, 10_000);
  expect(theirs.ended).toMatchObject({
    ...{ op: 'lost', reason: 'timeout', begun: true },
    message: expect.stringContaining('limit of 4 s (attemptTimeoutMs of the task’s policy)'),
  });
  expect(ours.ended).toMatchObject({
    ...{ op: 'lost', reason: 'timeout', begun: true },
    message: expect.stringContaining('limit of 7 s (timeoutMs of the handler)'),
  });
  // Whoever reads only warnings sees it too.
  await world.until(() => world.log.of('attempt.over').length === 2);
  const warned = [...world.log.of('handler.stopping'), ...world.log.of('attempt.over')];
  expect(warned.map(({ level }) => level)).toEqual(['warn', 'warn', 'warn', 'warn']);
  expect(Math.round((ours.sent.at(-1)?.at ?? 0) - (ours.grantedAt ?? 0))).toBeLessThan(7_100);
  world.check();
});

it("takes nothing from a handler's time for a host that starts slowly, and stops one that never begins", async () => {
  const slow = new SimWorld();
  const one = slow.transport.offer({ type: 'demo/hello', policy: policyWith(4_000) });
  await slow.start({ beginMs: 5_000, scripts: { 'demo/hello': slow.works(3_000) } });
  await slow.until(() => one.ended, 20_000);
  expect(one.ended).toMatchObject({ op: 'complete' });
  slow.check();
  const never = new SimWorld();
  const two = never.transport.offer({ type: 'demo/hello', policy: policyWith(4_000) });
  await never.start({ beginMs: 3_600_000 });
  await never.until(() => two.ended, 100_000);
  expect(two.ended).toMatchObject({ op: 'lost', reason: 'timeout', begun: false });
});

it('recovers its renewals from a call that got no answer long before the lease is over', async () => {
  const world = new SimWorld();
  const one = world.transport.offer({ type: 'demo/hello', leaseMs: 9_000 });
  world.transport.onReport('renew', () => noAnswer('cut'), 2);
  await world.start({ scripts: { 'demo/hello': world.works(20_000) } });
  await world.until(() => one.ended, 30_000);
  world.check();
});

it('holds up only the attempts of one batch when that batch hangs', async () => {
  const world = new SimWorld();
  const all = Array.from({ length: 150 }, () =>
    world.transport.offer({ type: 'demo/hello', leaseMs: 9_000 }),
  );
  await world.start({ maxConcurrent: 150, scripts: { 'demo/hello': world.works(12_000) } });
  await world.until(() => world.carrier.running === 150);
  world.transport.onReport(
    ({ op, attemptId }) => op === 'renew' && attemptId === 'att_1',
    () => 'never',
    1,
  );
  await world.until(() => all.every(({ ended }) => ended), 30_000);
  const renewals = world.transport.sent('renew', 'att_150').map(({ at }) => at);
  expect(renewals.length).toBeGreaterThanOrEqual(3);
  for (const gap of gaps(renewals)) expect(gap).toBeLessThanOrEqual(3_301);
  world.check();
});

it('stops what another worker may now run when the machine slept through the lease, and lets the rest go on', async () => {
  const world = new SimWorld();
  const pure = world.transport.offer({ type: 'demo/hello' });
  const idempotent = world.transport.offer({ type: 'x/y', effectSafety: 'idempotent' });
  await world.start({
    handlers: [handler('demo/hello'), handler('x/y', 'idempotent')],
    scripts: { 'demo/hello': world.works(5_000), 'x/y': world.works(5_000) },
  });
  await world.until(() => world.carrier.running === 2);
  await world.advance(500);
  world.machine.clock.suspend(3_600_000);
  await world.advance(3_600_000);
  await world.until(() => pure.ended && idempotent.ended, 10_000);
  expect(pure.ended?.op).toBe('complete');
  // Its own timer was due in the same moment: what it says itself counts.
  expect(['lost', 'complete']).toContain(idempotent.ended?.op);
  world.check({ lapses: true });
});
