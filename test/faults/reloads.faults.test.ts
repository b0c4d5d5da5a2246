/** A worker whose handlers are replaced again and again, while it works. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { lib, reload, Volume, versioned } from '../e2e/handlers-folder.ts';
import { childrenOf, until } from '../e2e/processes.ts';
import { World } from '../e2e/world.ts';
import { chance } from './chance.ts';
import { harmful } from './machine.ts';
import { rounds } from './rounds.ts';

const RELOADS = rounds(200, 1_000);
/** After so many everything that is made once has been made. */
const WARM = 60;

/** One that rested may be gone by itself, since its code was replaced. */
function killed(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It was.
  }
}

harmful(
  `reloads ${RELOADS} times: new tasks run new code, broken files never do, and nothing is left over (F38)`,
  async () => {
    const dice = chance();
    console.log(`reloads: again with FAULTS_SEED=${dice.seed}`);
    await using world = new World();
    await world.controlPlane('task-producer', 'task-worker');
    const volume = new Volume(world.path('handlers'));
    const files = (version: number) => ({
      'test/v@1.mjs': versioned(version),
      'test/lib.mjs': lib(version),
    });
    volume.swap(files(0));
    const worker = await world.worker({ handlers: volume.folder, max: 3 });
    const memory = () =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${worker.pid}/status`, 'utf8'))?.[1]) /
      1_024;
    const submit = () => world.producer.submit('test/v', 1, {});
    let good = 0;
    let broken = 0;
    let warm = 0;
    const tasks: { readonly id: string; readonly least: number }[] = [];
    for (let version = 1; version <= RELOADS; version++) {
      const whole = dice.below(4) !== 0;
      const text = versioned(version);
      volume.swap(
        whole
          ? files(version)
          : { ...files(version), 'test/v@1.mjs': text.slice(0, 20 + dice.below(text.length - 60)) },
      );
      // One that is on its way while it is reloaded may be of the code before.
      const early = dice.below(2) === 0 ? await submit() : undefined;
      const said = await reload(worker);
      if (early) tasks.push({ id: early.id, least: good });
      if (whole) {
        expect(said).toMatchObject({ event: 'reload.done', changed: ['test/v@1'] });
        good = version;
      } else {
        expect(said).toMatchObject({ event: 'reload.done', kept: ['test/v@1'] });
        broken++;
      }
      if (dice.below(5) === 0) for (const pid of childrenOf(worker.pid)) killed(pid);
      if (version % 4 === 0) {
        const { result } = await world.producer.await(await submit());
        expect(result).toMatchObject({ version: good, own: good });
      }
      if (version === WARM) warm = memory();
    }
    for (const { id, least } of tasks) {
      const { result } = await world.producer.await(id);
      const { version, own } = result as { version: number; own: number };
      expect(own).toBe(version);
      expect(version).toBeGreaterThanOrEqual(least);
    }
    const grown = memory() - warm;
    console.log(
      `reloads: ${broken} of a broken file; from the ${WARM}th on the agent grew by ${grown.toFixed(1)} MB to ${memory().toFixed(1)} MB`,
    );
    expect(grown).toBeLessThan(25);
    const code = join(world.spool(), 'code');
    const [session = ''] = readdirSync(code);
    await until(() => readdirSync(join(code, session)).length === 1, 'end of the older code');
    await until(() => childrenOf(worker.pid).length <= 3, 'end of old hosts and probes');
    worker.kill('SIGTERM');
    expect(await worker.ending()).toMatchObject({ code: 0 });
    expect(readdirSync(code)).toEqual([]);
  },
  600_000,
);
