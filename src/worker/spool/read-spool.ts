import { join } from 'node:path';
import type { Disk } from '../../ports/disk.ts';
import { causeCode } from './errors.ts';
import { groupSeq, isTemporary, type Layout } from './layout.ts';
import { oddity } from './private.ts';
import { type GroupContent, readGroup } from './read-group.ts';
import type { GroupRecord } from './records.ts';

export interface ReadFile {
  readonly name: string;
  readonly content: GroupContent;
}

/** Everything that lies in a spool, changed by nothing. Start-up and doctor read it alike. */
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

/** One file open at a time. Rejects where a folder cannot be listed, or no file can be opened at all. */
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
  const groupsIn = async (folder: string, of: GroupRecord['kind']) => {
    const files: ReadFile[] = [];
    for (const name of await namesIn(folder)) {
      if (groupSeq(name) === undefined) continue;
      try {
        if (!(await isPlain(join(folder, name)))) continue;
        files.push({ name, content: readGroup(await disk.readFile(join(folder, name)), of) });
      } catch (cause) {
        const code = causeCode(cause) ?? String(cause);
        // Answered and removed since the listing (doctor beside a worker).
        if (code === 'ENOENT') continue;
        if (code === 'EMFILE' || code === 'ENFILE') throw cause;
        unreadable.push({ file: join(folder, name), why: code });
      }
    }
    return files;
  };
  const setAside = async (folder: string) => {
    const plain: string[] = [];
    for (const name of await namesIn(folder))
      if (name.endsWith('.jsonl') && (await isPlain(join(folder, name)))) plain.push(name);
    return plain;
  };

  await namesIn(layout.folder);
  return {
    reports: await groupsIn(layout.reports, 'report'),
    running: await groupsIn(layout.running, 'running'),
    stale: await setAside(layout.stale),
    refused: await setAside(layout.refused),
    corrupt: await setAside(layout.corrupt),
    unreadable,
    loose,
    temporaries,
  };
}
