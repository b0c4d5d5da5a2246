import type { UpdateFiles } from './files.ts';
import type { Place } from './place.ts';

/**
 * The steps that touch the executable. Every one leaves a whole executable at its path, whatever comes after it: a kill
 * or a power cut between any two leaves the old or the new one.
 *
 * 1. The new file is on the disk, checked and tried (`stage.ts`).
 * 2. The previous file goes aside; the old one gets a second name, which is renamed to `previous`. Folder fsync.
 * 3. The new file is renamed over the old name: one step of the file system. Folder fsync.
 *
 * Where a step is refused, all is put back before its error is thrown.
 */
export async function swapIn(
  files: UpdateFiles,
  place: Place,
  platform = process.platform,
): Promise<void> {
  try {
    if (await files.look(place.previous)) await files.rename(place.previous, place.older);
    if (platform === 'win32') return await danceIn(files, place);
    await twinTo(files, place, place.exe, place.keep, place.previous);
    await files.rename(place.fresh, place.exe);
  } catch (error) {
    await restorePrevious(files, place).catch(() => {});
    throw error;
  }
  await files.syncFolder(place.folder);
}

/** Puts the previous one back over what is there, and what was the previous one before that in its place. */
export async function swapBack(
  files: UpdateFiles,
  place: Place,
  platform = process.platform,
): Promise<void> {
  if (platform === 'win32') {
    // What runs cannot be overwritten: it goes aside, into the folder that is swept.
    await files.remove(place.back);
    await files.twin(place.previous, place.back);
    await files.remove(place.keep);
    await files.rename(place.exe, place.keep);
    await files.rename(place.back, place.exe);
  } else await twinTo(files, place, place.previous, place.back, place.exe);
  await restorePrevious(files, place);
}

/** As it was before the update; none where there was none. */
async function restorePrevious(files: UpdateFiles, place: Place): Promise<void> {
  if (await files.look(place.older)) await files.rename(place.older, place.previous);
  else await removeTwin(files, place);
  await files.syncFolder(place.folder);
}

/** `previous`, where it is only a second name of what is in place. */
async function removeTwin(files: UpdateFiles, place: Place): Promise<void> {
  const [exe, previous] = [await files.look(place.exe), await files.look(place.previous)];
  if (exe && exe.identity === previous?.identity) await files.remove(place.previous);
}

/** Exchanges the two: what is in place becomes the previous one. Undone by itself. */
export async function exchange(
  files: UpdateFiles,
  place: Place,
  platform = process.platform,
): Promise<void> {
  await files.remove(place.fresh);
  await files.twin(place.previous, place.fresh);
  await swapIn(files, place, platform);
}

/** `to` becomes another name of `from`, in one step; what `to` was is gone then. */
async function twinTo(
  files: UpdateFiles,
  place: Place,
  from: string,
  by: string,
  to: string,
): Promise<void> {
  await files.remove(by);
  await files.twin(from, by);
  // Durable before the name is given: a copy's bytes are already.
  await files.rename(by, to);
  // Two names of one file: the rename did nothing.
  await files.remove(by);
  await files.syncFolder(place.folder);
}

/**
 * Windows lets a running program's file be renamed, not replaced: there is a moment without a file at the path. If the
 * second rename fails, the first is taken back.
 */
async function danceIn(files: UpdateFiles, place: Place): Promise<void> {
  await files.rename(place.exe, place.previous);
  try {
    await files.rename(place.fresh, place.exe);
  } catch (error) {
    await files.rename(place.previous, place.exe);
    throw error;
  }
}
