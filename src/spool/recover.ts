import { basename, join } from 'node:path';
import type { Clock } from '../ports/clock.ts';
import type { Disk } from '../ports/disk.ts';
import type { Log } from '../ports/log.ts';
import { groupSeq, type Layout } from './layout.ts';
import { someAtATime } from './read-file.ts';
import type { BadLine } from './read-group.ts';
import { type ReadFile, type ReadSpool, readSpool } from './read-spool.ts';
import { AsideFolder, corruptRecord } from './set-aside.ts';
import { type Settled, settle } from './settle.ts';
import { sweep } from './sweep.ts';

export interface Recovered extends Settled {
  readonly aside: Readonly<Record<'stale' | 'refused' | 'corrupt', AsideFolder>>;
  /** Group files that hold something which is not ours to remove (`reports/…`, `running/…`). */
  readonly kept: ReadonlySet<string>;
  /** Group files with nothing open in them. */
  readonly empty: { readonly reports: readonly string[]; readonly running: readonly string[] };
  /** Lines put into `corrupt` now. */
  readonly corrupt: number;
  /** The highest number of a group file. */
  readonly lastSeq: number;
  /** Sessions named in the records, newest first. */
  readonly sessions: readonly { readonly workerId: string; readonly sessionId: string }[];
}

/**
 * At a start, behind the lock: reads everything, sweeps what killed writers left, copies bad lines to `corrupt` with
 * the reason. Nothing that cannot be understood is removed, and nothing of it stops the rest.
 */
export async function recover(
  ports: { readonly disk: Disk; readonly clock: Clock; readonly log: Log },
  layout: Layout,
): Promise<Recovered> {
  const { disk, clock, log } = ports;
  const read = await readSpool(disk, layout);
  await sweep(ports, read.temporaries);
  for (const path of read.loose) {
    // The folder is closed to others by now: a file that refuses is not worth refusing to start.
    await disk.restrict(path).catch(() => {});
  }
  for (const { file, why } of read.unreadable) {
    log.error('spool.unreadable', `${file} cannot be read (${why}); it stays as it is.`, {
      file,
      why,
    });
  }

  const aside = {
    stale: new AsideFolder(disk, layout.stale, read.stale),
    refused: new AsideFolder(disk, layout.refused, read.refused),
    corrupt: new AsideFolder(disk, layout.corrupt, read.corrupt),
  };
  const kept = new Set<string>();
  let corrupt = 0;
  const putAside = async (folder: string, name: string, bad: BadLine) => {
    const from = `${folder}/${name}`;
    try {
      const at = new Date(clock.wall()).toISOString();
      const target = `${folder}-${name.slice(0, -'.jsonl'.length)}-${bad.line}.jsonl`;
      await aside.corrupt.put(target, corruptRecord(from, bad, at));
      corrupt++;
      log.error(
        'spool.corrupt',
        `Line ${bad.line} of ${from} ${bad.why}. It was put into ${join(layout.corrupt, target)}.`,
        { file: from, line: bad.line },
      );
    } catch (error) {
      kept.add(from);
      log.error(
        'spool.corrupt',
        `Line ${bad.line} of ${from} ${bad.why}. It stays there: it could not be copied to ${layout.corrupt}.`,
        { file: from, line: bad.line, error },
      );
    }
  };
  for (const [path, files] of [
    [layout.reports, read.reports],
    [layout.running, read.running],
  ] as const) {
    const folder = basename(path);
    for (const { name, content } of files) {
      for (const bad of content.bad) await putAside(folder, name, bad);
      if (content.cut > 0)
        log.debug(
          'spool.cut',
          `A crash cut ${content.cut} lines of ${folder}/${name}; none was durable.`,
          {
            lines: content.cut,
          },
        );
      if (content.newer === 0) continue;
      kept.add(`${folder}/${name}`);
      log.warn(
        'spool.newer',
        `${folder}/${name} holds records of a later version; it stays as it is.`,
        { records: content.newer },
      );
    }
  }

  const settled = settle(read);
  const owed = new Set(settled.reports.map(({ file }) => join(layout.reports, file)));
  const durable = await whatIsSeenIsDurable(ports, layout, [...owed]);
  const openReports = new Set(settled.reports.map(({ file }) => file));
  const openRunning = new Set(settled.running.map(({ file }) => file));
  return {
    ...settled,
    aside,
    kept,
    corrupt,
    empty: durable
      ? {
          reports: emptyFiles(read.reports, openReports, 'reports', kept),
          running: emptyFiles(read.running, openRunning, 'running', kept),
        }
      : { reports: [], running: [] },
    lastSeq: seqs(read).reduce((a, b) => Math.max(a, b), 0),
    sessions: sessionsIn(read),
  };
}

/**
 * A process that was killed may have written a report, or given a name (a set-aside, a report), and not synced it: we see
 * it, a power cut would take it. It counts, and what it stands for is removed, only after this.
 */
async function whatIsSeenIsDurable(
  { disk, log }: { readonly disk: Disk; readonly log: Log },
  layout: Layout,
  owed: readonly string[],
): Promise<boolean> {
  try {
    await someAtATime(owed, (file) => disk.syncFile(file));
    for (const folder of [layout.reports, layout.stale, layout.refused])
      await disk.syncFolder(folder);
    return true;
  } catch (error) {
    log.warn(
      'spool.not-synced',
      `What the spool ${layout.folder} holds could not be synced, so what is done with stays until the next start.`,
      { error },
    );
    return false;
  }
}

function emptyFiles(
  files: readonly ReadFile[],
  open: ReadonlySet<string>,
  folder: string,
  kept: ReadonlySet<string>,
): string[] {
  const names = files.map(({ name }) => name);
  return names.filter((name) => !open.has(name) && !kept.has(`${folder}/${name}`));
}

function seqs(read: ReadSpool): number[] {
  const names = [...read.reports, ...read.running].map(({ name }) => name);
  return [...names, ...read.unreadable.map(({ file }) => basename(file))].map(
    (name) => groupSeq(name) ?? 0,
  );
}

function sessionsIn(read: ReadSpool): { workerId: string; sessionId: string }[] {
  const known = new Map<string, { workerId: string; sessionId: string }>();
  for (const file of [...read.running].reverse()) {
    for (const { record } of file.content.lines)
      known.set(record.sessionId, { workerId: record.workerId, sessionId: record.sessionId });
  }
  return [...known.values()];
}
