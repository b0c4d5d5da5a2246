/** Minutes of kill -9, of the control plane and of workers, while effects are made: none is lost, none made twice. */
import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { until } from './processes.ts';
import { LEASE_MS, PACKAGE_HANDLERS, World } from './world.ts';

const KILLS = 30;
const TASKS = 240;
const KINDS = ['effect/append', 'effect/append-gated', 'demo/hello'] as const;

it('loses no task and repeats no effect through 30 kills', async () => {
  await using world = new World();
  await world.controlPlane('task-producer', 'task-worker');
  const start = (id: string) => world.worker({ id, max: 4, handlers: PACKAGE_HANDLERS });
  const names = ['one', 'two', 'three'];
  const workers = new Map(
    await Promise.all(names.map(async (id) => [id, await start(id)] as const)),
  );
  const outcomes = await world.producer.submitMany(
    Array.from({ length: TASKS }, (_, n) => ({
      type: KINDS[n % KINDS.length] as string,
      schemaVersion: 1,
      input:
        KINDS[n % KINDS.length] === 'demo/hello'
          ? { name: `${n}` }
          : {
              file: world.path(`${n}`),
              text: `${n}`,
              beforeMs: randomInt(400),
              afterMs: randomInt(400),
            },
      idempotencyKey: `chaos-${n}`,
      policy: { leaseMs: LEASE_MS, lostGraceMs: 1_000, maxAttempts: 50 },
    })),
  );
  const ids = outcomes.map((outcome) => {
    if (!outcome.ok) throw outcome.error;
    return outcome.task.id;
  });
  for (let kill = 0; kill < KILLS; kill++) {
    await pause(randomInt(200, 1_500));
    const victim = names[randomInt(names.length + 1)];
    if (victim === undefined) {
      await world.plane.crash();
      await world.controlPlane();
    } else {
      await workers.get(victim)?.crash();
      workers.set(victim, await start(victim));
    }
  }
  const counts: Record<string, number> = {};
  for (const [n, id] of ids.entries()) {
    const { status, attempts } = await world.producer.await(id, { timeoutMs: 180_000 });
    counts[status] = (counts[status] ?? 0) + 1;
    const lines = world.lines(`${n}`);
    const effect = KINDS[n % KINDS.length] !== 'demo/hello';
    const allowed = !effect ? [[]] : status === 'succeeded' ? [[`${n}`]] : [[], [`${n}`]];
    expect(allowed, `${id} is ${status} after ${attempts} attempts`).toContainEqual(lines);
    expect(status, id).toMatch(effect ? /^(succeeded|outcome-unknown)$/ : /^succeeded$/);
  }
  console.log(`${KILLS} kills, ${TASKS} tasks: ${JSON.stringify(counts)}`);
  for (const id of names) {
    await until(() => world.inSpool('reports', id).length === 0, `empty spool of ${id}`);
    expect(world.inSpool('refused', id)).toEqual([]);
    expect(world.inSpool('corrupt', id)).toEqual([]);
  }
}, 900_000);
