/** F50: a load with readers that stay and people that submit at the same time; the log of the database stays small. */
import { statSync } from 'node:fs';
import { expect } from 'vitest';
import { type Proc, until } from '../e2e/processes.ts';
import { World } from '../e2e/world.ts';
import { HANDLERS } from './ledger.ts';
import { harmful, memoryOf } from './machine.ts';
import { rounds } from './rounds.ts';

const LOAD_MS = rounds(20_000, 600_000);
const READERS = 5;
const PEOPLE = rounds(8, 20);
const PRODUCERS = 4;
/** Folded in at 16 MB; what one group of commits writes, and readers for a moment, come on top. */
const WAL_BYTES = 33_554_432;
/** It keeps its room: to write over is cheaper than to grow. */
const WAL_IDLE_BYTES = 20_971_520;

harmful(
  `F50 keeps its log under ${WAL_BYTES / 1_048_576} MB through ${LOAD_MS / 1000} s of load with ${READERS} readers and ${PEOPLE} submits at a time, shows nobody a lock, and keeps through kill -9 what it acknowledged`,
  async () => {
    await using world = new World();
    await world.controlPlane('task-producer', 'task-worker');
    await world.worker({ max: 4, handlers: HANDLERS });
    const wal = () => {
      const found = statSync(world.path('data/control-plane.db-wal'), { throwIfNoEntry: false });
      return found?.size ?? 0;
    };
    const held = await world.producer.submit('test/look', 1, {
      file: world.path('held'),
      beforeMs: 3_600_000,
    });
    const readers: Proc[] = Array.from({ length: READERS }, () =>
      world.start(['tasks', 'watch', held.id]),
    );
    await Promise.all(readers.map((reader) => reader.says(/submitted/)));

    const end = performance.now() + LOAD_MS;
    const acknowledged: string[] = [];
    const refusals: string[] = [];
    let commands = 0;
    let n = 0;
    const input = () => ({ file: world.path('all'), n: n++, padding: 'p'.repeat(2_000) });
    const producers = Array.from({ length: PRODUCERS }, async () => {
      while (performance.now() < end) {
        const made = await world.producer.submitMany(
          Array.from({ length: 10 }, () => ({
            // Two of three wait for a worker that does not come: the queue grows.
            type: n % 3 === 0 ? 'test/look' : 'test/nobody',
            schemaVersion: 1,
            input: input(),
          })),
        );
        for (const one of made) {
          if (one.ok) acknowledged.push(one.task.id);
          else refusals.push(one.error.message);
        }
      }
    });
    const people = Array.from({ length: PEOPLE }, async () => {
      while (performance.now() < end) {
        const text = JSON.stringify(input());
        const done = await world.run(['tasks', 'submit', 'test/nobody', '--json', '--input', text]);
        commands++;
        if (done.code === 0) acknowledged.push(JSON.parse(done.out).id);
        else refusals.push(`${done.code} ${done.err}`);
        expect(done.err).not.toMatch(/lock|busy|SQLITE/i);
      }
    });
    // Another process that writes into the same database.
    const keys = (async () => {
      while (performance.now() < end) {
        const how = ['--kind', 'metrics', '--data', world.path('data'), '--json'];
        const done = await world.run(['keys', 'new', 'one of many', ...how]);
        expect(done, done.err).toMatchObject({ code: 0 });
      }
    })();
    let largest = 0;
    let running = true;
    const watching = until(
      () => {
        largest = Math.max(largest, wal());
        return !running;
      },
      'end',
      LOAD_MS * 3 + 120_000,
    );
    const killed = (async () => {
      for (let kills = 0; kills < rounds(1, 10); kills++) {
        const at = performance.now() + LOAD_MS / (rounds(1, 10) + 1);
        await until(() => performance.now() > at, 'time', LOAD_MS);
        await world.plane.crash();
        await world.controlPlane();
      }
    })();
    await Promise.all([...producers, ...people, keys, killed]);
    running = false;
    await watching;

    // Who asked while there was no control plane was told so.
    for (const words of refusals) expect(words).toMatch(/^68 .*"UNREACHABLE"/);
    const kept = new Set<string>();
    for await (const { id } of world.producer.list()) kept.add(id);
    expect(acknowledged.filter((id) => !kept.has(id))).toEqual([]);
    expect(kept.size).toBeLessThanOrEqual(acknowledged.length + refusals.length + 1);
    for (const reader of readers) expect(reader.running).toBe(true);
    expect(world.plane.err).not.toMatch(/database is locked|SQLITE_BUSY/);
    const peak = memoryOf(world.plane.pid).peak;
    // The worker ends what it can, then nobody writes but its signs of life.
    const from = performance.now();
    await until(() => wal() <= WAL_IDLE_BYTES, 'a log that is cut', 120_000);
    console.log(
      `F50: ${acknowledged.length} acknowledged (${commands} commands), ${refusals.length} told that nobody answered, log at most ${(largest / 1_048_576).toFixed(1)} MB, cut ${Math.round(performance.now() - from)} ms after the load; control plane at most ${peak} MiB`,
    );
    expect(largest).toBeLessThan(WAL_BYTES);
  },
  LOAD_MS * 3 + 300_000,
);
