import { decodeLine, endsLikeRecord, type GroupRecord, type MarkRecord } from './records.ts';

export interface GroupLine {
  /** From 1. */
  readonly line: number;
  /** Where it begins in its file. */
  readonly offset: number;
  /** With its newline. */
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
 * Reads a group file. One bad line costs only itself. Marks and records are added to it and told to be durable after that: an
 * end that a crash tore, or left as zeros, is no fault of the disk.
 */
export function readGroup(content: Uint8Array, of: GroupRecord['kind']): GroupContent {
  const lines: GroupLine[] = [];
  const marks: MarkRecord[] = [];
  const bad: (BadLine & { cut: boolean })[] = [];
  let newer = 0;
  let cutMarks = 0;
  for (const { line, offset, bytes } of splitLines(content)) {
    const read = decodeLine(bytes);
    if (!read.ok) {
      const torn = read.cut === true && isBeginning(bytes, of) && !isWhole(bytes, content, offset);
      const cut = isZeros(bytes) || torn;
      if (read.newer) newer++;
      else if (isCutMark(bytes)) cutMarks++;
      else bad.push({ line, why: read.why, content: bytes, cut });
      continue;
    }
    const { record, sum } = read;
    if (record.kind === 'mark' && 'attemptIds' in record) {
      const { attemptIds, ...one } = record;
      for (const attemptId of attemptIds) marks.push({ ...one, attemptId });
    } else if (record.kind === 'mark') marks.push(record);
    else if (record.kind === of) lines.push({ line, offset, bytes: bytes.length + 1, sum, record });
    else
      bad.push({
        line,
        why: `is a record of another folder (${record.kind})`,
        content: bytes,
        cut: false,
      });
  }
  // What was appended comes after all that was written at once.
  const lastRecord = lines.at(-1)?.line ?? 0;
  const truly = bad.filter(({ cut, line }) => !cut || line < lastRecord);
  return { lines, marks, bad: truly, newer, cut: cutMarks + bad.length - truly.length };
}

/** Lines of a file that are not empty, with their number from 1. */
export function* splitLines(content: Uint8Array) {
  let line = 0;
  for (let from = 0; from < content.length; ) {
    const found = content.indexOf(NEWLINE, from);
    const to = found < 0 ? content.length : found;
    line++;
    if (to > from) yield { line, offset: from, bytes: content.subarray(from, to) };
    from = to + 1;
  }
}

const NEWLINE = 0x0a;

/** The beginning of a mark, which a crash cut off. */
export function isCutMark(bytes: Uint8Array): boolean {
  return isBeginning(bytes, 'mark');
}

/** The rest may be zeros: not all blocks of a write have reached the disk. */
function isBeginning(bytes: Uint8Array, kind: string): boolean {
  const whole = `{"v":1,"kind":"${kind}"`;
  const beginning = Buffer.from(bytes.subarray(0, whole.length)).toString('latin1');
  // A mark of many is of version 2.
  const ofOne = kind === 'mark' ? beginning.replace('{"v":2', '{"v":1') : beginning;
  return whole.startsWith(ofOne.replace(/\0+$/, ''));
}

/**
 * It was written to its end, and altered there: no crash did that, and it may be all that is known of an attempt. What a crash
 * tore has no newline until marks are added behind it, which begin with one.
 */
function isWhole(bytes: Uint8Array, content: Uint8Array, offset: number): boolean {
  const end = offset + bytes.length;
  if (end === content.length || bytes.at(-1) === 0) return false;
  const next = content[end + 1];
  return next === undefined || next === NEWLINE || endsLikeRecord(bytes);
}

function isZeros(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0);
}
