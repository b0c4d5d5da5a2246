/**
 * Records of the outbox: lines of the spool's form (`spool/README.md`). An **intent** is a submission that is to be made;
 * its `body` is sent as it stands, each time with the same idempotency key, so that however often it is sent there is one
 * task. **Marks** are appended to its file.
 */
import * as z from 'zod';
import type { SubmitRequest } from '../../contract/index.ts';
import { type BadLine, isCutMark, splitLines } from '../../spool/read-group.ts';
import { unseal } from '../../spool/records.ts';

/** What is sent. */
export type IntentBody = SubmitRequest & { readonly idempotencyKey: string };

export interface IntentRecord {
  readonly kind: 'intent';
  /** Its own among all: 16 hex digits. */
  readonly id: string;
  /** The control plane that it is for. */
  readonly serviceUrl: string;
  /** Of the key; absent where it was not known, and it was not sent yet. */
  readonly project?: string;
  /** RFC 3339, by the wall clock. */
  readonly storedAt: string;
  readonly body: IntentBody;
}

/**
 * `answered`: it is done with. `tried`: it was sent and is still wanted. `for`: it is sent to this project from now on and
 * to no other, written before it is sent for the first time. They survive the end of a process, not a power cut.
 */
export interface IntentMark {
  readonly kind: 'mark';
  readonly mark: 'answered' | 'tried' | 'for';
  readonly id: string;
  readonly at: string;
  readonly project?: string;
  readonly tries?: number;
  readonly code?: string;
  readonly why?: string;
}

/** How the tries of an intent went so far. */
export interface Tried {
  readonly at: string;
  readonly tries: number;
  readonly code: string;
  readonly why: string;
}

/** An intent set aside with its refusal. */
export interface RefusedIntent {
  readonly kind: 'refused';
  readonly setAsideAt: string;
  readonly answer: { readonly code: string; readonly message: string; readonly status?: unknown };
  readonly record: IntentRecord;
}

/** Only what the outbox itself relies on: the rest of a body is for the control plane to judge. */
const intent = z.object({
  kind: z.literal('intent'),
  id: z.string().regex(/^[0-9a-f]{16}$/),
  serviceUrl: z.string(),
  project: z.string().optional(),
  storedAt: z.string(),
  body: z.object({
    type: z.string(),
    schemaVersion: z.int(),
    idempotencyKey: z.string().min(1),
  }),
});
const mark = z.object({
  kind: z.literal('mark'),
  mark: z.enum(['answered', 'tried', 'for']),
  id: z.string(),
  at: z.string(),
  project: z.string().optional(),
  tries: z.int().optional(),
  code: z.string().optional(),
  why: z.string().optional(),
});
const refused = z.object({
  kind: z.literal('refused'),
  setAsideAt: z.string(),
  answer: z.object({ code: z.string(), message: z.string() }),
  record: intent,
});
const line = z.discriminatedUnion('kind', [intent, mark]);

export interface ReadIntent {
  readonly record: IntentRecord;
  readonly bytes: number;
  readonly sum: string;
  readonly tried?: Tried | undefined;
}

export interface ReadIntents {
  /** Those that are still wanted, in order. */
  readonly open: readonly ReadIntent[];
  readonly bad: readonly BadLine[];
  /** Lines of a later version: the file is left as it is. */
  readonly newer: number;
}

/** Reads an intent file. One bad line costs only itself; a mark that a crash cut off is none. */
export function readIntents(content: Uint8Array): ReadIntents {
  const found: { line: number; bytes: number; sum: string; record: IntentRecord }[] = [];
  const bad: BadLine[] = [];
  const answered = new Set<string>();
  const tried = new Map<string, Tried>();
  const projects = new Map<string, string>();
  let newer = 0;
  for (const { line: number, bytes } of splitLines(content)) {
    const whole = unseal(bytes);
    if (!whole.ok) {
      if (whole.newer) newer++;
      else if (!isCutMark(bytes) && !bytes.every((byte) => byte === 0))
        bad.push({ line: number, why: whole.why, content: bytes });
      continue;
    }
    const read = line.safeParse(whole.record);
    if (!read.success) {
      const issue = read.error.issues[0];
      const why = `is no record: ${issue?.path.join('.')} ${issue?.message}`;
      bad.push({ line: number, why, content: bytes });
    } else if (read.data.kind === 'intent') {
      // As it was written, not zod's copy: a body must be sent as it is.
      const record = whole.record as unknown as IntentRecord;
      found.push({ line: number, bytes: bytes.length + 1, sum: whole.sum, record });
    } else if (read.data.mark === 'answered') answered.add(read.data.id);
    else if (read.data.mark === 'for') {
      const { id, project } = read.data;
      // The first: it may have arrived there.
      if (project !== undefined && !projects.has(id)) projects.set(id, project);
    } else {
      const { id, at, tries = 1, code = '', why = '' } = read.data;
      tried.set(id, { at, tries, code, why });
    }
  }
  const open = found
    .filter(({ record }) => !answered.has(record.id))
    .map(({ record, bytes, sum }) => {
      const project = record.project ?? projects.get(record.id);
      const known = project === undefined ? record : { ...record, project };
      return { record: known, bytes, sum, tried: tried.get(record.id) };
    });
  return { open, bad, newer };
}

/** Reads a file of `refused`; `undefined` where it is none. */
export function readRefused(content: Uint8Array): RefusedIntent | undefined {
  for (const { bytes } of splitLines(content)) {
    const whole = unseal(bytes);
    if (whole.ok && refused.safeParse(whole.record).success)
      return whole.record as unknown as RefusedIntent;
  }
  return undefined;
}
