import { expect, it } from 'vitest';
import { returned } from '../../sim/carrier.ts';
import { noAnswer, refused } from '../../sim/wire-words.ts';
import type { PresenceRequest } from '../../src/contract/index.ts';
import { workerDefaults } from '../../src/core/defaults.ts';
import { handler, SimWorld } from './sim-rig.ts';

const states = (world: SimWorld) =>
  world.transport
    .of('present')
    .map(({ request }) => (request as PresenceRequest).state)
    .filter((state, i, all) => state !== all[i - 1]);

it('claims nothing more, lets handlers end, says draining and offline, and ends as drained', async () => {
  const world = new SimWorld();
  const { transport } = world;
  const one = transport.offer({ type: 'demo/hello' });
  await world.start({ scripts: { 'demo/hello': world.works(20_000) } });
  await world.until(() => world.carrier.running === 1);
  world.worker.signal();
  const claims = transport.of('claim').length;
  transport.offer({ type: 'demo/hello' });
  for (let i = 0; i < 10; i++) {
    transport.hint({ kind: 'wake', types: [] });
    await world.advance(1_000);
  }
  expect(await world.ended()).toEqual({ why: 'drained', unsent: 0, stopped: 0 });
  expect(one.ended?.op).toBe('complete');
  expect(transport.of('claim').length).toBe(claims);
  expect(states(world).slice(-2)).toEqual(['draining', 'offline']);
  expect(transport.calls.at(-1)?.request).toMatchObject({ state: 'offline' });
  expect(transport.openStreams).toBe(0);
  expect(world.log.of('drain.begin').length).toBe(1);
  world.check();
});

it('gives back at once what a claim brings that was held back beyond the signal', async () => {
  const world = new SimWorld();
  const { transport } = world;
  await world.start();
  await world.advance(30_000);
  const one = transport.offer({ type: 'demo/hello' });
  transport.onCall(
    'claim',
    async (_, byDefault) => {
      const said = byDefault();
      await world.clock.sleep(2_000);
      return said;
    },
    1,
  );
  transport.hint({ kind: 'wake', types: [] });
  await world.advance(1_000);
  world.worker.signal();
  const claims = transport.of('claim').length;
  expect(await world.ended()).toEqual({ why: 'drained', unsent: 0, stopped: 0 });
  expect(one.ended).toMatchObject({ op: 'release', reason: 'drain' });
  expect(world.carrier.started).toEqual([]);
  expect(transport.of('claim').length).toBe(claims);
  expect(world.files('running')).toEqual([]);
  world.check();
});

it('gives back what waits without a handler, and renews what runs', async () => {
  const world = new SimWorld();
  const { transport } = world;
  // The first one's report is large and takes 5 s to be written: the second is claimed meanwhile and waits for the slot.
  world.machine.disk.fail({ step: ['write', 'append'], path: /reports/, ms: 5_000, times: 1 });
  const [first, second] = [1, 2].map(() => transport.offer({ type: 'demo/hello' }));
  const large = 'x'.repeat(workerDefaults.endingBytesMost);
  await world.start({ maxConcurrent: 1, scripts: { 'demo/hello': world.works(500, large) } });
  await world.until(() => second?.grantedAt !== undefined);
  await world.advance(100);
  world.worker.signal();
  await world.advance(50);
  expect(second?.ended).toMatchObject({ op: 'release', reason: 'drain' });
  expect(first?.ended).toBeUndefined();
  expect((await world.ended()).why).toBe('drained');
  expect(first?.ended?.op).toBe('complete');
  expect(first?.sent.filter(({ report }) => report.op === 'renew').length).toBeGreaterThanOrEqual(
    3,
  );
  world.check();
});

it('takes signals within a second for one', async () => {
  const world = new SimWorld();
  const one = world.transport.offer({ type: 'demo/hello' });
  await world.start({ scripts: { 'demo/hello': world.works(5_000) } });
  await world.until(() => world.carrier.running === 1);
  for (let i = 0; i < 9; i++) {
    world.worker.signal();
    await world.advance(100);
  }
  expect((await world.ended()).why).toBe('drained');
  expect(one.ended?.op).toBe('complete');
  world.check();
});

it('stops handlers at a second signal and keeps what they say', async () => {
  const world = new SimWorld();
  const obeys = world.transport.offer({ type: 'demo/hello' });
  const talks = world.transport.offer({ type: 'x/y' });
  await world.start({
    handlers: [handler('demo/hello'), handler('x/y')],
    ignoresStop: ['x/y'],
    scripts: {
      'demo/hello': world.works(100_000),
      'x/y': async (play) => {
        await play.stopSignal;
        await world.clock.sleep(2_000);
        return returned('half of it');
      },
    },
  });
  await world.until(() => world.carrier.running === 2);
  world.worker.signal();
  await world.advance(1_100);
  world.worker.signal();
  expect(await world.ended()).toEqual({ why: 'stopped-handlers', unsent: 0, stopped: 2 });
  expect(obeys.ended).toMatchObject({ op: 'lost', reason: 'drain', begun: true });
  expect(talks.ended).toMatchObject({ op: 'complete', result: 'half of it' });
  world.check();
});

it('leaves at once at a third signal, and the next start tells what was lost', async () => {
  const world = new SimWorld();
  const one = world.transport.offer({ type: 'demo/hello' });
  await world.start({
    ignoresStop: ['demo/hello'],
    scripts: { 'demo/hello': world.works(100_000) },
  });
  await world.until(() => world.carrier.running === 1);
  for (let i = 0; i < 3; i++) {
    world.worker.signal();
    await world.advance(1_100);
  }
  expect(await world.ended(1_100)).toMatchObject({ why: 'forced', detail: 'a third signal' });
  expect(one.ended).toBeUndefined();
  world.kill();
  await world.start();
  await world.until(() => one.ended);
  expect(one.ended).toMatchObject({ op: 'lost', begun: true });
  world.check({ lapses: true });
});

it('counts the first signal after an operator asked for a drain as the first', async () => {
  const world = new SimWorld();
  const one = world.transport.offer({ type: 'demo/hello' });
  await world.start({ scripts: { 'demo/hello': world.works(8_000) } });
  await world.until(() => world.carrier.running === 1);
  world.transport.drainWish = true;
  world.transport.hint({ kind: 'drain' });
  await world.until(() => world.log.of('drain.begin').length === 1, 1_000);
  world.worker.signal();
  await world.advance(2_000);
  expect(world.carrier.running).toBe(1);
  world.worker.signal();
  expect((await world.ended()).why).toBe('stopped-handlers');
  expect(one.ended?.op).toBe('lost');
  world.check();
});

it('does not take a hint to drain at its word', async () => {
  const world = new SimWorld();
  await world.start();
  await world.advance(5_000);
  world.transport.hint({ kind: 'drain' });
  await world.advance(5_000);
  expect(world.log.of('drain.begin')).toEqual([]);
  expect(world.end).toBeUndefined();
});

it('stops handlers so that the grace lies inside the drain, and kills those that swallow the stop', async () => {
  const world = new SimWorld();
  const swallows = world.transport.offer({ type: 'demo/hello' });
  await world.start({
    drainTimeoutMs: 30_000,
    stopGraceMs: 10_000,
    ignoresStop: ['demo/hello'],
    scripts: {
      'demo/hello': async (play) => {
        await play.stopSignal;
        return new Promise(() => {});
      },
    },
  });
  await world.until(() => world.carrier.running === 1);
  const from = world.now;
  world.worker.signal();
  await world.advance(19_000);
  expect(world.log.of('handler.stopping')).toEqual([]);
  const end = await world.ended();
  expect(end).toMatchObject({ why: 'stopped-handlers', stopped: 1, unsent: 0 });
  expect(world.now - from).toBeLessThanOrEqual(31_000);
  expect(swallows.ended).toMatchObject({ op: 'lost', reason: 'drain', killed: true, begun: true });
  expect(world.log.of('drain.begin').length).toBe(1);
  expect(world.log.of('drain.deadline').length).toBe(1);
  world.check();
});

it('gives handlers at least half of a drain that is shorter than the grace', async () => {
  const world = new SimWorld();
  const quick = world.transport.offer({ type: 'demo/hello' });
  const swallows = world.transport.offer({ type: 'x/y' });
  await world.start({
    drainTimeoutMs: 3_000,
    stopGraceMs: 10_000,
    handlers: [handler('demo/hello'), handler('x/y')],
    ignoresStop: ['x/y'],
    scripts: { 'demo/hello': world.works(1_200), 'x/y': () => new Promise(() => {}) },
  });
  await world.until(() => world.carrier.running === 2);
  const from = world.now;
  world.worker.signal();
  expect(await world.ended()).toMatchObject({ why: 'stopped-handlers', stopped: 1 });
  expect(world.now - from).toBeLessThanOrEqual(4_000);
  expect(quick.ended?.op).toBe('complete');
  expect(swallows.ended).toMatchObject({ op: 'lost', reason: 'drain', killed: true });
  world.check();
});

it('does not call a handler stuck whose report a slow disk still writes', async () => {
  const world = new SimWorld();
  const one = world.transport.offer({ type: 'demo/hello' });
  await world.start({
    drainTimeoutMs: 3_000,
    stopGraceMs: 1_000,
    ignoresStop: ['demo/hello'],
    scripts: { 'demo/hello': () => new Promise(() => {}) },
  });
  await world.until(() => world.carrier.running === 1);
  const slow = world.machine.disk.fail({ step: 'syncFile', path: /reports/, ms: 20_000 });
  const from = world.now;
  world.worker.signal();
  expect(await world.ended()).toEqual({ why: 'stopped-handlers', unsent: 1, stopped: 1 });
  expect(world.now - from).toBeLessThanOrEqual(8_000);
  world.kill();
  slow.clear();
  await world.start();
  await world.until(() => one.ended);
  expect(one.ended).toMatchObject({ op: 'lost', begun: true });
  world.check({ lapses: true });
});

it('is gone within the drain although a handler cannot even be killed', async () => {
  const world = new SimWorld();
  world.transport.offer({ type: 'demo/hello' });
  await world.start({
    drainTimeoutMs: 3_000,
    stopGraceMs: 1_000,
    unkillable: ['demo/hello'],
    scripts: { 'demo/hello': () => new Promise(() => {}) },
  });
  await world.until(() => world.carrier.running === 1);
  const from = world.now;
  world.worker.signal();
  expect(await world.ended()).toMatchObject({ why: 'forced', detail: '1 handler would not go' });
  expect(world.now - from).toBeLessThanOrEqual(6_000);
  world.check({ lapses: true });
});

it('empties its spool before it ends, waiting for reports that were not answered', async () => {
  const world = new SimWorld();
  const one = world.transport.offer({ type: 'demo/hello' });
  world.transport.onReport('complete', () => noAnswer('cut'), 3);
  await world.start({ scripts: { 'demo/hello': world.works(100) } });
  await world.until(() => world.carrier.running === 1);
  world.worker.signal();
  expect(await world.ended()).toEqual({ why: 'drained', unsent: 0, stopped: 0 });
  expect(one.ended?.op).toBe('complete');
  world.check();
});

it('waits for the follow-up of a refused report too', async () => {
  const world = new SimWorld();
  const one = world.transport.offer({ type: 'demo/hello' });
  world.transport.onReport('complete', () => refused(413, 'PAYLOAD_TOO_LARGE'));
  world.machine.disk.fail({ step: 'write', path: /refused/, ms: 500, times: 1 });
  await world.start({ scripts: { 'demo/hello': world.works(100) } });
  await world.until(() => world.carrier.running === 1);
  world.worker.signal();
  expect(await world.ended()).toEqual({ why: 'drained', unsent: 0, stopped: 0 });
  expect(one.ended?.op).toBe('fail');
  world.check();
});

it('does not wait for ever for a control plane that is gone; the next start delivers', async () => {
  const world = new SimWorld();
  const one = world.transport.offer({ type: 'demo/hello' });
  await world.start({ scripts: { 'demo/hello': world.works(500) } });
  await world.until(() => world.carrier.running === 1);
  world.transport.down = true;
  const from = world.now;
  world.worker.signal();
  expect(await world.ended()).toEqual({ why: 'drained', unsent: 1, stopped: 0 });
  expect(world.now - from).toBeLessThanOrEqual(13_000);
  world.transport.down = false;
  world.kill();
  await world.start();
  await world.until(() => one.ended);
  expect(one.ended?.op).toBe('complete');
  expect(world.carrier.started).toEqual([]);
  world.check({ lapses: true });
});

it('leaves no timer behind that would keep its process', async () => {
  const world = new SimWorld();
  world.transport.offer({ type: 'demo/hello' });
  await world.start({ scripts: { 'demo/hello': world.works(500) } });
  await world.until(() => world.carrier.running === 1);
  world.worker.signal();
  await world.ended();
  const ended = world.now;
  while (await world.clock.time.step());
  // The handler's own time limit is over with it; what is left is over in a moment.
  expect(world.now - ended).toBeLessThanOrEqual(2_000);
});

it('leaves no timer behind where it left at once, whatever its handlers and gates do', async () => {
  const world = new SimWorld();
  const { transport } = world;
  for (let i = 0; i < 2; i++) transport.offer({ type: 'demo/hello' });
  transport.offer({ type: 'x/y', effectSafety: 'non-idempotent' });
  transport.onReport('start', () => refused(429, 'RATE_LIMITED', { retryAfterMs: 500_000 }));
  transport.onReport('progress', () => refused(429, 'RATE_LIMITED', { retryAfterMs: 500_000 }));
  await world.start({
    maxConcurrent: 3,
    handlers: [handler('demo/hello'), handler('x/y', 'non-idempotent')],
    unkillable: ['demo/hello'],
    scripts: {
      'demo/hello': (play) => {
        play.listener.progress({ percent: 1 });
        return new Promise(() => {});
      },
    },
  });
  await world.until(() => transport.sent('progress').length === 2);
  await world.advance(2_000);
  for (let i = 0; i < 3; i++) {
    world.worker.signal();
    await world.advance(1_100);
  }
  expect((await world.ended(3_000)).why).toBe('forced');
  const calls = transport.calls.length;
  const ended = world.now;
  while (await world.clock.time.step());
  expect(world.now - ended).toBeLessThanOrEqual(10_000);
  expect(transport.calls.length).toBe(calls);
});

it('drains while its first hello hangs, and before it was started', async () => {
  const world = new SimWorld();
  world.transport.onCall('present', () => 'never', 1);
  await world.make();
  const started = world.worker.start();
  await world.advance(500);
  world.worker.signal();
  expect((await world.ended(15_000)).why).toBe('drained');
  await world.clock.time.until(started, 15_000);
  expect(world.transport.of('claim')).toEqual([]);
  const other = new SimWorld();
  await other.make();
  other.worker.signal();
  expect((await other.ended(15_000)).why).toBe('drained');
  await other.clock.time.until(other.worker.start(), 15_000);
  await other.advance(30_000);
  expect(other.transport.of('claim')).toEqual([]);
  expect(other.transport.of('present').length).toBeLessThanOrEqual(1);
});

it('may be started and drained twice', async () => {
  const world = new SimWorld();
  await world.start();
  void world.worker.start();
  await world.advance(1_000);
  const first = world.worker.drain();
  const second = world.worker.drain();
  expect(await world.clock.time.until(first)).toBe(await world.clock.time.until(second));
  expect(await world.worker.drain()).toMatchObject({ why: 'drained' });
  expect(world.log.of('drain.begin').length).toBe(1);
  expect(world.transport.of('hints').length).toBe(1);
});

it('says offline last, also where the control plane is slow to answer that it drains', async () => {
  const world = new SimWorld();
  await world.start();
  await world.advance(20_000);
  world.transport.latencyMs = 700;
  world.worker.signal();
  await world.ended();
  const sent = world.transport.of('present').slice(-2);
  expect(sent.map(({ request }) => (request as PresenceRequest).state)).toEqual([
    'draining',
    'offline',
  ]);
  expect(sent[1]?.at).toBeGreaterThanOrEqual(sent[0]?.answeredAt ?? Infinity);
});
