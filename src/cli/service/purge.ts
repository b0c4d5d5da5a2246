import { spawnSync } from 'node:child_process';
import { lstatSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { TaskError } from '../../contract/index.ts';
import { isSpoolName } from '../../spool/index.ts';
import { isSessionName } from '../../spool/layout.ts';
import { plain } from '../style.ts';
import { safeWay, type Way } from './safe-way.ts';
import type { ServiceWorld } from './world.ts';

/**
 * Removes what a worker has written into its spool, and the folder where nothing else is in it. The folder belongs to the
 * service's user, who may make anything of it at any time, a link to somebody else's folder for instance: root removes as
 * that user, who can harm only what is his own. Returns what became of it, in words. Throws `SERVICE_OWES`.
 */
export function purgeSpool(spool: string, world: ServiceWorld): string {
  const folder = join(world.root, spool);
  const why =
    world.uid === 0 && process.getuid?.() === 0 ? removeAsOwner(folder) : removeHere(folder);
  if (why !== undefined) throw refusal(spool, plain(why));
  const left = namesIn(folder);
  if (left === undefined) return `Its spool ${spool} is removed too`;
  const some = plain(`${left.slice(0, 3).join(', ')}${left.length > 3 ? ', …' : ''}`);
  return `Its spool in ${spool} is removed too; ${left.length === 0 ? 'the empty folder' : `what else lies there (${some})`} stays`;
}

function removeAsOwner(folder: string): string | undefined {
  const way = safeWay(folder);
  if (typeof way === 'string') return way;
  const why = removeAs(way, namesIn(way.folder) ?? []);
  if (why !== undefined || !way.roots) return why;
  // Its owner may not take it out of a folder of root's; nobody but root can have made another thing of it.
  if (namesIn(way.folder)?.length === 0) rmdirSync(way.folder);
  return undefined;
}

/** By a shell of the owner, which begins in the folder and follows no link out of it. */
function removeAs({ folder, uid, gid }: Way, names: readonly string[]): string | undefined {
  const ours = oursOf(folder, names).slice(0, NAMES);
  const { status, stderr, error } = spawnSync(
    '/bin/sh',
    ['-c', REMOVE, 'sh', basename(folder), ...ours],
    {
      cwd: folder,
      uid,
      gid,
      env: { PATH: '/usr/bin:/bin' },
      encoding: 'utf8',
      timeout: BOUND_MS,
      killSignal: 'SIGKILL',
    },
  );
  if (status === 0) return undefined;
  return error?.message ?? (stderr.trim().split('\n').at(-1) || `rm ended with ${status}`);
}

/** The folder itself goes where its owner may do that, and where it is empty; by no path that others would have to open. */
const REMOVE =
  'here=$1; shift; rm -rf -- "$@" || exit 1; rmdir -- code 2>/dev/null; rmdir -- "../$here" 2>/dev/null; exit 0';
/** A worker makes some twenty; the rest are leftovers, and a command line has its end. */
const NAMES = 1_000;
/** For a spool of some gigabytes on a slow card. */
const BOUND_MS = 600_000;

function removeHere(folder: string): string | undefined {
  try {
    if (!lstatSync(folder).isDirectory()) return `${folder} is a link, or no folder`;
    for (const name of oursOf(folder, readdirSync(folder)))
      rmSync(join(folder, name), { recursive: true, force: true });
    if (namesIn(join(folder, CODE))?.length === 0) rmdirSync(join(folder, CODE));
    if (namesIn(folder)?.length === 0) rmdirSync(folder);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Of `code` only what a session has made there: somebody's project may have that name too. A link is taken away itself. */
function oursOf(folder: string, names: readonly string[]): string[] {
  return names.filter(isSpoolName).flatMap((name) => {
    const path = join(folder, name);
    if (name !== CODE || !lstatSync(path).isDirectory()) return [name];
    return (namesIn(path) ?? []).filter(isSessionName).map((session) => join(CODE, session));
  });
}

const CODE = 'code';

function namesIn(folder: string): string[] | undefined {
  try {
    return readdirSync(folder);
  } catch {
    return undefined;
  }
}

function refusal(spool: string, why: string): TaskError {
  return new TaskError('SERVICE_OWES', `The spool ${spool} is not removed: ${why}.`, {
    hint: 'The service is stopped and removed. Look at the folder, and remove it by hand.',
  });
}
