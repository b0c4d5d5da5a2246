import { join } from 'node:path';
import * as z from 'zod';
import type { Disk } from '../ports/disk.ts';
import {
  decodeLine,
  type ReportRecord,
  type RunningLine,
  type SetAsideRecord,
  unseal,
} from './records.ts';
import type { SpoolEntry } from './set-aside-read.ts';

/** A bad line as it was kept. */
export interface CorruptAside {
  readonly kind: 'corrupt';
  readonly foundAt: string;
  /** `reports/….jsonl` */
  readonly from: string;
  readonly line: number;
  readonly why: string;
  readonly content: Uint8Array;
}

export type ReadAside =
  | { readonly ok: true; readonly aside: SetAsideRecord | CorruptAside }
  | { readonly ok: false; readonly why: string };

const corruptAside = z.object({
  kind: z.literal('corrupt'),
  foundAt: z.string(),
  from: z.string(),
  line: z.int(),
  why: z.string(),
  text: z.string().optional(),
  base64: z.string().optional(),
});

/** A file of `stale`, `refused` or `corrupt`. Rejects with the disk's error. @param file within the spool. */
export async function readAside(disk: Disk, folder: string, file: string): Promise<ReadAside> {
  const content = await disk.readFile(join(folder, file));
  const line = content.at(-1) === 0x0a ? content.subarray(0, -1) : content;
  if (file.startsWith('corrupt/')) {
    const whole = unseal(line);
    if (!whole.ok) return whole;
    const read = corruptAside.safeParse(whole.record);
    if (!read.success) return { ok: false, why: 'is no record of a corrupt line' };
    const { text, base64, ...rest } = read.data;
    const bytes = text === undefined ? Buffer.from(base64 ?? '', 'base64') : Buffer.from(text);
    return { ok: true, aside: { ...rest, content: bytes } };
  }
  const read = decodeLine(line);
  if (!read.ok) return read;
  const { record } = read;
  if ((record.kind === 'stale' || record.kind === 'refused') && file.startsWith(`${record.kind}/`))
    return { ok: true, aside: record };
  return { ok: false, why: `is a record of another folder (${record.kind})` };
}

/** One entry with all that was left out of it, **the lease token too**: it must be masked before it is shown. */
export interface OpenedEntry {
  readonly report?: ReportRecord;
  readonly running?: RunningLine;
  /** As the control plane gave it. */
  readonly answer?: unknown;
  /** Of what cannot be read. */
  readonly content?: Uint8Array;
}

/** `undefined`: it is gone (answered, or removed). Rejects with the disk's error. */
export async function openEntry(
  disk: Disk,
  folder: string,
  entry: SpoolEntry,
): Promise<OpenedEntry | undefined> {
  const { file, state, line, sum } = entry;
  if (state === 'newer' || state === 'unreadable') return {};
  try {
    if (sum !== undefined || line !== undefined) {
      const content = lineIn(await disk.readFile(join(folder, file)), line, sum);
      const read = content && decodeLine(content);
      if (!read?.ok) return content && line !== undefined ? { content } : undefined;
      const { record } = read;
      if (record.kind === 'report') return { report: record };
      return record.kind === 'running' ? { running: record } : { content };
    }
    const read = await readAside(disk, folder, file);
    if (!read.ok) return { content: await disk.readFile(join(folder, file)) };
    const { aside } = read;
    if (aside.kind === 'corrupt') return { content: aside.content };
    return { report: aside.record, answer: aside.answer };
  } catch (cause) {
    if ((cause as { code?: unknown }).code === 'ENOENT') return undefined;
    throw cause;
  }
}

/** The line of that number, or with that checksum. */
function lineIn(
  content: Uint8Array,
  line: number | undefined,
  sum: string | undefined,
): Uint8Array | undefined {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  if (line === undefined) {
    const tail = `,"sum":"${sum}"}`;
    const found = bytes.indexOf(tail);
    return found < 0
      ? undefined
      : bytes.subarray(bytes.lastIndexOf(NEWLINE, found) + 1, found + tail.length);
  }
  let from = 0;
  for (let number = 1; from <= bytes.length; number++) {
    const found = bytes.indexOf(NEWLINE, from);
    const to = found < 0 ? bytes.length : found;
    if (number === line) return bytes.subarray(from, to);
    from = to + 1;
  }
  return undefined;
}

const NEWLINE = 0x0a;
