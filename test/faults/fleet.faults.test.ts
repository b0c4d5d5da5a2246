/** A control plane that dies under a fleet and comes back: nobody comes in step, and all work is done (F17). */
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { until } from '../e2e/processes.ts';
import type { Passing } from '../e2e/proxy.ts';
import { HANDLERS, World } from '../e2e/world.ts';
import { missing } from './needs.ts';
import { rounds } from './rounds.ts';

const FLEET = 8;
const DOWN_MS = 10_000;

// A machine that stalls lets everything due happen at once: that says nothing of the fleet.
it.skipIf(missing())(
  `F17: ${FLEET} workers come back spread to a control plane that was away for 10 s`,
  { retry: 2, timeout: rounds(180_000, 900_000) },
  async () => {
    await using world = new World();
    await world.controlPlane('task-producer', 'task-worker');
    const proxy = await world.proxy();
    const handlers = world.path('handlers');
    mkdirSync(join(handlers, 'test'), { recursive: true });
    copyFileSync(join(HANDLERS, 'test', 'now@1.mjs'), join(handlers, 'test', 'now@1.mjs'));
    const ids = Array.from({ length: FLEET }, (_, n) => `fleet-${n}`);
    await Promise.all(
      ids.map((id) => world.worker({ id, url: proxy.url, handlers, args: ['--poll-max', '60s'] })),
    );
    const of = (kind: 'hints' | 'claims', id: string) => (passing: Passing) =>
      passing.path.startsWith(`/${kind}`) && (passing.path + passing.body).includes(id);
    for (const id of ids) await proxy.saw(of('hints', id));

    for (let round = 0; round < rounds(1, 10); round++) {
      // A long healthy time: polls have become rare, and the first retry is a first one.
      await pause(4_000);
      const cut = performance.now();
      await world.plane.crash();
      const since = (from: number) => proxy.seen.filter(({ at }) => at > from);
      await until(
        () => ids.every((id) => since(cut).some(of('hints', id))),
        'first retry of each stream',
      );
      const firsts = ids.map((id) => since(cut).find(of('hints', id))?.at ?? 0);
      expect(crowd(firsts), `first retries ${words(firsts, cut)}`).toBeLessThanOrEqual(FLEET / 2);

      await pause(Math.max(0, DOWN_MS - (performance.now() - cut)));
      const meanwhile = since(cut).length;
      await world.controlPlane();
      const back = performance.now();
      const again = (kind: 'hints' | 'claims') =>
        ids.map((id) => since(back).find(of(kind, id))?.at);
      await until(() => [...again('hints'), ...again('claims')].every(Boolean), 'return of all');
      const streams = again('hints') as number[];
      const claims = again('claims') as number[];
      expect(crowd(streams), `streams ${words(streams, back)}`).toBeLessThanOrEqual(FLEET / 2);
      expect(crowd(claims), `claims ${words(claims, back)}`).toBeLessThanOrEqual(FLEET / 2);
      console.log(
        `F17: ${meanwhile} calls in ${DOWN_MS / 1_000} s without a control plane; first retries after ${words(firsts, cut)} ms; streams back after ${words(streams, back)} ms, claims after ${words(claims, back)} ms`,
      );
      // Streams, claims and hellos, each with its own growing pause.
      expect(meanwhile).toBeLessThan(FLEET * 30);

      const asked = since(0).filter(({ path }) => path === '/claims').length;
      const tasks = await Promise.all(ids.map((_, n) => world.producer.submit('test/now', 1, n)));
      for (const task of tasks)
        expect(await world.producer.await(task, { timeoutMs: 60_000 })).toMatchObject({
          status: 'succeeded',
          attempts: 1,
        });
      const claimed = since(0).filter(({ path }) => path === '/claims').length - asked;
      // Wakes go to twice as many as there are tasks: each brings one claim, and a full answer brings one more.
      expect(claimed).toBeLessThan(FLEET * FLEET);
    }
  },
);

/** Most of these within any 100 ms. */
function crowd(times: readonly number[]): number {
  return Math.max(...times.map((from) => times.filter((t) => t >= from && t < from + 100).length));
}

function words(times: readonly number[], from: number): string {
  return times
    .map((at) => Math.round(at - from))
    .sort((a, b) => a - b)
    .join(' ');
}
