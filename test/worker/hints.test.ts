import { expect, it } from 'vitest';
import { refused } from '../../sim/wire-words.ts';
import { gaps, SimWorld } from './sim-rig.ts';

const openings = ({ transport }: SimWorld) => transport.of('hints').map(({ at }) => at);

it('opens one stream, and a new one after each end, never two', async () => {
  const world = new SimWorld();
  await world.start();
  for (let i = 0; i < 8; i++) {
    await world.until(() => world.transport.openStreams === 1, 50_000);
    await world.advance(5_000);
    expect(world.transport.openStreams).toBe(1);
    world.transport.hint({ kind: 'ping' });
    world.transport.cutHints();
  }
  expect(openings(world).length).toBe(8);
  world.check();
});

it('spreads the first retry after a long healthy time over half a second', async () => {
  const delays = await Promise.all(
    Array.from({ length: 16 }, async (_, i) => {
      const world = new SimWorld();
      for (let skip = 0; skip < i; skip++) world.machine.start();
      await world.start();
      world.transport.hint({ kind: 'ping' });
      await world.advance(60_000);
      const cut = world.now;
      world.transport.cutHints();
      await world.until(() => openings(world).length === 2);
      return (openings(world)[1] ?? 0) - cut;
    }),
  );
  expect(Math.min(...delays)).toBeGreaterThanOrEqual(250);
  expect(Math.max(...delays)).toBeLessThanOrEqual(751);
  expect(Math.max(...delays) - Math.min(...delays)).toBeGreaterThan(200);
});

it('retries with backoff where streams are refused, and keeps a pause that it is told', async () => {
  const world = new SimWorld();
  world.transport.onCall('hints', () => refused(503, 'UNAVAILABLE'), 6);
  world.transport.onCall('hints', () => refused(429, 'RATE_LIMITED', { retryAfterMs: 120_000 }), 1);
  await world.start();
  await world.until(() => world.transport.openStreams === 1, 400_000);
  const between = gaps(openings(world));
  expect(between.length).toBe(7);
  expect(between[0]).toBeLessThanOrEqual(760);
  expect(between[5]).toBeGreaterThan(7_000);
  expect(between[6]).toBeGreaterThanOrEqual(120_000);
  expect(between[6]).toBeLessThanOrEqual(132_010);
});

it('does not reopen a stream in a hot loop that ends as soon as it is open', async () => {
  const world = new SimWorld();
  await world.start();
  for (let i = 0; i < 8; i++) {
    await world.until(() => world.transport.openStreams === 1, 50_000);
    world.transport.hint({ kind: 'ping' });
    world.transport.cutHints();
  }
  expect(gaps(openings(world)).at(-1)).toBeGreaterThan(10_000);
});

it('loses no work where every hint is lost', async () => {
  const world = new SimWorld();
  world.transport.onCall('hints', () => refused(404, 'NOT_FOUND'));
  await world.start();
  for (let i = 0; i < 10; i++) {
    const one = world.transport.offer({ type: 'demo/hello' });
    await world.until(() => one.ended, 5_100);
    await world.advance(7_000);
  }
  world.check();
});

it('polls as without hints while a stream is open but has not brought a byte', async () => {
  const world = new SimWorld();
  const { transport } = world;
  const gathering = async (
    _: unknown,
    onHint: (hint: { kind: 'open' }) => void,
    signal: AbortSignal,
  ) => {
    onHint({ kind: 'open' });
    const silent = await world.clock.sleep(45_000, signal);
    return { kind: silent ? 'silent' : 'aborted', why: 'gathered' } as const;
  };
  const hints = transport.hints.bind(transport);
  transport.hints = gathering;
  await world.start();
  await world.advance(200_000);
  expect(world.worker.status().hintsWork).toBe(false);
  const polls = gaps(transport.of('claim').map(({ at }) => at));
  expect(Math.max(...polls)).toBeLessThanOrEqual(5_100);
  // Told once, not at every new try.
  expect(world.log.of('hints.lost').filter(({ level }) => level === 'info').length).toBe(1);
  transport.hints = hints;
  await world.until(() => world.worker.status().hintsWork, 100_000);
  world.check();
});

it('says of a stream that never began that it could not be opened, and of others that they ended', async () => {
  const world = new SimWorld();
  world.transport.onCall('hints', () => refused(503, 'UNAVAILABLE'), 1);
  await world.start();
  await world.until(() => world.transport.openStreams === 1, 50_000);
  world.transport.hint({ kind: 'ping' });
  await world.advance(60_000);
  world.transport.cutHints();
  await world.until(() => world.log.of('hints.lost').length === 2);
  expect(world.log.of('hints.lost').map(({ text }) => text)).toEqual([
    'The hint stream could not be opened (refused); polling goes on and it is tried again.',
    'The hint stream ended (The stream was cut); polling goes on and the stream is opened again.',
  ]);
});

it('ignores hints about attempts that it does not have', async () => {
  const world = new SimWorld();
  await world.start();
  await world.advance(2_000);
  for (let i = 0; i < 100; i++) world.transport.hint({ kind: 'cancel', attemptId: `att_${i}` });
  await world.advance(5_000);
  expect(world.transport.reports).toEqual([]);
});
