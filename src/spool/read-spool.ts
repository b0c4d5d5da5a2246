import { join } from 'node:path';
import type { Disk } from '../ports/disk.ts';
import { causeCode } from './errors.ts';
import { groupSeq, isTemporary, type Layout } from './layout.ts';
import { oddity } from './private.ts';
import { readGroupFile, someAtATime } from './read-file.ts';
import { type GroupContent, readGroup } from './read-group.ts';
import type { GroupRecord } from './records.ts';
import { headOf } from './report-head.ts';

export interface ReadFile {
  readonly name: string;
  readonly content: GroupContent;
}

/**
 * Everything that lies in a spool, changed by nothing. Start-up and doctor read it alike. The body of a report is only its
 * head here (`headOf`): there may be more of them than there is memory.
 */
export interface ReadSpool {
  /** By name, which is by age. */
  readonly reports: readonly ReadFile[];
  readonly running: readonly ReadFile[];
  readonly stale: readonly string[];
  readonly refused: readonly string[];
  readonly corrupt: readonly string[];
  /** Files that the disk does not give, or that are not ours to open. */
  readonly unreadable: readonly { readonly file: string; readonly why: string }[];
  /** Paths of files that are ours and that other users may read or write. */
  readonly loose: readonly string[];
  /** Paths of what killed writers left. */
  readonly temporaries: readonly string[];
}

/** Few files open at a time. Rejects where a folder cannot be listed, or no file can be opened at all. */
export async function readSpool(disk: Disk, layout: Layout): Promise<ReadSpool> {
  const unreadable: { file: string; why: string }[] = [];
  const temporaries: string[] = [];
  const loose: string[] = [];

  /** Whether it may be opened: no link, no pipe, nothing of another user. */
  const isPlain = async (file: string) => {
    try {
      const seen = await disk.look(file);
      const why = seen && oddity(seen, 'file');
      if (why !== undefined) unreadable.push({ file, why });
      else if (seen && seen.others !== 'nothing') loose.push(file);
      return seen !== undefined && why === undefined;
    } catch (cause) {
      unreadable.push({ file, why: causeCode(cause) ?? String(cause) });
      return false;
    }
  };
  const namesIn = async (folder: string) => {
    const names = await disk.list(folder);
    for (const name of names) if (isTemporary(name)) temporaries.push(join(folder, name));
    return names.filter((name) => !isTemporary(name));
  };
  const groupIn = async (folder: string, name: string, of: GroupRecord['kind']) => {
    const path = join(folder, name);
    try {
      if (!(await isPlain(path))) return [];
      return [{ name, content: light(readGroup(await readGroupFile(disk, path), of)) }];
    } catch (cause) {
      const code = causeCode(cause) ?? String(cause);
      // Answered and removed since the listing (doctor beside a worker).
      if (code === 'ENOENT') return [];
      if (code === 'EMFILE' || code === 'ENFILE') throw cause;
      const why = code === 'EFBIG' ? 'is far too large for a file of records' : code;
      unreadable.push({ file: path, why });
      return [];
    }
  };
  const groupsIn = async (folder: string, of: GroupRecord['kind']): Promise<ReadFile[]> => {
    const names = (await namesIn(folder)).filter((name) => groupSeq(name) !== undefined);
    return (await someAtATime(names, (name) => groupIn(folder, name, of))).flat();
  };
  const setAside = async (folder: string) => {
    const names = (await namesIn(folder)).filter((name) => name.endsWith('.jsonl'));
    const plain = await someAtATime(names, async (name) =>
      (await isPlain(join(folder, name))) ? [name] : [],
    );
    return plain.flat();
  };

  await namesIn(layout.folder);
  const read = {
    reports: await groupsIn(layout.reports, 'report'),
    running: await groupsIn(layout.running, 'running'),
    stale: await setAside(layout.stale),
    refused: await setAside(layout.refused),
    corrupt: await setAside(layout.corrupt),
    unreadable,
    loose,
    temporaries,
  };
  // They were looked at some at a time.
  unreadable.sort((a, b) => (a.file < b.file ? -1 : 1));
  return read;
}

/** Nothing in it holds on to the content of the file. */
function light(content: GroupContent): GroupContent {
  return {
    ...content,
    bad: content.bad.map((bad) => ({ ...bad, content: bad.content.slice() })),
    lines: content.lines.map((line) =>
      line.record.kind === 'report'
        ? { ...line, record: { ...line.record, body: headOf(line.record.body) } }
        : line,
    ),
  };
}
