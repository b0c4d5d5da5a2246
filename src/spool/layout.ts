import { createHash } from 'node:crypto';
import { join } from 'node:path';

/** Where things lie in a spool folder. */
export interface Layout {
  readonly folder: string;
  readonly owner: string;
  readonly reports: string;
  readonly running: string;
  readonly stale: string;
  readonly refused: string;
  readonly corrupt: string;
  /** Of the handlers that a worker serves; made by its probes, not by the spool. */
  readonly code: string;
  readonly reserve: string;
  /** How the worker is refused, for people; not durable. */
  readonly refusal: string;
}

export function layoutOf(folder: string): Layout {
  return {
    folder,
    owner: join(folder, 'owner.json'),
    reports: join(folder, 'reports'),
    running: join(folder, 'running'),
    stale: join(folder, 'stale'),
    refused: join(folder, 'refused'),
    corrupt: join(folder, 'corrupt'),
    code: join(folder, 'code'),
    reserve: join(folder, 'reserve'),
    refusal: join(folder, 'refusal.json'),
  };
}

export function foldersOf(layout: Layout): string[] {
  const { folder, reports, running, stale, refused, corrupt } = layout;
  return [folder, reports, running, stale, refused, corrupt];
}

/**
 * `000000000042-1f3a9c04.jsonl`: a number that only grows, so names sort by age, and a part of the session,
 * so that a process that was stopped, lost the spool and woke again can never overwrite its heir's files.
 */
export function groupName(seq: number, sessionTag: string): string {
  return `${String(seq).padStart(12, '0')}-${sessionTag}.jsonl`;
}

export function sessionTag(sessionId: string): string {
  return createHash('sha256').update(sessionId).digest('hex').slice(0, 8);
}

/** The number of a group file; `undefined` for other names. */
export function groupSeq(name: string): number | undefined {
  const digits = GROUP.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

const GROUP = /^(\d{12,15})-[0-9a-f]{8}\.jsonl$/;

/** What a writer that was killed leaves beside its target (write-file-atomic adds a number). No other names. */
export function isTemporary(name: string): boolean {
  return TEMPORARY.some((pattern) => pattern.test(name)) || isProbe(name);
}

/** Of a doctor, who may be at work beside a worker: such a name is not left by a crash while it is young. */
export function isProbe(name: string): boolean {
  return /^doctor-[0-9a-f]+\.probe(\.\d+)?$/.test(name);
}

const TEMPORARY = [
  /^(owner\.json|last-try\.json|refusal\.json|status\.json|reserve)\.\d+$/,
  // A lock that was moved aside to be removed.
  /^owner\.(lock|door)\.[0-9a-f]{16}\.old$/,
  /^room\.probe(\.\d+)?$/,
  // Groups of a spool and of an outbox, and lines of the latter.
  /^\d{12,15}-[0-9a-f]{8,16}(-\d+)?\.jsonl\.\d+$/,
  // Set-asides, and corrupt lines.
  /-[0-9a-f]{16}\.jsonl\.\d+$/,
  /^(reports|running)-\d{12,15}-[0-9a-f]{8}-\d+\.jsonl\.\d+$/,
];

/** Names a set-aside by what it holds, so that setting the same report aside twice makes one file. */
export function setAsideName(attemptId: string, op: string, sum: string): string {
  // An id comes from outside and could be a path; letters of both cases fall together on some systems.
  const id = attemptId
    .toLowerCase()
    .replace(/[^a-z0-9_]/g, '')
    .slice(0, 80);
  return `${id}-${op}-${sum.slice(0, 16)}.jsonl`;
}

/** Whether a name in the spool's own folder is one that a spool makes. Others give their things such names too: see `accept.ts`. */
export function isSpoolName(name: string): boolean {
  return SPOOL_NAMES.has(name) || isTemporary(name);
}

const SPOOL_NAMES = new Set([
  ...['owner.json', 'owner.lock', 'owner.door', 'reserve', 'refusal.json', 'status.json'],
  ...['reports', 'running', 'stale', 'refused', 'corrupt', 'code'],
]);

/** Whether a name in a folder of records is one that a spool makes. */
export function isRecordName(name: string): boolean {
  return RECORDS.test(name) || isTemporary(name);
}

/** Groups, lines that could not be read, set-asides. */
const RECORDS =
  /^(\d{12,15}-[0-9a-f]{8}|(reports|running)-\d{12,15}-[0-9a-f]{8}-\d+|.+-[0-9a-f]{16})\.jsonl$/;

/** As a worker names its session, and with it the folder of its code. */
export function isSessionName(name: string): boolean {
  return /^ses_[0-9a-f]{32}$/.test(name);
}

/** Whether a file begins as an owner record does, of whatever version, also one that was cut or altered behind that. */
export function isOwnerHead(bytes: Uint8Array): boolean {
  return /^\{"v":\d+,"kind":"owner",/.test(Buffer.from(bytes).toString('latin1'));
}
export const OWNER_HEAD_BYTES = 32;

/** The part of a set-aside's name that tells which record it holds. */
export function setAsideSum(name: string): string | undefined {
  return /-([0-9a-f]{16})\.jsonl$/.exec(name)?.[1];
}
