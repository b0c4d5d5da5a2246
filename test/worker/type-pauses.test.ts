import { describe, expect, it } from 'vitest';
import { returned } from '../../sim/carrier.ts';
import type { ClaimRequest, PresenceRequest } from '../../src/contract/index.ts';
import type { Carrier, JobEnd } from '../../src/ports/carrier.ts';
import { gaps, handler, type SimOptions, SimWorld } from './sim-rig.ts';

const notLoaded: JobEnd = {
  how: 'not-begun',
  error: { code: 'HANDLER_NOT_LOADED', message: 'x.mjs: Unexpected token.', retryable: true },
};
const notStarted: JobEnd = {
  how: 'not-begun',
  error: { code: 'HOST_NOT_STARTED', message: 'spawn EMFILE', retryable: true },
};

/** A worker whose carrier asks `how` first: what it answers ends the job before it has begun. */
async function troubled(how: (type: string) => JobEnd | undefined, options: SimOptions = {}) {
  const world = new SimWorld();
  await world.make({ handlers: [handler('demo/x'), handler('demo/y')], ...options });
  const begins = world.carrier.start.bind(world.carrier);
  const starts: { at: number; type: string }[] = [];
  const start: Carrier['start'] = (job, listener) => {
    starts.push({ at: world.now, type: job.type });
    const end = how(job.type);
    if (end === undefined) return begins(job, listener);
    return { ended: Promise.resolve(end), openGate() {}, refuseGate() {}, stop() {} };
  };
  world.carrier.start = start;
  // As the real one: what is given back is there again at once.
  world.transport.onReport('release', ({ report }, byDefault) => {
    const { attempt } = world.transport.attempts.get(report.attemptId) ?? {};
    if (attempt) world.transport.offer({ type: attempt.type });
    return byDefault();
  });
  await world.clock.time.until(world.worker.start(), 60_000);
  const wants = () =>
    world.transport
      .of('claim')
      .map(({ at, request }) => ({ at, want: (request as ClaimRequest).want.map((w) => w.type) }));
  const told = () =>
    world.transport
      .of('present')
      .map(({ request }) => request as PresenceRequest)
      .at(-1);
  return { world, starts, wants, told };
}

it('leaves a type alone whose handler cannot be loaded, longer each time, and says so once', async () => {
  const { world, starts, wants, told } = await troubled(() => notLoaded);
  for (let i = 0; i < 5; i++) world.transport.offer({ type: 'demo/x' });
  await world.advance(200_000);
  // Both slots once, then one trial after 1, 2, 4 … 60 s.
  expect(starts.length).toBeGreaterThanOrEqual(8);
  expect(starts.length).toBeLessThanOrEqual(12);
  for (const [i, gap] of gaps(starts.map(({ at }) => at).slice(1)).entries()) {
    const pause = Math.min(1_000 * 2 ** i, 60_000);
    expect(gap).toBeGreaterThanOrEqual(pause * 0.8 - 1);
    expect(gap).toBeLessThanOrEqual(pause * 1.2 + 500);
  }
  expect(world.log.of('type.paused').filter(({ level }) => level === 'warn')).toHaveLength(1);
  expect(told()).toMatchObject({
    state: 'ready',
    pausedTypes: [
      {
        type: 'demo/x',
        schemaVersion: 1,
        why: 'its handler could not be started: x.mjs: Unexpected token.',
        forMs: expect.any(Number),
        failures: expect.any(Number),
      },
    ],
  });
  expect(told()).not.toHaveProperty('notClaiming');
  expect(world.worker.status().pausedTypes).toMatchObject([{ type: 'demo/x' }]);
  // The other type is asked for all the while.
  expect(wants().every(({ want }) => want.includes('demo/y'))).toBe(true);
  world.check();
});

it('goes on with the other types at full speed', async () => {
  const { world } = await troubled((type) => (type === 'demo/x' ? notLoaded : undefined), {
    scripts: { 'demo/y': async () => returned(1) },
  });
  world.transport.offer({ type: 'demo/x' });
  await world.until(() => world.log.of('type.paused').length > 0);
  const from = world.now;
  const others = Array.from({ length: 20 }, () => world.transport.offer({ type: 'demo/y' }));
  world.transport.hint({ kind: 'wake', types: ['demo/y@1'] });
  await world.until(() => others.every(({ ended }) => ended?.op === 'complete'));
  expect(world.now - from).toBeLessThan(5_000);
  world.check();
});

it('claims nothing at all while no process can be started, and one for all tries it again', async () => {
  let broken = true;
  const { world, starts, wants, told } = await troubled(() => (broken ? notStarted : undefined), {
    maxConcurrent: 4,
    scripts: { 'demo/x': async () => returned(1), 'demo/y': async () => returned(1) },
  });
  for (let i = 0; i < 6; i++) world.transport.offer({ type: i % 2 ? 'demo/x' : 'demo/y' });
  await world.until(() => starts.length > 0);
  const from = wants().length;
  await world.advance(6_500);
  // After 1 s and 2 s more: one at a time; the next one after 4 s more.
  expect(wants().length - from).toBeLessThanOrEqual(3);
  expect(starts.length).toBeLessThanOrEqual(4 + 3);
  expect(told()?.notClaiming).toMatch(
    /^every type is paused for \d s \(\d pauses in a row\): no handler could be started: spawn EMFILE/,
  );
  broken = false;
  await world.until(() => world.log.of('type.resumed').length > 0, 20_000);
  await world.advance(60_000);
  expect(told()?.notClaiming).toBeUndefined();
  expect(world.worker.status().notClaiming).toBeUndefined();
  expect(wants().at(-1)?.want).toEqual(['demo/x', 'demo/y']);
  expect([...world.transport.attempts.values()].every(({ ended }) => ended)).toBe(true);
  world.check();
});

it('is as before once a handler has begun', async () => {
  let broken = true;
  const { world } = await troubled(() => (broken ? notLoaded : undefined), {
    handlers: [handler('demo/x')],
    scripts: { 'demo/x': async () => returned(1) },
  });
  world.transport.offer({ type: 'demo/x' });
  await world.until(() => world.log.of('type.paused').length > 0);
  broken = false;
  await world.until(() => world.log.of('type.resumed').length > 0);
  expect(world.log.of('type.resumed')).toHaveLength(1);
  const many = Array.from({ length: 20 }, () => world.transport.offer({ type: 'demo/x' }));
  world.transport.hint({ kind: 'wake', types: ['demo/x@1'] });
  const from = world.now;
  await world.until(() => many.every(({ ended }) => ended?.op === 'complete'));
  expect(world.now - from).toBeLessThan(5_000);
  world.check();
});

it('tells no trouble of a carrier that is closed at the end', async () => {
  const { world } = await troubled(() => undefined);
  world.worker.spoolLost('the test is over');
  await world.ended();
  expect(world.log.of('type.paused')).toEqual([]);
});

describe('a handler that fails for reasons of this host (F56)', () => {
  const noCard: JobEnd = {
    how: 'threw',
    error: { code: 'HOST_UNHEALTHY', message: 'CUDA error: no device', retryable: true },
  };
  /** One that fails in 10 ms while `sick()`; its tasks come back at once, as to a fleet that is never idle. */
  async function patient(sick: () => JobEnd | undefined, options: SimOptions = {}) {
    const world = new SimWorld();
    const started: number[] = [];
    const play = async () => {
      started.push(world.now);
      const end = sick();
      await world.clock.sleep(10);
      return end ?? returned(1);
    };
    await world.start({
      handlers: [handler('demo/x'), handler('demo/y')],
      scripts: { 'demo/x': play, 'demo/y': async () => returned(1) },
      maxConcurrent: 1,
      ...options,
    });
    const told = () => world.transport.of('present').at(-1)?.request as PresenceRequest;
    const paused = () => world.log.of('type.paused');
    return { world, started, told, paused };
  }

  it('is paused here from the third in a row on, tried one at a time, and back after one that works', async () => {
    let sick = true;
    const { world, started, told, paused } = await patient(() => (sick ? noCard : undefined), {
      maxConcurrent: 2,
    });
    for (let i = 0; i < 200; i++) world.transport.offer({ type: 'demo/x' });
    await world.until(() => paused().length > 0);
    await world.advance(60_000);
    // What was claimed before the pause, then one after 2, 4, 8, 16, 32 s.
    expect(started.length).toBeLessThanOrEqual(4 + 5);
    expect(started.length).toBeGreaterThanOrEqual(3 + 4);
    const trials = gaps(started.slice(4));
    for (const gap of trials) expect(gap).toBeGreaterThan(1_500);
    expect(told()).toMatchObject({
      state: 'ready',
      pausedTypes: [
        {
          type: 'demo/x',
          why: expect.stringMatching(/reasons of this host: HOST_UNHEALTHY: CUDA/),
        },
      ],
    });
    const other = world.transport.offer({ type: 'demo/y' });
    await world.until(() => other.ended, 16_000);
    sick = false;
    await world.until(() => world.log.of('type.resumed').length > 0, 120_000);
    const from = world.now;
    await world.until(() => started.length >= 200, 30_000);
    expect(world.now - from).toBeLessThan(30_000);
    await world.advance(1_000);
    expect(told()).not.toHaveProperty('pausedTypes');
    world.check();
  });

  it('pauses nothing while others of the type succeed between', async () => {
    let turn = 0;
    const { world, paused } = await patient(() => (++turn % 3 === 0 ? undefined : noCard));
    const all = Array.from({ length: 30 }, () => world.transport.offer({ type: 'demo/x' }));
    await world.until(() => all.every(({ ended }) => ended));
    expect(paused()).toEqual([]);
  });

  it('counts a failure of the task itself for the host, not against it', async () => {
    let turn = 0;
    const ownFault: JobEnd = {
      how: 'threw',
      error: { code: 'HANDLER_ERROR', message: 'row 7 is odd', retryable: false },
    };
    const { world, paused } = await patient(() => (++turn % 3 === 0 ? ownFault : noCard));
    const all = Array.from({ length: 30 }, () => world.transport.offer({ type: 'demo/x' }));
    await world.until(() => all.every(({ ended }) => ended));
    expect(paused()).toEqual([]);
  });

  it('is not paused by one task that fails everywhere', async () => {
    const { world, started, paused } = await patient(() => ({
      how: 'died',
      signal: 'SIGKILL',
      outOfMemory: true,
    }));
    const { attempt } = world.transport.offer({ type: 'demo/x' });
    for (let tries = 1; tries < 6; tries++) {
      await world.until(() => started.length === tries, 30_000);
      world.transport.offer({ type: 'demo/x', taskId: attempt.taskId });
    }
    await world.advance(20_000);
    expect(paused()).toEqual([]);
  });
});
