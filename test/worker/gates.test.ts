import { expect, it } from 'vitest';
import { returned } from '../../sim/carrier.ts';
import { noAnswer, refused } from '../../sim/wire-words.ts';
import { handler, SimWorld } from './sim-rig.ts';

const START = [handler('x/y', 'non-idempotent')];
const EFFECT = [handler('x/y', 'non-idempotent', { effectGate: 'effect' })];

/** A world whose one attempt has its gate at `start`. */
function guarded() {
  const world = new SimWorld();
  const one = world.transport.offer({ type: 'x/y', effectSafety: 'non-idempotent' });
  return { world, one, transport: world.transport };
}

/** A world whose one attempt has its gate at `effect`; `gate()` tells what became of it. */
async function gated(prepare: (world: SimWorld) => void = () => {}) {
  const world = new SimWorld();
  const one = world.transport.offer({
    type: 'x/y',
    effectSafety: 'non-idempotent',
    effectGate: 'effect',
  });
  let gate = 'not asked';
  prepare(world);
  await world.start({
    handlers: EFFECT,
    ignoresStop: ['x/y'],
    scripts: {
      'x/y': async (play) => {
        gate = 'asked';
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
  return { world, one, gate: () => gate };
}

it('starts a handler with a start gate only after its start was accepted', async () => {
  const { world, one, transport } = guarded();
  let startedAt = 0;
  await world.start({
    handlers: START,
    scripts: {
      'x/y': () => {
        startedAt = world.now;
        return returned(1);
      },
    },
  });
  await world.until(() => one.ended);
  expect(startedAt).toBeGreaterThanOrEqual(transport.sent('start')[0]?.answeredAt ?? Infinity);
  world.check();
});

it('asks a gate that nobody answers again with the same body until it is answered', async () => {
  const { world, one, transport } = guarded();
  let n = 0;
  transport.onReport(
    'start',
    () => (++n === 1 ? noAnswer('cut') : n === 2 ? 'never' : refused(503, 'UNAVAILABLE')),
    4,
  );
  await world.start({ handlers: START });
  await world.until(() => one.ended, 60_000);
  const bodies = transport.sent('start').map(({ report }) => JSON.stringify(report));
  expect(bodies.length).toBe(5);
  expect(new Set(bodies).size).toBe(1);
  expect(world.carrier.started.length).toBe(1);
  expect(one.ended?.op).toBe('complete');
  world.check();
});

it('renews once after LEASE_EXPIRED, asks again, and runs if that is accepted', async () => {
  const { world, one, transport } = guarded();
  transport.onReport('start', () => refused(409, 'LEASE_EXPIRED'), 1);
  await world.start({ handlers: START });
  await world.until(() => one.ended);
  expect(one.sent.slice(0, 3).map(({ report }) => report.op)).toEqual(['start', 'renew', 'start']);
  expect(one.ended?.op).toBe('complete');
  world.check();
});

it('gives an attempt back whose gate is LEASE_EXPIRED twice', async () => {
  const { world, one, transport } = guarded();
  transport.onReport('start', () => refused(409, 'LEASE_EXPIRED'));
  await world.start({ handlers: START });
  await world.until(() => one.ended);
  expect(one.sent.map(({ report }) => report.op)).toEqual(['start', 'renew', 'start', 'release']);
  expect(one.ended).toMatchObject({ op: 'release', reason: 'lease' });
  expect(world.carrier.started).toEqual([]);
  world.check();
});

it('asks on for the renewal before the gate where that gets no answer', async () => {
  const { world, one, transport } = guarded();
  transport.onReport('start', () => refused(409, 'LEASE_EXPIRED'), 1);
  transport.onReport('renew', () => noAnswer('cut'), 2);
  await world.start({ handlers: START });
  await world.until(() => one.ended);
  const [, second] = transport.sent('start');
  const renewed = transport.sent('renew').filter(({ answer }) => answer?.kind === 'ok');
  expect(second?.at).toBeGreaterThanOrEqual(renewed[0]?.answeredAt ?? Infinity);
  expect(one.ended?.op).toBe('complete');
  world.check();
});

it('sends nothing more for an attempt whose start was told STALE_ATTEMPT', async () => {
  const { world, one, transport } = guarded();
  transport.onReport('start', () => refused(409, 'STALE_ATTEMPT'));
  await world.start({ handlers: START });
  await world.advance(10_000);
  expect(one.sent.map(({ report }) => report.op)).toEqual(['start']);
  expect(world.carrier.started).toEqual([]);
  expect(world.worker.status().slots).toMatchObject({ busy: 0, waiting: 0 });
  world.check({ lapses: true });
});

it('sends nothing more where the renewal before the gate was told STALE_ATTEMPT', async () => {
  const { world, one, transport } = guarded();
  transport.onReport('start', () => refused(409, 'LEASE_EXPIRED'));
  transport.onReport('renew', () => refused(409, 'STALE_ATTEMPT'));
  await world.start({ handlers: START });
  await world.advance(10_000);
  expect(one.sent.map(({ report }) => report.op)).toEqual(['start', 'renew']);
  expect(world.carrier.started).toEqual([]);
  world.check({ lapses: true });
});

it('stops asking a gate as soon as a renewal is told STALE_ATTEMPT', async () => {
  const { world, one, transport } = guarded();
  transport.onReport('start', () => refused(503, 'UNAVAILABLE'));
  await world.start({ handlers: START });
  await world.advance(500);
  transport.onReport('renew', () => refused(409, 'STALE_ATTEMPT'));
  await world.until(() => transport.sent('renew').length > 0);
  await world.advance(10);
  const sent = one.sent.length;
  await world.advance(20_000);
  expect(one.sent.length).toBe(sent);
  world.check({ lapses: true });
});

it('gives the attempt back and ends as superseded where its start is told so', async () => {
  const { world, one, transport } = guarded();
  transport.onReport('start', () => refused(409, 'SESSION_SUPERSEDED', { detail: 'ses_new' }));
  await world.start({ handlers: START });
  expect(await world.ended()).toMatchObject({ why: 'superseded', unsent: 0, detail: 'ses_new' });
  expect(one.ended).toMatchObject({ op: 'release', reason: 'superseded' });
  expect(world.carrier.started).toEqual([]);
  world.check();
});

it('does not begin a handler whose start is refused for good', async () => {
  const { world, one, transport } = guarded();
  transport.onReport('start', () => refused(400, 'INVALID_REQUEST'));
  await world.start({ handlers: START });
  await world.until(() => one.ended);
  expect(one.ended).toMatchObject({ op: 'release', reason: 'gate-refused' });
  expect(world.carrier.started).toEqual([]);
  world.check();
});

it('takes a start of an attempt that is not known there for refused, and the key for good', async () => {
  const { world, one, transport } = guarded();
  transport.onReport('start', () =>
    refused(404, 'NOT_FOUND', { kind: 'attempt', project: 'default' }),
  );
  await world.start({ handlers: START });
  await world.until(() => one.ended);
  expect(one.ended).toMatchObject({ op: 'release' });
  expect(transport.keyReads).toBe(0);
  world.check();
});

it('asks a gate on while it drains, and runs the handler if it was accepted', async () => {
  const { world, one, transport } = guarded();
  transport.onReport('start', () => refused(503, 'UNAVAILABLE'), 2);
  await world.start({ handlers: START });
  await world.until(() => transport.sent('start').length === 1);
  world.worker.signal();
  expect(await world.ended()).toMatchObject({ why: 'drained', unsent: 0 });
  expect(one.ended?.op).toBe('complete');
  world.check();
});

it('gives the attempt back where a drain meets LEASE_EXPIRED at its gate', async () => {
  const { world, one, transport } = guarded();
  let n = 0;
  transport.onReport('start', () =>
    ++n === 1 ? refused(503, 'UNAVAILABLE') : refused(409, 'LEASE_EXPIRED'),
  );
  await world.start({ handlers: START });
  await world.until(() => transport.sent('start').length === 1);
  world.worker.signal();
  expect(await world.ended()).toMatchObject({ why: 'drained', unsent: 0 });
  expect(one.ended).toMatchObject({ op: 'release', reason: 'drain' });
  expect(world.carrier.started).toEqual([]);
  world.check();
});

it('does not start a handler whose task is being cancelled', async () => {
  const world = new SimWorld();
  const one = world.transport.offer({
    type: 'x/y',
    effectSafety: 'non-idempotent',
    cancelRequested: true,
  });
  await world.start({ handlers: START });
  await world.until(() => one.ended);
  expect(one.ended?.op).toBe('cancelled');
  expect(one.sent.length).toBe(1);
  expect(world.carrier.started).toEqual([]);
  world.check();
});

it('keeps an effect gate shut until its answer, through no answers', async () => {
  const { world, one, gate } = await gated(({ transport }) => {
    let n = 0;
    transport.onReport('effect', () => (++n === 1 ? 'never' : noAnswer('cut')), 3);
  });
  await world.until(() => gate() === 'asked');
  await world.advance(5_000);
  expect(gate()).toBe('asked');
  await world.until(() => one.ended, 30_000);
  expect(gate()).toBe('open');
  const bodies = world.transport.sent('effect').map(({ report }) => JSON.stringify(report));
  expect(new Set(bodies).size).toBe(1);
  world.check();
});

it('renews and asks an effect gate again after LEASE_EXPIRED, then rejects it without a release', async () => {
  const { world, one, gate } = await gated(({ transport }) => {
    transport.onReport('effect', () => refused(409, 'LEASE_EXPIRED'));
  });
  await world.until(() => one.ended);
  expect(gate()).toMatch(/lease of this attempt ran out/);
  const ops = one.sent.map(({ report }) => report.op).filter((op) => op !== 'start');
  expect(ops.slice(0, 3)).toEqual(['effect', 'renew', 'effect']);
  expect(ops).not.toContain('release');
  world.check();
});

it('rejects an effect gate that was told SESSION_SUPERSEDED and drains', async () => {
  const { world, gate } = await gated(({ transport }) => {
    transport.onReport('effect', () => refused(409, 'SESSION_SUPERSEDED'));
  });
  expect((await world.ended()).why).toBe('superseded');
  expect(gate()).toMatch(/taken over this worker id/);
  world.check();
});

it('rejects an effect gate that was told STALE_ATTEMPT and says nothing more', async () => {
  const { world, one, gate } = await gated(({ transport }) => {
    transport.onReport('effect', () => refused(409, 'STALE_ATTEMPT'));
  });
  await world.until(() => gate() !== 'asked' && gate() !== 'not asked');
  expect(gate()).toMatch(/given to somebody else/);
  const sent = one.sent.length;
  await world.advance(10_000);
  expect(one.sent.length).toBe(sent);
  world.check({ lapses: true });
});

it('leaves an effect gate shut for a control plane that does not know the operation', async () => {
  const { world, one, gate } = await gated(({ transport }) => {
    transport.onReport('effect', () => refused(400, 'UNSUPPORTED_OPERATION'));
  });
  await world.until(() => one.ended);
  expect(gate()).toMatch(/refused to open the gate/);
  world.check();
});

it('rejects a pending effect gate at the deadline of a drain', async () => {
  const { world, gate } = await gated(({ transport }) => {
    transport.onReport('effect', () => refused(503, 'UNAVAILABLE'));
  });
  await world.until(() => gate() === 'asked');
  world.worker.signal();
  await world.advance(1_500);
  world.worker.signal();
  expect((await world.ended()).why).toBe('stopped-handlers');
  expect(gate()).toMatch(/worker is stopping/);
  world.check();
});
