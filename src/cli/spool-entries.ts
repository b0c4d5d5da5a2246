import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { TaskError } from '../contract/index.ts';
import { entryStates, readEntries, type SpoolEntry, spoolFlag } from '../spool/index.ts';
import { systemDisk } from '../system/disk.ts';
import { systemFolderLock } from '../system/folder-lock.ts';
import { systemProcessInfo } from '../system/process-info.ts';
import type { Call } from './command.ts';
import { devSpool, isSpool, spoolFolderOf } from './spool-folder.ts';
import { didYouMean } from './suggest.ts';
import { usageError } from './usage.ts';

/** What the commands of `interlock spool` share: which folder, what lies there, and which of it is meant. */
export const spoolSettings = ['spool', 'workerId'] as const;

export type SpoolCall = Parameters<typeof spoolFolderOf>[0] & Pick<Call, 'io'>;

/** The ports of the real world, for the spool that a call names. */
export async function spoolPorts(call: SpoolCall) {
  return {
    disk: systemDisk(),
    clock: call.io.clock,
    random: call.io.random,
    lock: systemFolderLock(),
    processInfo: await systemProcessInfo(),
    folder: spoolFolderOf(call),
    cwd: call.io.cwd,
  };
}

/**
 * All that lies in it. Throws `NOT_FOUND` where no worker has used it, and what `readEntries` tells.
 * @param only `look`: nothing will be changed, so root may see the spool of another user, such as that of a service.
 */
export async function entriesOf(ports: Awaited<ReturnType<typeof spoolPorts>>, only?: 'look') {
  const { cwd, folder } = ports;
  if (!isSpool(folder)) {
    const what = existsSync(folder) ? 'is no spool: no worker has used it' : 'does not exist';
    const near = devSpool(cwd);
    throw new TaskError('NOT_FOUND', `The spool folder ${folder} ${what}.`, {
      hint:
        near === undefined
          ? 'Name the folder of the worker with --spool, or the worker with --worker-id.'
          : `The worker of npm start (interlock dev) has its own: interlock spool list${spoolFlag(near)}; that of another is named with --spool or --worker-id.`,
    });
  }
  const ofAnother = only === 'look' && process.getuid?.() === 0;
  const read = await readEntries({ ...ports, ofAnother });
  if (!read.ok) throw read.error;
  return read;
}

/** How an entry is named in lists: by its attempt, else by its file. */
export function entryId({ attemptId, file, line }: SpoolEntry): string {
  return attemptId ?? (line === undefined ? basename(file) : `${file}:${line}`);
}

/**
 * The entries that a person means: by attempt, task, file (with or without its folder and ending), or the beginning of one
 * of them where that is clear. Throws `NOT_FOUND`, or `USAGE` for a beginning of several.
 * @param command for the words of an error: `spool show`.
 */
export function entriesMeant(
  entries: readonly SpoolEntry[],
  wanted: string,
  folder: string,
  command: string,
): SpoolEntry[] {
  const named = entries.map((entry) => ({ entry, names: namesOf(entry, folder) }));
  const exact = named.filter(({ names }) => names.includes(wanted));
  if (exact.length > 0) return exact.map(({ entry }) => entry);
  const begun = named.flatMap(({ entry, names }) => {
    const name =
      wanted.length < BEGINNING_CHARS ? undefined : names.find((n) => n.startsWith(wanted));
    return name === undefined ? [] : [{ entry, name }];
  });
  const several = [...new Set(begun.map(({ name }) => name))];
  if (several.length === 1) return begun.map(({ entry }) => entry);
  if (several.length > 1)
    throw usageError(
      `"${wanted}" is the beginning of ${several.length} names: ${several.slice(0, 3).join(', ')}${several.length > 3 ? ' …' : ''}.`,
      command,
      'Give more of it.',
    );
  throw new TaskError('NOT_FOUND', `Nothing in the spool ${folder} is named "${wanted}".`, {
    hint: `An answered report is removed. What lies there: interlock spool list${spoolFlag(folder)}`,
  });
}

function namesOf(entry: SpoolEntry, folder: string): string[] {
  const { taskId, attemptId, file } = entry;
  const base = basename(file);
  const files = [file, base, base.replace(/\.jsonl$/, ''), join(folder, file)];
  return [attemptId, taskId, entryId(entry), ...files].filter((name) => name !== undefined);
}

/** `--state`. Throws `USAGE`. */
export function statesGiven(
  given: readonly string[],
  command: string,
): (entry: SpoolEntry) => boolean {
  for (const state of given)
    if (!(entryStates as readonly string[]).includes(state))
      throw usageError(
        `--state "${state}" is none of ${entryStates.join(', ')}.${didYouMean(state, entryStates)}`,
        command,
      );
  return ({ state }) => given.length === 0 || given.includes(state);
}

/** A prefix shorter than this says nothing. */
const BEGINNING_CHARS = 6;
