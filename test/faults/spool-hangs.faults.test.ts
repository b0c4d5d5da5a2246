/** The disk of the spool answers nothing for a while (a snapshot freezes it, a server of files is away): leases go on. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, rmdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as passes } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { until } from '../e2e/processes.ts';
import { World } from '../e2e/world.ts';
import { HANDLERS, linesOf } from './ledger.ts';
import { missing } from './needs.ts';

const LEASE_MS = 6_000;
const policy = { leaseMs: LEASE_MS, lostGraceMs: 3_000 };

/** A file system of its own for a folder, which can be frozen. */
class FreezableDisk implements AsyncDisposable {
  readonly #world: World;
  readonly #folder: string;
  /** The test runner itself may be ended. */
  readonly #onExit = () => this.#unmount();

  constructor(world: World, folder: string) {
    this.#world = world;
    this.#folder = folder;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const image = join(world.folder, 'disk.img');
    writeFileSync(image, '');
    truncateSync(image, 64 * 1024 * 1024);
    execFileSync('mkfs.ext4', ['-q', image]);
    execFileSync('mount', ['-o', 'loop', image, folder]);
    process.on('exit', this.#onExit);
    execFileSync('chmod', ['700', folder]);
    rmdirSync(join(folder, 'lost+found'));
  }

  freeze(): void {
    execFileSync('fsfreeze', ['-f', this.#folder]);
  }

  thaw(): void {
    execFileSync('fsfreeze', ['-u', this.#folder]);
  }

  /** Ends the processes of its world: nothing may hold it. */
  async [Symbol.asyncDispose](): Promise<void> {
    // Whoever waits for it cannot be ended before.
    spawnSync('fsfreeze', ['-u', this.#folder]);
    try {
      await this.#world.processes.end();
    } finally {
      process.off('exit', this.#onExit);
      this.#unmount();
    }
  }

  #unmount(): void {
    spawnSync('fsfreeze', ['-u', this.#folder]);
    spawnSync('umount', ['-l', this.#folder]);
  }
}

it.skipIf(missing('root', 'mkfs.ext4', 'fsfreeze', '/dev/loop-control'))(
  'a spool whose disk hangs for longer than a lease costs none',
  async () => {
    await using world = new World();
    await using disk = new FreezableDisk(world, world.spool());
    await world.controlPlane('task-producer', 'task-worker', 'task-operator');
    await world.worker({ max: 6, handlers: HANDLERS });
    const ask = async (kind: string, file: string, beforeMs: number) => {
      const input = { file: world.path(file), beforeMs };
      return (await world.producer.submit(`test/${kind}`, 1, input, { policy })).id;
    };
    const ended = (id: string) => world.producer.await(id, { timeoutMs: 90_000 });
    const long = [
      await ask('again', 'again', 6 * LEASE_MS),
      await ask('once', 'once', 6 * LEASE_MS),
    ];
    await until(
      () => linesOf(world, 'again').length > 0 && linesOf(world, 'once').length > 0,
      'handlers',
    );

    // Short ones keep the files of the spool open: one of them is being written when the disk stops.
    let over = false;
    let short = 0;
    const lane = async () => {
      while (!over) {
        await ended(await ask('again', `short-${short}`, 0));
        short += 1;
      }
    };
    const lanes = [lane(), lane()];
    await until(() => short > 20, 'short tasks');
    disk.freeze();
    // Nothing tells that a lease was not lost.
    await passes(3 * LEASE_MS);
    disk.thaw();
    over = true;
    await Promise.all(lanes);

    for (const id of long)
      expect(await ended(id)).toMatchObject({ status: 'succeeded', attempts: 1 });
    const last = await ended(await ask('again', 'last', 0));
    expect(last).toMatchObject({ status: 'succeeded', attempts: 1 });
  },
  180_000,
);
