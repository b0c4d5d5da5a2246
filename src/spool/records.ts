import { hash } from 'node:crypto';
import * as z from 'zod';
import {
  type AttemptIdentity,
  type EffectGate,
  type EffectSafety,
  effectGate,
  effectSafety,
  type TerminalReport,
  terminalOps,
} from '../contract/index.ts';

/**
 * Records of the spool: one JSON object a line, its last member `sum` the SHA-256 (hex) of the bytes of the
 * line before `,"sum":"`. No canonical form is needed to check it, so any language can:
 * the last 74 bytes are the checksum's, the rest is what it covers. Described in `spool/README.md`.
 */
const RECORD_VERSION = 1;

/** Of the one kind of line that came later: `MarksRecord`. */
const MARKS_VERSION = 2;

/** Where a record belongs: its control plane, and who wrote it. */
export interface Origin {
  readonly serviceUrl: string;
  /** Absent while the worker had not learnt it yet. */
  readonly project?: string;
  readonly workerId: string;
  readonly sessionId: string;
}

/** RFC 3339, by the worker's wall clock: for people. */
export interface WorkedAt {
  readonly claimedAt?: string;
  readonly startedAt?: string;
  readonly endedAt?: string;
}

/** A terminal report that is owed to the control plane. The body is sent as it stands. */
export interface ReportRecord extends Origin {
  readonly kind: 'report';
  readonly type: string;
  readonly schemaVersion: number;
  readonly workedAt: WorkedAt;
  readonly spooledAt: string;
  /** It goes out in place of one that was refused, which is set aside. */
  readonly followUp: boolean;
  readonly body: TerminalReport;
}

/** What a claim brought, as the worker gives it to the spool. */
export interface RunningRecord extends AttemptIdentity {
  readonly type: string;
  readonly schemaVersion: number;
  readonly effectSafety: EffectSafety;
  readonly effectGate: EffectGate;
  readonly claimedAt: string;
}

export interface RunningLine extends RunningRecord, Origin {
  readonly kind: 'running';
}

/** Added to a group file; it is about the attempt's record in that file. */
export interface MarkRecord {
  readonly kind: 'mark';
  /**
   * `begun`: a handler is about to get the input. `progress`: what it said last, now and then. `ended`: nothing is owed for it.
   * `answered`: the report is done with.
   */
  readonly mark: 'begun' | 'progress' | 'ended' | 'answered';
  readonly attemptId: string;
  readonly at: string;
  /** Of `begun`: the handler host, by the id that stands in its environment. */
  readonly host?: string;
  /** Of `progress`. */
  readonly percent?: number;
  readonly message?: string;
}

/**
 * A mark of many attempts: each of them counts as by a line of its own. Of version 2: a program that does not know it leaves the
 * file where it is, and sends again what this says is done with.
 */
export interface MarksRecord {
  readonly kind: 'mark';
  readonly mark: 'ended' | 'answered';
  readonly attemptIds: readonly string[];
  readonly at: string;
}

/** How far a handler said that it was. */
export interface ProgressMark {
  readonly percent?: number;
  readonly message?: string;
}

/** What the marks tell of an attempt that has no report. */
export interface Trace {
  readonly begun: boolean;
  /** RFC 3339, by the worker's wall clock. */
  readonly begunAt?: string;
  readonly host?: string;
  readonly lastProgress?: ProgressMark & { readonly at: string };
}

/** A report set aside with the answer that it got. */
export interface SetAsideRecord {
  readonly kind: 'stale' | 'refused';
  readonly setAsideAt: string;
  readonly answer: unknown;
  readonly record: ReportRecord;
}

export type GroupRecord = ReportRecord | RunningLine;
export type AnyRecord = GroupRecord | MarkRecord | MarksRecord | SetAsideRecord;

const origin = {
  serviceUrl: z.string(),
  project: z.string().optional(),
  workerId: z.string(),
  sessionId: z.string(),
};
const four = {
  taskId: z.string(),
  attemptId: z.string().min(1),
  fence: z.int(),
  leaseToken: z.string(),
};
const report = z.object({
  ...origin,
  kind: z.literal('report'),
  type: z.string(),
  schemaVersion: z.int(),
  workedAt: z.object({}),
  spooledAt: z.string(),
  followUp: z.boolean(),
  body: z.object({
    op: z.string().refine((op) => terminalOps.has(op), 'ends no attempt'),
    ...four,
  }),
});

/** Only what the spool itself relies on is checked: the rest of a body is for the control plane to judge. */
const anyRecord = z.discriminatedUnion('kind', [
  report,
  z.object({
    ...origin,
    ...four,
    kind: z.literal('running'),
    type: z.string(),
    schemaVersion: z.int(),
    effectSafety,
    effectGate,
    claimedAt: z.string(),
  }),
  z.object({
    kind: z.literal('mark'),
    mark: z.enum(['begun', 'progress', 'ended', 'answered']),
    attemptId: z.string(),
    at: z.string(),
    host: z.string().optional(),
    percent: z.number().optional(),
    message: z.string().optional(),
  }),
  z.object({ kind: z.literal('stale'), setAsideAt: z.string(), record: report }),
  z.object({ kind: z.literal('refused'), setAsideAt: z.string(), record: report }),
]);

const marks = z.object({
  kind: z.literal('mark'),
  mark: z.enum(['ended', 'answered']),
  attemptIds: z.array(z.string()),
  at: z.string(),
});

export interface Line {
  /** With its newline. */
  readonly text: string;
  readonly bytes: number;
  readonly sum: string;
}

/** @param record without `v` and `sum`, which are added; one that was read from a line keeps its version. */
export function encodeLine(record: { readonly kind: string }): Line {
  if ('v' in record) {
    const { sum: _, ...own } = record as { readonly v: unknown; readonly sum?: unknown };
    return sealed(JSON.stringify(own).slice(0, -1));
  }
  // Put together from texts: a copy of each record with its version first would cost as much as its checksum.
  return sealed(`{"v":${RECORD_VERSION},${JSON.stringify(record).slice(1, -1)}`);
}

/** The lines of what a claim brought, which begin alike. */
export function runningLines(
  records: readonly RunningRecord[],
  origin: Origin,
): { readonly attemptId: string; readonly text: string }[] {
  const head = `{"v":${RECORD_VERSION},"kind":"running",${JSON.stringify(origin).slice(1, -1)},`;
  // Field by field: what else a caller's object holds (an input, say) does not belong here.
  return records.map((one) => {
    const { taskId, attemptId, fence, leaseToken, type, schemaVersion } = one;
    const { effectSafety, effectGate, claimedAt } = one;
    const own = { taskId, attemptId, fence, leaseToken, type, schemaVersion };
    const text = JSON.stringify({ ...own, effectSafety, effectGate, claimedAt });
    return { attemptId, text: sealed(head + text.slice(1, -1)).text };
  });
}

/** The line of a mark: each task has some of them, always of the same form. */
export function markLine(
  mark: MarkRecord['mark'],
  attemptId: string,
  at: string,
  facts?: Pick<MarkRecord, 'host' | 'percent' | 'message'>,
): string {
  const more = facts === undefined ? '' : JSON.stringify(facts).slice(1, -1);
  const named = `"mark":"${mark}","attemptId":${JSON.stringify(attemptId)},"at":"${at}"`;
  const comma = more === '' ? '' : ',';
  return sealed(`{"v":${RECORD_VERSION},"kind":"mark",${named}${comma}${more}`).text;
}

/** The line that says that these are done with: of one attempt as every version reads it. */
export function closingLine(
  mark: MarksRecord['mark'],
  attemptIds: readonly string[],
  at: string,
): string {
  const [first] = attemptIds;
  if (first !== undefined && attemptIds.length === 1) return markLine(mark, first, at);
  const all = `"mark":"${mark}","attemptIds":${JSON.stringify(attemptIds)},"at":"${at}"`;
  return sealed(`{"v":${MARKS_VERSION},"kind":"mark",${all}`).text;
}

/** @param head the record's JSON without its last brace */
function sealed(head: string): Line {
  const sum = sha256(head);
  const text = `${head},"sum":"${sum}"}\n`;
  return { text, bytes: Buffer.byteLength(text), sum };
}

export type Decoded<T> =
  | { readonly ok: true; readonly record: T; readonly sum: string }
  | {
      readonly ok: false;
      readonly why: string;
      /** Whole, but written by a later version of this program: not ours to touch. */
      readonly newer?: true;
      /** It has no end of ours. */
      readonly cut?: true;
    };

/** A line without its newline. */
export function decodeLine(line: Uint8Array): Decoded<AnyRecord> {
  const whole = unseal(line, MARKS_VERSION);
  if (!whole.ok) return whole;
  const { v, kind } = whole.record;
  const isLater = v === MARKS_VERSION;
  if (isLater && kind !== 'mark') return later(v);
  const read = (isLater ? marks : anyRecord).safeParse(whole.record);
  // The value as it was written, not zod's copy: a body must be sent as it is.
  if (read.success) return { ...whole, record: whole.record as unknown as AnyRecord };
  const issue = read.error.issues[0];
  return { ok: false, why: `is no record: ${issue?.path.join('.')} ${issue?.message}` };
}

function later(version: number) {
  return { ok: false, why: `was written by a later version (${version})`, newer: true } as const;
}

/** Checks the checksum and the version of any line or file of ours. @param known the highest version that counts */
export function unseal(
  line: Uint8Array,
  known = RECORD_VERSION,
): Decoded<{ v: number } & Record<string, unknown>> {
  const bytes = Buffer.from(line.buffer, line.byteOffset, line.byteLength);
  const tail = bytes.subarray(-TAIL_BYTES).toString('latin1');
  const sum = TAIL.exec(tail)?.[1];
  if (!sum)
    return {
      ok: false,
      why: 'does not end in a checksum: it was cut, or written by another program',
      cut: true,
    };
  if (sha256(bytes.subarray(0, -TAIL_BYTES)) !== sum)
    return { ok: false, why: 'does not fit its checksum: it was altered' };
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString());
  } catch {
    value = undefined;
  }
  if (typeof value !== 'object' || value === null || !('v' in value) || typeof value.v !== 'number')
    return { ok: false, why: 'is no JSON object with a version' };
  if (value.v > known) return later(value.v);
  return { ok: true, record: value as { v: number } & Record<string, unknown>, sum };
}

const TAIL = /^,"sum":"([0-9a-f]{64})"\}$/;
/** `,"sum":"` + 64 + `"}` */
const TAIL_BYTES = 74;

/** Whether a line that does not end in a checksum ends nearly so: one that was torn ends in the midst of it, or before. */
export function endsLikeRecord(line: Uint8Array): boolean {
  const tail = Buffer.from(line.subarray(-TAIL_BYTES)).toString('latin1');
  return tail.startsWith(',"sum":"') || /[0-9a-f]{32}"\}$/.test(tail);
}

function sha256(data: string | Uint8Array): string {
  return hash('sha256', data, 'hex');
}
