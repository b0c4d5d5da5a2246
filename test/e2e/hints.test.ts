/** Hints make work start at once; without them it starts within one polling interval. */
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { workerDefaults } from '../../src/core/defaults.ts';
import { World } from './world.ts';

it.concurrent('starts 50 tasks, one after the other, without waiting for a poll', async () => {
  await using world = new World();
  await world.controlPlane('task-producer', 'task-worker');
  const proxy = await world.proxy();
  await world.worker({ url: proxy.url, args: ['--poll-max', '60s'] });
  await proxy.saw(({ path }) => path.startsWith('/hints'));
  const waits: number[] = [];
  for (let n = 0; n < 50; n++) {
    // Until the worker is idle again: it asks no oftener than this.
    await pause(workerDefaults.claimGapMs + 20);
    const from = performance.timeOrigin + performance.now();
    const task = await world.producer.submit('test/now', 1, n);
    const done = await world.producer.await(task, { timeoutMs: 20_000 });
    expect(done.status).toBe('succeeded');
    waits.push((done.result as number) - from);
  }
  waits.sort((a, b) => a - b);
  const at = (share: number) => Math.round(waits[Math.floor(waits.length * share)] as number);
  console.log(`submit → start through hints: p50 ${at(0.5)} ms, p95 ${at(0.95)} ms (50 tasks)`);
  // The first polls come after 1, 2, 4 … s: a median far below them is the work of hints.
  expect(at(0.5)).toBeLessThan(500);
  expect(at(0.98)).toBeLessThan(10_000);
});

it.concurrent('starts every task within one polling interval where event streams are refused', async () => {
  await using world = new World();
  await world.controlPlane('task-producer', 'task-worker');
  const proxy = await world.proxy();
  proxy.judge(({ path }) => (path.startsWith('/hints') ? 404 : 'pass'));
  await world.worker({ url: proxy.url, args: ['--poll-max', '60s'] });
  const isClaim = ({ path }: { path: string }) => path === '/claims';
  const claims = () => proxy.seen.filter(isClaim).map(({ at }) => at);
  const intervalMs = workerDefaults.pollMaxWithoutHintsMs;
  const waits: number[] = [];
  const run = async () => {
    const from = performance.timeOrigin + performance.now();
    const task = await world.producer.submit('test/now', 1, null);
    const done = await world.producer.await(task, { timeoutMs: 60_000 });
    waits.push((done.result as number) - from);
  };
  for (let n = 0; n < 3; n++) await run();
  // The worst case: right after a poll, when the pauses have become as long as they get.
  let last = claims().length;
  await proxy.saw(({ path, at }) => {
    const all = claims();
    if (path !== '/claims' || all.length === last) return false;
    const long = at === all.at(-1) && at - (all.at(-2) ?? at) > intervalMs * 0.7;
    if (at === all.at(-1)) last = all.length;
    return long;
  }, 60_000);
  await run();
  const worst = Math.round(Math.max(...waits));
  console.log(
    `submit → start without hints: at most ${worst} ms (polls at most ${intervalMs} ms apart)`,
  );
  expect(worst).toBeLessThan(intervalMs + 3_000);
  expect(proxy.seen.filter(({ path }) => path.startsWith('/hints')).length).toBeGreaterThan(1);
});
