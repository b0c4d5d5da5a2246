import { basename, join } from 'node:path';
import type { TaskError } from '../contract/index.ts';
import { DurableFolder } from './durable-folder.ts';
import { causeCode, remedyOf, spoolError } from './errors.ts';
import { groupSize } from './group-writer.ts';
import { groupName, groupSeq, type Layout, sessionTag } from './layout.ts';
import { readSpool } from './read-spool.ts';
import { encodeLine, type Line } from './records.ts';
import { type HoldPorts, type Visit, whileHeld } from './set-aside-hold.ts';
import { readAside } from './set-aside-open.ts';
import type { SpoolEntry } from './set-aside-read.ts';

export interface PutBack {
  readonly entry: SpoolEntry;
  /** Where it lies now, within the spool. */
  readonly file: string;
}

export interface PutBackResult {
  readonly done: readonly PutBack[];
  /** Left where they were, with the reason in words. */
  readonly left: readonly { readonly entry: SpoolEntry; readonly why: string }[];
  /** What stopped it on the way: what was not reached is among `left`. */
  readonly error?: TaskError;
}

/**
 * Puts reports that were set aside back among those that are owed: the next start of the worker sends them. Each is durable
 * in `reports` before it goes from its folder, so a crash at any moment leaves it in one of the two, or in both, where
 * the set-aside counts. Refused while a worker has the spool.
 *
 * @param entries of `stale` and `refused`, one for an attempt: of two the later one would take the other's place.
 */
export async function putBack(ports: HoldPorts, entries: readonly SpoolEntry[]) {
  return whileHeld(ports, 'interlock spool retry', (visit) => putAllBack(ports, visit, entries));
}

async function putAllBack(
  { disk, folder }: HoldPorts,
  { layout, sessionId, lost }: Visit,
  entries: readonly SpoolEntry[],
): Promise<PutBackResult> {
  const done: PutBack[] = [];
  const left: { entry: SpoolEntry; why: string }[] = [];
  const reports = new DurableFolder(disk, layout.reports);
  let seq: number | undefined;
  let waiting: { entry: SpoolEntry; line: Line }[] = [];

  const write = async () => {
    if (waiting.length === 0) return;
    const group = waiting;
    waiting = [];
    seq ??= lastSeq(await readSpool(disk, layout));
    const name = groupName(++seq, sessionTag(sessionId));
    await reports.write(name, group.map(({ line }) => line.text).join(''));
    const why = lost();
    if (why !== undefined)
      throw spoolError('SPOOL_LOST', `The spool ${folder} was taken away meanwhile (${why}).`);
    for (const { entry } of group) {
      await disk.remove(join(folder, entry.file));
      done.push({ entry, file: `reports/${name}` });
    }
    // Else a power cut brings a set-aside back, and that counts.
    for (const state of new Set(group.map(({ entry }) => entry.state)))
      await disk.syncFolder(join(folder, state));
  };

  try {
    for (const entry of entries) {
      const line = await lineOf(disk, folder, entry);
      if (typeof line === 'string') {
        left.push({ entry, why: line });
        continue;
      }
      const sizes = [...waiting.map((one) => one.line.bytes), line.bytes];
      if (groupSize(sizes) < sizes.length) await write();
      waiting.push({ entry, line });
    }
    await write();
  } catch (cause) {
    const known = new Set([...done, ...left].map(({ entry }) => entry));
    for (const entry of entries)
      if (!known.has(entry)) left.push({ entry, why: 'it could not be put back' });
    return { done, left, error: failure(layout, cause) };
  }
  return { done, left };
}

/** Its record as a line of `reports`, or why there is none. */
async function lineOf(
  disk: HoldPorts['disk'],
  folder: string,
  { file }: SpoolEntry,
): Promise<Line | string> {
  try {
    const read = await readAside(disk, folder, file);
    if (!read.ok) return `its record ${read.why}`;
    if (read.aside.kind === 'corrupt') return 'it is no report that could be sent';
    return encodeLine(read.aside.record);
  } catch (cause) {
    const code = causeCode(cause);
    if (code === undefined) throw cause;
    return code === 'ENOENT' ? 'it is gone' : `it cannot be read (${code})`;
  }
}

function failure(layout: Layout, cause: unknown): TaskError {
  const reason = causeCode(cause);
  if (reason === undefined) throw cause;
  // One of our own already.
  if (reason.startsWith('SPOOL_')) return cause as TaskError;
  return spoolError(
    'SPOOL_WRITE_FAILED',
    `The spool ${layout.folder} could not be written (${reason}).`,
    { cause, hint: `${remedyOf(reason) ?? 'See the system’s reason.'} Then run this again.` },
  );
}

/** The highest number of a group file, also of one that cannot be read. */
function lastSeq(read: Awaited<ReturnType<typeof readSpool>>): number {
  const names = [...read.reports, ...read.running].map(({ name }) => name);
  const all = [...names, ...read.unreadable.map(({ file }) => basename(file))];
  return all.reduce((highest, name) => Math.max(highest, groupSeq(name) ?? 0), 0);
}
