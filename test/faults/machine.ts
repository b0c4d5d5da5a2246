/** What these tests need of the machine, and the harm that they do to it: small disks, memory groups, few descriptors. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statfsSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { it } from 'vitest';
import type { World } from '../e2e/world.ts';

/** Why none of these tests can run here; `undefined` where they can. */
const lacking =
  process.platform !== 'linux'
    ? `real faults are made on Linux, this is ${process.platform}`
    : process.getuid?.() !== 0
      ? 'mounts, memory groups and limits of others need root'
      : undefined;
if (lacking) console.log(`Skipped: ${lacking}.`);

/** A test that harms the machine; skipped, with the reason in its output, where it cannot. */
export const harmful = it.skipIf(lacking !== undefined);

/** A disk of its own (tmpfs) for one folder of a world, which may be full or read-only. */
export class SmallDisk implements AsyncDisposable {
  readonly folder: string;
  readonly #world: World;
  #keeping: NodeJS.Timeout | undefined;
  /** The test runner itself may be ended. */
  readonly #onExit = () => this.#unmount();

  /** @param size as mount writes it: `2m` */
  constructor(world: World, folder: string, size: string) {
    this.folder = folder;
    this.#world = world;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=0700`, 'tmpfs', folder]);
    process.on('exit', this.#onExit);
  }

  get freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.folder);
    return bavail * bsize;
  }

  /** Somebody else takes all that is free, and again what becomes free, until `giveBack`. */
  fill(): void {
    this.#takeAll();
    this.#keeping ??= setInterval(() => this.#takeAll(), 5);
  }

  /** Somebody takes all but so much, once. */
  leave(bytes: number): void {
    writeFileSync(this.#filler, Buffer.alloc(Math.max(0, this.freeBytes - bytes)));
  }

  giveBack(): void {
    clearInterval(this.#keeping);
    this.#keeping = undefined;
    rmSync(this.#filler, { force: true });
  }

  /** Refused while somebody has a file open for writing: a spool does for a moment after each record. */
  readOnly(): void {
    for (let tries = 0; ; tries++) {
      const { status, stderr } = spawnSync('mount', ['-o', 'remount,ro', this.folder]);
      if (status === 0) return;
      if (tries === 50) throw new Error(`mount: ${stderr}`);
      spawnSync('sleep', ['0.1']);
    }
  }

  writable(): void {
    execFileSync('mount', ['-o', 'remount,rw', this.folder]);
  }

  get #filler(): string {
    return join(this.folder, '.somebody-else');
  }

  #takeAll(): void {
    const handle = openSync(this.#filler, 'a');
    try {
      for (let bytes = 65_536; bytes >= 1; ) {
        try {
          if (writeSync(handle, Buffer.alloc(bytes)) < bytes) bytes = Math.floor(bytes / 2);
        } catch {
          bytes = Math.floor(bytes / 2);
        }
      }
    } finally {
      closeSync(handle);
    }
  }

  /** Ends the processes of its world: nothing may hold it. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#keeping);
    try {
      await this.#world.processes.end();
    } finally {
      process.off('exit', this.#onExit);
      this.#unmount();
    }
  }

  #unmount(): void {
    execFileSync('umount', ['-l', this.folder]);
  }
}

/** A group of processes with a bound on their memory together (cgroup, version 1 or 2); the kernel kills in it. */
export class MemoryGroup implements Disposable {
  readonly #folder: string;
  /** Program and arguments that run another program in it. */
  readonly under: readonly string[];

  constructor(folder: string, bytes: number, version: 1 | 2) {
    this.#folder = folder;
    if (version === 1) writeFileSync(join(folder, 'memory.limit_in_bytes'), `${bytes}`);
    else {
      writeFileSync(join(folder, 'memory.max'), `${bytes}`);
      writeFileSync(join(folder, 'memory.swap.max'), '0', { flag: 'r+' });
    }
    const enter = `echo $$ > '${join(folder, 'cgroup.procs')}' && exec "$@"`;
    this.under = ['/bin/sh', '-c', enter, 'sh'];
  }

  /** `undefined` where this machine lets nobody make one. */
  static make(bytes: number): MemoryGroup | undefined {
    const root = '/sys/fs/cgroup';
    const versions = [
      [1, join(root, 'memory'), 'memory.limit_in_bytes'],
      [2, root, 'memory.max'],
    ] as const;
    for (const [version, parent, file] of versions) {
      if (!existsSync(join(parent, 'cgroup.procs'))) continue;
      let folder: string | undefined;
      try {
        folder = mkdtempSync(join(parent, 'interlock-test-'));
        if (existsSync(join(folder, file))) return new MemoryGroup(folder, bytes, version);
      } catch {
        // Read-only in most containers.
      }
      if (folder) rmdirSync(folder);
    }
    return undefined;
  }

  [Symbol.dispose](): void {
    rmdirSync(this.#folder);
  }
}

/** Changes how many files a running process may have open. */
export function limitFiles(pid: number, files: number): void {
  execFileSync('prlimit', ['--pid', `${pid}`, `--nofile=${files}:`]);
}

/**
 * Takes all descriptors that a running process could still open: what it closes it may open again. One that was open for a
 * moment only is free afterwards, so whoever waits for the trouble calls it again.
 */
export function takeDescriptors(pid: number): void {
  const used = new Set(readdirSync(`/proc/${pid}/fd`).map(Number));
  let free = 0;
  while (used.has(free)) free += 1;
  limitFiles(pid, free);
}

export function filesOpen(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** Memory of a process in MiB: now, and the most it ever had. */
export function memoryOf(pid: number): { readonly now: number; readonly peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const mib = (name: string) =>
    Math.round(Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1024);
  return { now: mib('VmRSS'), peak: mib('VmHWM') };
}
