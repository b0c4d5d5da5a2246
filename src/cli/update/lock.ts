import type { FolderLock } from '../../ports/folder-lock.ts';
import type { ProcessInfo } from '../../ports/process-info.ts';
import { updateError } from './codes.ts';
import type { FileSight, UpdateFiles } from './files.ts';
import type { Place } from './place.ts';
import { notWritten } from './trouble.ts';

/** How far an update is; written beside it, for the next one that finds it there. */
export type UpdatePhase = 'staging' | 'swapped';

/** What an update puts in place. */
export interface Installing {
  readonly version: string;
  /** It is a rollback: what was there before comes back. */
  readonly back: boolean;
}

interface UpdateOwner extends Installing {
  readonly pid: number;
  readonly startTime?: string | undefined;
  readonly bootId?: string | undefined;
  readonly phase: UpdatePhase;
}

/** One update of an executable at a time. */
export interface UpdateLock {
  /** An earlier update that was killed after its swap: nobody has seen its version become ready. */
  readonly unwatched: Installing | undefined;
  /** @param what is put in place, where it was not known before. */
  mark(phase: UpdatePhase, what?: Installing): Promise<void>;
  /** Removes what is left of this update, and the lock. Never rejects. */
  release(): Promise<void>;
}

export interface LockPorts {
  readonly files: UpdateFiles;
  readonly folderLock: Pick<FolderLock, 'door'>;
  readonly processInfo: ProcessInfo;
}

/**
 * Makes the staging folder ours and sweeps it. A holder is judged behind a door, by its pid, start time and boot: one that
 * was killed holds nothing. Throws `UPDATE_RUNNING`, or why the folder cannot be used.
 */
export async function lockUpdate(
  ports: LockPorts,
  place: Place,
  what: Installing,
): Promise<UpdateLock> {
  const { files, folderLock, processInfo } = ports;
  const { pid, startTime, bootId } = processInfo.self;
  const write = (phase: UpdatePhase, { version, back } = what) => {
    const owner: UpdateOwner = { pid, startTime, bootId, phase, version, back };
    return writeOver(files, place, JSON.stringify(owner));
  };
  // Before this is known, what lies there may be another's.
  let ours = false;
  const enter = () =>
    folderLock.door(place.staging, async () => {
      const before = ownerIn(await files.read(place.owner));
      if (before && (await isAlive(before, processInfo)))
        throw updateError(
          'UPDATE_RUNNING',
          `Another update of ${place.exe} is running (process ${before.pid}, to version ${before.version}).`,
        );
      ours = true;
      // It was on its way to become the previous one's heir, or to come back. Before a swap the previous one is a second
      // name of the one in place: then nothing is lost with it.
      const [older, previous, exe, fresh] = await Promise.all(
        [place.older, place.previous, place.exe, place.fresh].map((file) => files.look(file)),
      );
      // Where there are no second names it is a copy; but what has not been renamed was not swapped.
      const twin = fresh !== undefined || previous?.identity === exe?.identity;
      if (older && (!previous || twin)) await files.rename(place.older, place.previous);
      for (const name of await files.list(place.staging)) {
        // The door itself is there while we are behind it.
        if (!name.startsWith('owner.')) await files.remove(`${place.staging}/${name}`);
      }
      const unwatched = before?.phase === 'swapped' ? before : undefined;
      // It stays so until somebody has seen it ready: this one may be killed too.
      await write(unwatched ? 'swapped' : 'staging', unwatched);
      return unwatched;
    });
  try {
    const unwatched = await inFolder(files, place, enter);
    return { unwatched, mark: write, release: () => clear(files, place, true) };
  } catch (error) {
    await clear(files, place, ours);
    throw notWritten(error, place);
  }
}

/** @param ours whether the files in it are; an empty folder always goes. */
async function clear(files: UpdateFiles, place: Place, ours: boolean): Promise<void> {
  const none = () => {};
  const { fresh, keep, back, older, owner, ownerNext } = place;
  for (const file of ours ? [fresh, keep, back, older, ownerNext, owner] : [])
    await files.remove(file).catch(none);
  await files.removeFolder(place.staging).catch(none);
  await files.syncFolder(place.folder).catch(none);
}

/** An update that ends at this moment takes the folder away with it: then it is made again. */
async function inFolder<T>(files: UpdateFiles, place: Place, enter: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      await files.makeFolder(place.staging);
      const seen = await files.look(place.staging);
      if (seen) isOurs(seen, place);
      return await enter();
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT' && tries < TRIES) continue;
      throw error;
    }
  }
}

const TRIES = 5;

function isOurs({ kind, uid, mode }: FileSight, { staging }: Place): void {
  const self = process.geteuid?.();
  const open = process.platform !== 'win32' && (mode & 0o022) !== 0;
  if (kind === 'folder' && (self === undefined || uid === self) && !open) return;
  throw updateError(
    'UPDATE_NOT_WRITTEN',
    `${staging} is in the way: ${kind === 'folder' ? 'it belongs to, or is open to, another user' : 'it is no folder'}.`,
    { hint: 'Look at it, remove it, and run the update again.' },
  );
}

/** It holds no secret and may be torn by a power cut: then nobody is believed to be there. */
async function writeOver(files: UpdateFiles, place: Place, text: string): Promise<void> {
  await files.remove(place.ownerNext);
  await files.write(place.ownerNext, once(text));
  await files.rename(place.ownerNext, place.owner);
}

async function* once(text: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(text);
}

function ownerIn(text: string | undefined): UpdateOwner | undefined {
  try {
    const read = JSON.parse(text ?? '') as Partial<UpdateOwner> | null;
    if (typeof read?.pid !== 'number' || typeof read.version !== 'string') return undefined;
    const phase = read.phase === 'swapped' ? 'swapped' : 'staging';
    return { ...read, phase, back: read.back === true } as UpdateOwner;
  } catch {
    return undefined;
  }
}

async function isAlive(owner: UpdateOwner, { self, look }: ProcessInfo): Promise<boolean> {
  if (owner.bootId !== undefined && self.bootId !== undefined && owner.bootId !== self.bootId)
    return false;
  if (owner.pid === self.pid) return owner.startTime === self.startTime;
  const sight = await look(owner.pid);
  if (!sight.alive) return false;
  if (owner.startTime === undefined || sight.startTime === undefined) return true;
  return owner.startTime === sight.startTime;
}
