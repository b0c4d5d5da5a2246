import { decodeLine, type GroupRecord, type MarkRecord } from './records.ts';

export interface GroupLine {
  /** From 1. */
  readonly line: number;
  readonly bytes: number;
  readonly sum: string;
  readonly record: GroupRecord;
}

export interface BadLine {
  readonly line: number;
  readonly why: string;
  readonly content: Uint8Array;
}

export interface GroupContent {
  readonly lines: readonly GroupLine[];
  readonly marks: readonly MarkRecord[];
  readonly bad: readonly BadLine[];
  /** Lines of a later version: the file is left as it is. */
  readonly newer: number;
  /** Ends of appended lines that a crash cut off: nothing was promised for them. */
  readonly cut: number;
}

/**
 * Reads a group file. One bad line costs only itself. In `running` files all but durable records, and
 * everywhere the marks, are appended without fsync, so a torn end is no fault of the disk there.
 */
export function readGroup(content: Uint8Array, of: GroupRecord['kind']): GroupContent {
  const appended = of === 'running';
  const lines: GroupLine[] = [];
  const marks: MarkRecord[] = [];
  const bad: BadLine[] = [];
  let newer = 0;
  let cut = 0;
  for (const { line, bytes, ended } of split(content)) {
    const read = decodeLine(bytes);
    if (!read.ok) {
      if (read.newer) newer++;
      else if (isCutMark(bytes) || (appended && (!ended || isZeros(bytes)))) cut++;
      else bad.push({ line, why: read.why, content: bytes });
      continue;
    }
    const { record, sum } = read;
    if (record.kind === 'mark') marks.push(record);
    else if (record.kind === of) lines.push({ line, bytes: bytes.length + 1, sum, record });
    else bad.push({ line, why: `is a record of another folder (${record.kind})`, content: bytes });
  }
  return { lines, marks, bad, newer, cut };
}

function* split(content: Uint8Array) {
  let line = 0;
  for (let from = 0; from < content.length; ) {
    const found = content.indexOf(NEWLINE, from);
    const to = found < 0 ? content.length : found;
    line++;
    if (to > from) yield { line, bytes: content.subarray(from, to), ended: found >= 0 };
    from = to + 1;
  }
}

const NEWLINE = 0x0a;
const MARK_BEGINNING = '{"v":1,"kind":"mark"';

function isCutMark(bytes: Uint8Array): boolean {
  const beginning = Buffer.from(bytes.subarray(0, MARK_BEGINNING.length)).toString('latin1');
  return MARK_BEGINNING.startsWith(beginning);
}

function isZeros(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0);
}
