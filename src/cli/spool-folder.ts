import { closeSync, constants, existsSync, openSync, readSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { TaskError } from '../contract/index.ts';
import { isOwnerHead, OWNER_HEAD_BYTES } from '../spool/layout.ts';
import type { Call } from './command.ts';

/** Where the spool of a worker lies. Without `--spool` in the state folder: two workers of one machine share none. */
export function spoolFolderOf({
  io,
  settings,
  sources,
}: Pick<Call, 'io' | 'sources'> & {
  readonly settings: { readonly spool: string | undefined; readonly workerId: string };
}): string {
  if (settings.spool !== undefined) return resolve(io.cwd, settings.spool);
  const { stateFolder } = sources.around;
  if (stateFolder !== undefined) return join(stateFolder, 'spool', settings.workerId);
  throw new TaskError(
    'SETTING_INVALID',
    'There is no folder for the spool: this user has no home.',
    { hint: 'Name one with --spool.' },
  );
}

/** A worker has used it. One whose owner record is lost is known by all of its folders: others have reports too. */
export function isSpool(folder: string): boolean {
  const has = (name: string) => existsSync(join(folder, name));
  return FOLDERS.every(has) || hasOwner(join(folder, 'owner.json'));
}

/** Anybody may have a file of that name. One that cannot be read is taken for ours: what reads the spool says why it cannot. */
function hasOwner(file: string): boolean {
  let fd: number | undefined;
  try {
    fd = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const head = Buffer.alloc(OWNER_HEAD_BYTES);
    return isOwnerHead(head.subarray(0, readSync(fd, head)));
  } catch {
    return existsSync(file);
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** What an opened spool always has. */
const FOLDERS = ['reports', 'running', 'stale', 'refused', 'corrupt'];

/** The spool that `interlock dev` keeps beside its profile, here or above, as it can be typed; `undefined` where there is none. */
export function devSpool(cwd: string): string | undefined {
  for (let folder = cwd; ; folder = dirname(folder)) {
    const spool = join(folder, '.interlock', 'spool');
    if (isSpool(spool)) return relative(cwd, spool);
    if (dirname(folder) === folder) return undefined;
  }
}
