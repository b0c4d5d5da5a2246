import type { Clock } from '../src/ports/clock.ts';
import type { FolderLock, HeldLock, LockSight, StillOurs } from '../src/ports/folder-lock.ts';

/** Locks that several simulated processes see. Each process mounts them. */
export class SimulatedLocks {
  readonly clock: Clock;
  readonly held = new Map<string, Held>();
  readonly doors = new Map<string, Promise<unknown>>();
  #takes = 0;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  mount(): SimulatedFolderLock {
    return new SimulatedFolderLock(this);
  }

  nextId(): number {
    return ++this.#takes;
  }
}

interface Held {
  readonly id: number;
  readonly by: SimulatedFolderLock;
  readonly onLost: (why: string) => void;
}

/** The locks as one process has them. */
export class SimulatedFolderLock implements FolderLock {
  readonly #all: SimulatedLocks;
  /** When its signs of life stopped. */
  #silentSinceMs: number | undefined;
  readonly #silent = Promise.withResolvers<void>();

  constructor(all: SimulatedLocks) {
    this.#all = all;
  }

  /** The process was killed or stopped: its locks stay, without signs of life. */
  fallSilent(): void {
    this.#silentSinceMs ??= this.#all.clock.now();
    this.#silent.resolve();
  }

  async take(folder: string, onLost: (why: string) => void): Promise<HeldLock | undefined> {
    if (this.#all.held.has(folder)) return undefined;
    const held: Held = { id: this.#all.nextId(), by: this, onLost };
    this.#all.held.set(folder, held);
    return {
      release: async () => {
        if (this.#all.held.get(folder) === held) this.#all.held.delete(folder);
      },
    };
  }

  async look(folder: string): Promise<LockSight | undefined> {
    const held = this.#all.held.get(folder);
    if (!held) return undefined;
    const { clock } = this.#all;
    const lifeMs = held.by.#silentSinceMs ?? clock.now();
    const agoMs = clock.now() - lifeMs;
    return {
      stamp: `${held.id}:${Math.floor(lifeMs / LIFE_SIGN_MS)}`,
      touchedAtMs: clock.wall() - agoMs,
    };
  }

  async breakOpen(folder: string, stamp?: string): Promise<boolean> {
    const held = this.#all.held.get(folder);
    if (stamp !== undefined && (await this.look(folder))?.stamp !== stamp) return false;
    this.#all.held.delete(folder);
    // A real holder notices at its next sign of life; one that is silent never does.
    if (held && held.by.#silentSinceMs === undefined)
      this.#all.clock.timer(LIFE_SIGN_MS, () => held.onLost('the lock was taken away'));
    return true;
  }

  async door<T>(folder: string, work: (stillOurs: StillOurs) => Promise<T>): Promise<T> {
    const { clock, doors } = this.#all;
    const before = doors.get(folder) ?? Promise.resolve();
    let open = false;
    const mine = before.then(() => work(async () => !open));
    // Of a process that was killed behind it, the door opens after a while.
    const opens = this.#silent.promise
      .then(() => clock.sleep(DOOR_STALE_MS))
      .then(() => {
        open = true;
      });
    const done = mine.then(
      () => {},
      () => {},
    );
    doors.set(folder, Promise.race([done, opens]));
    return mine;
  }
}

const LIFE_SIGN_MS = 5_000;
const DOOR_STALE_MS = 5_000;
