import { randomBytes } from 'node:crypto';
import {
  type BigIntStats,
  close,
  constants,
  fstatSync,
  futimes,
  open,
  rmSync,
  stat,
  statSync,
} from 'node:fs';
import { link, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import onExit from 'signal-exit';
import type { Clock, Timer } from '../ports/clock.ts';
import type { FolderLock, HeldLock, LockSight } from '../ports/folder-lock.ts';
import { quietClock } from './quiet-clock.ts';

/**
 * The lock of a folder: `owner.lock` in it, an empty file that only one can make (also on a full disk), its time of change renewed
 * while it is held. It knows no pids, and its age says nothing: whoever is stopped looks dead, and two that break an old
 * one at the same time could both get it. So breaking is left to the caller, who judges behind a door: a second
 * lock of the same kind.
 *
 * @param timers for the signs of life [some that do not keep the process alive].
 */
export function systemFolderLock(timers: Pick<Clock, 'timer'> = quietClock()): FolderLock {
  return {
    take: (folder, onLost) =>
      take(join(folder, 'owner.lock'), { timers, everyMs: LIFE_SIGN_MS, onLost }),
    look: (folder) => look(join(folder, 'owner.lock')),
    breakOpen: (folder, stamp) => breakJudged(join(folder, 'owner.lock'), stamp),
    async door(folder, work) {
      const door = join(folder, 'owner.door');
      const held = await enter(door, () =>
        take(door, { timers, everyMs: DOOR_SIGN_MS, onLost: () => {} }),
      );
      try {
        return await work(() => held.stillOurs());
      } finally {
        await held.release();
      }
    },
  };
}

interface Holding {
  readonly timers: Pick<Clock, 'timer'>;
  readonly everyMs: number;
  readonly onLost: (why: string) => void;
}

/** `undefined` if something lies there: also the folder that earlier versions made. */
async function take(path: string, how: Holding): Promise<HeldFile | undefined> {
  try {
    const fd = await opened(path, MADE_HERE, 0o600);
    return new HeldFile(path, fd, fstatSync(fd, BIG), how);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return undefined;
    throw error;
  }
}

/**
 * It stays open while it is held: no other file of its file system can have its number meanwhile, so what lies at the path
 * is ours or it is not, whatever its time says. A hand that gives it another time takes nothing away. Another file system
 * over the folder gives out the same numbers: its own is compared too.
 */
class HeldFile implements HeldLock {
  readonly #path: string;
  readonly #fd: number;
  readonly #file: FileId;
  readonly #how: Holding;
  #timer: Timer | undefined;
  /** A sign of life that is under way. Once the file is closed, its descriptor may be another one's. */
  #sign: Promise<void> = Promise.resolve();
  #over: Promise<void> | undefined;

  constructor(path: string, fd: number, file: FileId, how: Holding) {
    this.#path = path;
    this.#fd = fd;
    this.#file = { dev: file.dev, ino: file.ino };
    this.#how = how;
    heldFiles.add(this);
    if (!leavesAtExit) onExit(() => heldFiles.forEach((held) => void held.leave()));
    leavesAtExit = true;
    this.#later(how.everyMs);
  }

  release(): Promise<void> {
    this.#over ??= this.#release();
    return this.#over;
  }

  /** Asked of the disk: whoever stood still has not noticed yet. */
  async stillOurs(): Promise<boolean> {
    if (this.#over) return false;
    try {
      return same(await seen(this.#path, BIG), this.#file);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
      throw error;
    }
  }

  /** At the end of the process, whatever ends it. */
  leave(): void {
    try {
      if (same(statSync(this.#path, BIG), this.#file)) rmSync(this.#path);
    } catch {
      // Gone already, or out of reach.
    }
  }

  #later(ms: number): void {
    this.#timer = this.#how.timers.timer(
      ms,
      () => {
        this.#sign = this.#showLife();
      },
      'patient',
    );
  }

  /** Touched is the file that is open, looked at the one at the path: both at once, which wakes the process less often. */
  async #showLife(): Promise<void> {
    const now = Date.now() / 1_000;
    const touched = touch(this.#fd, now, now).then(
      () => undefined,
      (error: NodeJS.ErrnoException) => error,
    );
    let lost: string | undefined;
    let looked = true;
    try {
      const there = await seen(this.#path, BIG);
      if (!same(there, this.#file)) lost = `another file lies at ${this.#path}`;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') lost = (error as Error).message;
      looked = false;
    }
    const untouched = await touched;
    const well = untouched === undefined && looked;
    if (this.#over) return;
    if (untouched && FORGOTTEN.has(untouched.code)) lost ??= untouched.message;
    if (lost === undefined) return this.#later(well ? this.#how.everyMs : AGAIN_MS);
    this.#over = this.#close();
    this.#how.onLost(lost);
  }

  async #release(): Promise<void> {
    this.#timer?.cancel();
    await this.#sign;
    // Gone already, or taken away: then it is not ours to remove.
    const there = await seen(this.#path, BIG).catch(() => undefined);
    if (there && same(there, this.#file)) await remove(this.#path).catch(() => {});
    await this.#close();
  }

  async #close(): Promise<void> {
    heldFiles.delete(this);
    await closed(this.#fd).catch(() => {});
  }
}

type FileId = Pick<BigIntStats, 'dev' | 'ino'>;

/** On Windows nothing is mounted over a folder in use, and Node.js tells the volume differently by path and by descriptor. */
function same(one: FileId, other: FileId): boolean {
  return one.ino === other.ino && (one.dev === other.dev || process.platform === 'win32');
}

/** The file is open no more, as after an NFS server forgot it: its number may be another's, and no sign of life arrives. */
const FORGOTTEN: ReadonlySet<string | undefined> = new Set(['ESTALE', 'EBADF']);

/**
 * Made by this call or not at all, and never written: a file that is open for writing keeps its disk from being made read-only.
 * Windows sets the time of no file that was opened to be read.
 */
const MADE_HERE =
  process.platform === 'win32' ? 'wx' : constants.O_RDONLY | constants.O_CREAT | constants.O_EXCL;

const heldFiles = new Set<HeldFile>();
let leavesAtExit = false;

const opened = promisify(open);
const closed = promisify(close);
const touch = promisify(futimes);
const seen = promisify(stat) as (path: string, how: typeof BIG) => Promise<BigIntStats>;
const BIG = { bigint: true } as const;

async function look(path: string): Promise<LockSight | undefined> {
  try {
    const { ino, mtimeMs, mtimeNs } = await seen(path, BIG);
    return { stamp: `${ino}:${mtimeNs}`, touchedAtMs: Number(mtimeMs) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function remove(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true });
}

/**
 * Whoever judged may have stood still since: what lies there is looked at again. It is moved aside and looked at once more,
 * since between a look and a removal another may have come; that one's is put back. Where it is missed meanwhile, or cannot
 * be put back, its holder takes it again at its next sign of life.
 */
async function breakJudged(path: string, stamp: string | undefined): Promise<boolean> {
  if (stamp === undefined) {
    await remove(path);
    return true;
  }
  if ((await look(path))?.stamp !== stamp) return false;
  const aside = `${path}.${randomBytes(8).toString('hex')}.old`;
  try {
    await rename(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    // A full disk may have no room for another name. Whoever comes within these microseconds loses a fresh lock.
    await remove(path);
    return true;
  }
  const judged = (await look(aside))?.stamp === stamp;
  // Not by a rename: that would replace the lock of one who has come in between.
  if (!judged) await link(aside, path).catch(() => {});
  await remove(aside);
  return judged;
}

/** Waits for the door. Its holder needs milliseconds; one that was killed behind it holds it no longer than this. */
async function enter(path: string, take: () => Promise<HeldFile | undefined>): Promise<HeldFile> {
  let seen = await look(path);
  let sinceMs = process.hrtime.bigint();
  for (;;) {
    const held = await take();
    if (held) return held;
    const now = await look(path);
    if (now?.stamp !== seen?.stamp) {
      seen = now;
      sinceMs = process.hrtime.bigint();
    } else if (now && Number(process.hrtime.bigint() - sinceMs) / 1e6 > DOOR_STALE_MS) {
      // Of many who wait this long one breaks it; the others would break the door that this one has by now.
      await breakJudged(path, now.stamp);
    }
    await wait(DOOR_WAIT_MS);
  }
}

/** Three of these unseen and a holder of another host counts as gone (`spoolDefaults.lockSilenceMs`). */
const LIFE_SIGN_MS = 5_000;
/** A sign of life that the disk refused. */
const AGAIN_MS = 1_000;
/** Five of these unseen and the door is broken open. */
const DOOR_SIGN_MS = 1_000;
const DOOR_STALE_MS = 5_000;
const DOOR_WAIT_MS = 20;
