import { expect, it } from 'vitest';
import { noAnswer, type Said } from '../../sim/wire-words.ts';
import { CLAIM_WAIT, type ClaimAnswer, type ClaimRequest } from '../../src/contract/index.ts';
import { SimWorld } from './sim-rig.ts';

const requests = (world: SimWorld) =>
  world.transport.of('claim').map(({ request }) => request as ClaimRequest);
const waits = (request: ClaimRequest) => request.waitMs !== undefined;

/** A control plane at which claims wait: for `ms`, and then they get what there is. @param wayMs the answer is on its way. */
function waitingWorld(ms = 15_000, wayMs = 0): SimWorld {
  const world = new SimWorld();
  world.transport.features = [CLAIM_WAIT];
  world.transport.onCall(
    ({ kind, request }) => kind === 'claim' && waits(request as ClaimRequest),
    async (_, byDefault) => {
      await world.clock.sleep(ms);
      const said = byDefault() as { kind: 'ok'; value: ClaimAnswer };
      await world.clock.sleep(wayMs);
      return { ...said, value: { ...said.value, waitedMs: ms } } as Said<unknown>;
    },
  );
  return world;
}

it('lets a claim wait once one was answered, and only where that is a feature', async () => {
  const world = waitingWorld();
  await world.start();
  await world.until(() => requests(world).some(waits));
  expect(requests(world).map(waits)).toEqual([false, true]);
  const other = new SimWorld();
  await other.start();
  await other.advance(60_000);
  expect(requests(other).filter(waits)).toEqual([]);
});

it('lets none wait while a handler runs, and asks again at once after one that waited in vain', async () => {
  const world = waitingWorld(19_000);
  await world.start({ scripts: { 'demo/hello': world.works(30_000) } });
  await world.until(() => requests(world).some(waits));
  await world.advance(21_000);
  expect(requests(world).filter(waits).length).toBe(2);
  world.transport.offer({ type: 'demo/hello' });
  await world.until(() => world.carrier.running === 1);
  const from = requests(world).length;
  await world.advance(25_000);
  expect(requests(world).slice(from).length).toBeGreaterThan(0);
  expect(requests(world).slice(from).filter(waits)).toEqual([]);
  world.check();
});

it('waits again as soon as a report is on a slow disk, also where a claim went before that', async () => {
  const world = waitingWorld(2_000);
  await world.start();
  await world.until(() => requests(world).some(waits));
  world.machine.disk.fail({ step: 'append', path: /reports/, ms: 100, times: 1 });
  const one = world.transport.offer({ type: 'demo/hello' });
  await world.until(() => one.ended, 10_000);
  await world.advance(1);
  expect(requests(world).slice(-2).map(waits)).toEqual([false, true]);
  const [before, last] = world.transport.of('claim').slice(-2);
  expect((last?.at ?? 0) - (before?.at ?? 0)).toBeLessThan(100);
  world.check();
});

it('counts leases from the send and what it waited', async () => {
  const world = waitingWorld(19_000);
  await world.start({ scripts: { 'demo/hello': world.works(2_000) } });
  await world.until(() => requests(world).some(waits));
  const { attempt } = world.transport.offer({ type: 'demo/hello', leaseMs: 9_000 });
  await world.until(() => world.transport.sent('complete').length === 1);
  expect(world.transport.sent('renew', attempt.attemptId)).toEqual([]);
  world.check();
});

it('does not count them from the answer, which may have been on its way for long', async () => {
  const world = waitingWorld(10_000, 6_000);
  await world.start({ scripts: { 'demo/hello': world.works(1_000) } });
  await world.until(() => requests(world).some(waits));
  const { attempt } = world.transport.offer({ type: 'demo/hello', leaseMs: 9_000 });
  await world.until(() => world.transport.sent('complete').length === 1);
  // A third of it is over when the answer comes.
  expect(world.transport.sent('renew', attempt.attemptId)).toHaveLength(1);
  world.check();
});

it('never counts them from later than the answer, whatever that says', async () => {
  const world = new SimWorld();
  world.transport.features = [CLAIM_WAIT];
  world.transport.onCall('claim', (_, byDefault) => {
    const said = byDefault() as { kind: 'ok'; value: ClaimAnswer };
    return { ...said, value: { ...said.value, waitedMs: 1e9 } } as Said<unknown>;
  });
  world.transport.offer({ type: 'demo/hello', leaseMs: 9_000 });
  await world.start({ scripts: { 'demo/hello': world.works(20_000) } });
  await world.until(() => world.transport.sent('complete').length === 1);
  expect(world.transport.sent('renew').length).toBeGreaterThanOrEqual(4);
  world.check();
});

it('ends the wait when it drains: the same claim once more, for nothing', async () => {
  const world = waitingWorld();
  await world.start();
  await world.until(() => requests(world).some(waits));
  const at = world.now;
  world.worker.signal();
  await world.ended();
  const [, first, last, ...more] = requests(world);
  expect(last).toEqual({ ...first, max: 0, waitMs: undefined });
  expect(last).not.toHaveProperty('waitMs');
  expect(more).toEqual([]);
  expect(world.now - at).toBeLessThan(1_000);
  world.check();
});

it('gives back what the end of a wait brings', async () => {
  const world = waitingWorld();
  await world.start();
  await world.until(() => requests(world).some(waits));
  const offered = world.transport.offer({ type: 'demo/hello' });
  // As if it had been granted a moment before the drain.
  world.transport.onCall(
    ({ request, kind }) => kind === 'claim' && (request as ClaimRequest).max === 0,
    () =>
      ({
        kind: 'ok',
        value: { attempts: [offered.attempt], pollAfterMs: 1_000, drain: false },
      }) as never,
  );
  world.worker.signal();
  await world.ended();
  expect(offered.ended).toMatchObject({ op: 'release', reason: 'drain' });
  world.check({ lapses: true });
});

it('waits no more for a while where a claim that waited got no answer, and repeats it without', async () => {
  const world = new SimWorld();
  world.transport.features = [CLAIM_WAIT];
  world.transport.onCall(
    ({ kind, request }) => kind === 'claim' && waits(request as ClaimRequest),
    async () => {
      await world.clock.sleep(10_000);
      return noAnswer('timeout');
    },
  );
  await world.start();
  await world.until(() => requests(world).filter(waits).length === 2, 120_000);
  const all = requests(world);
  const first = all.findIndex(waits);
  expect(all[first + 1]?.requestId).toBe(all[first]?.requestId);
  const sent = world.transport.of('claim').map(({ at }) => at);
  const second = all.findLastIndex(waits);
  // The answer came after 10 s.
  expect((sent[second] as number) - (sent[first] as number)).toBeGreaterThanOrEqual(13_900);
});

it('drains within seconds where nothing answers any more, and says that the claim is not repeated', async () => {
  const world = waitingWorld();
  await world.start();
  await world.until(() => requests(world).some(waits));
  world.transport.onCall('claim', async () => {
    await world.clock.sleep(10_000);
    return noAnswer('timeout');
  });
  const at = world.now;
  world.worker.signal();
  await world.ended();
  expect(world.now - at).toBeLessThan(5_000);
  const [told] = world.log.of('claim.no-answer');
  expect(told?.text).toMatch(/none within 3 s.* It is not repeated/);
});

it('asks anew where the hint stream was lost and is open again: its connection may be as dead', async () => {
  const world = waitingWorld();
  await world.start();
  world.transport.hint({ kind: 'ping' });
  await world.until(() => requests(world).some(waits));
  const from = requests(world).length;
  world.transport.cutHints();
  await world.until(() => requests(world).length >= from + 2, 5_000);
  const [, first, last, next] = requests(world);
  expect(last).toEqual({ ...first, max: 0, waitMs: undefined });
  expect(next?.requestId).not.toBe(first?.requestId);
  world.check();
});
