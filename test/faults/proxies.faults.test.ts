/**
 * Event streams behind real proxies: hints come in time where the proxy lets them, else polling takes over within one
 * interval. Whatever it does, no task is lost and nothing comes back in a storm.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { workerDefaults } from '../../src/core/defaults.ts';
import type { WorkerStatus } from '../../src/worker/status.ts';
import { type Proc, until } from '../e2e/processes.ts';
import { World } from '../e2e/world.ts';
import { missing } from './needs.ts';
import { startHaproxy, startNginx } from './real-proxies.ts';
import { rounds } from './rounds.ts';

const lack = missing('nginx', 'haproxy');
vi.setConfig({ testTimeout: rounds(180_000, 900_000) });
const POLL_MS = workerDefaults.pollMaxWithoutHintsMs;
/** Two cores and two test files at a time: what a process may be late. */
const LATE_MS = 1_500;
/** By hints; polls alone have grown to many seconds by then. */
const AT_ONCE_MS = 1_000;

async function behind(start: (world: World) => Promise<{ url: string }>) {
  const world = new World();
  await world.controlPlane('task-producer', 'task-worker');
  const { url } = await start(world);
  const args = ['--log-level', 'debug', '--status-listen', '127.0.0.1:0', '--poll-max', '60s'];
  const worker = await world.worker({ url, args, max: 2 });
  const [, where = ''] = await worker.says(/GET (http:\/\/127\.0\.0\.1:\d+\/status)/);
  const status = async () => (await (await fetch(where)).json()) as WorkerStatus;
  return { world, worker, status, url };
}

/** Submits tasks one after the other, at odd times; returns how long each waited for its start. */
async function waits(world: World, count: number, apartMs: number): Promise<number[]> {
  const waited: number[] = [];
  const running: Promise<void>[] = [];
  for (let n = 0; n < count; n++) {
    await pause(apartMs * (0.6 + ((n * 7) % 9) / 10));
    const from = performance.timeOrigin + performance.now();
    const run = async () => {
      const task = await world.producer.submit('test/now', 1, n);
      const done = await world.producer.await(task, { timeoutMs: 60_000 });
      expect(done).toMatchObject({ status: 'succeeded', attempts: 1 });
      waited.push((done.result as number) - from);
    };
    running.push(run());
  }
  await Promise.all(running);
  return waited.sort((a, b) => a - b);
}

const lost = (worker: Proc) => worker.events('hints.lost').length;
const told = (of: readonly number[]) =>
  `median ${Math.round(of[of.length >> 1] ?? 0)} ms, worst ${Math.round(of.at(-1) ?? 0)} ms`;

describe.skipIf(lack)('SSE behind', () => {
  it.concurrent('nginx with buffering and gzip on brings hints at once: X-Accel-Buffering is heeded', async () => {
    const { world, worker, status, url } = await behind((w) => startNginx(w));
    await using _ = world;
    await until(async () => (await status()).hintsWork, 'hints', 20_000);
    // Past the first polls, which come soon anyway.
    await pause(8_000);
    const waited = await waits(world, rounds(8, 60), 1_200);
    console.log(`nginx: ${told(waited)}`);
    expect(waited[waited.length >> 1]).toBeLessThan(AT_ONCE_MS);
    expect(lost(worker)).toBe(0);
    const doctor = await world.run(['tasks', 'doctor', '--url', url]);
    expect(doctor.out).toMatch(/^ok +hints +come through/m);
  });

  it.concurrent('nginx that gathers all answers costs one short poll, and worker and doctor say so', async () => {
    const { world, worker, status, url } = await behind((w) => startNginx(w, { gathers: true }));
    await using _ = world;
    await pause(9_000);
    const waited = await waits(world, rounds(4, 40), 2_300);
    console.log(`nginx that gathers: ${told(waited)}`);
    expect(waited.at(-1)).toBeLessThan(POLL_MS + LATE_MS);
    expect((await status()).hintsWork).toBe(false);
    await worker.says(/A proxy that gathers event streams looks so/);
    expect(lost(worker)).toBeLessThanOrEqual(rounds(4, 20));
    const doctor = await world.run(['tasks', 'doctor', '--url', url]);
    expect(doctor.out).toMatch(/^warn +hints +do not come through: .*gathers it\n +fix: Turn/m);
  });

  // 3 s stand for the usual 60 s. A wake is a byte too, so tasks come at pauses on both sides of it.
  it.concurrent.each([
    ['nginx', (w: World) => startNginx(w, { silenceS: 3 })],
    ['nginx that also gathers', (w: World) => startNginx(w, { silenceS: 3, gathers: true })],
    ['HAProxy', (w: World) => startHaproxy(w, 3)],
  ] as const)(
    '%s cuts after 3 s of silence: no task is lost, and there is no storm',
    async (name, start) => {
      const { world, worker } = await behind(start);
      await using _ = world;
      const from = performance.now();
      const waited = await waits(world, rounds(5, 60), 4_000);
      const seconds = (performance.now() - from) / 1_000;
      console.log(
        `${name}, cut: ${told(waited)}; ${lost(worker)} streams in ${seconds.toFixed(0)} s`,
      );
      expect(waited.at(-1)).toBeLessThan(POLL_MS + LATE_MS);
      expect(lost(worker)).toBeGreaterThan(1);
      expect(lost(worker)).toBeLessThanOrEqual(Math.ceil(seconds / 3) + 2);
    },
  );

  it.concurrent('HAProxy with default buffering brings hints at once', async () => {
    const { world, worker, status } = await behind((w) => startHaproxy(w));
    await using _ = world;
    await until(async () => (await status()).hintsWork, 'hints', 20_000);
    await pause(8_000);
    const waited = await waits(world, rounds(8, 60), 1_200);
    console.log(`HAProxy: ${told(waited)}`);
    expect(waited[waited.length >> 1]).toBeLessThan(AT_ONCE_MS);
    expect(lost(worker)).toBe(0);
  });
});
