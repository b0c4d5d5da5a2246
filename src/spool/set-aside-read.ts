import { join } from 'node:path';
import { cutText } from '../contract/errors.ts';
import type { TaskError } from '../contract/index.ts';
import type { Disk } from '../ports/disk.ts';
import type { FolderLock } from '../ports/folder-lock.ts';
import type { ProcessInfo } from '../ports/process-info.ts';
import { causeCode, spoolError } from './errors.ts';
import { ownerFacts, type SpoolInspection } from './inspect.ts';
import { layoutOf } from './layout.ts';
import { seeOwner } from './owner-lock.ts';
import { openToOthers } from './private.ts';
import { readSpool } from './read-spool.ts';
import type { ProgressMark, ReportRecord, RunningLine } from './records.ts';
import { readAside } from './set-aside-open.ts';
import { settle } from './settle.ts';

/**
 * `owed`: a report without an answer · `running`: an attempt that is held (or was, by a process that is gone) · `stale`,
 * `refused`, `corrupt`: set aside (a corrupt line also before a start has set it aside) · `newer`: lines of a later version ·
 * `unreadable`: a file that the disk does not give.
 */
export const entryStates = [
  'owed',
  'running',
  'stale',
  'refused',
  'corrupt',
  'newer',
  'unreadable',
] as const;
export type EntryState = (typeof entryStates)[number];

/** One thing that lies in a spool, for people: without its result and without its lease token. */
export interface SpoolEntry {
  readonly state: EntryState;
  /** Within the spool: `refused/att_….jsonl`. */
  readonly file: string;
  /** Of a corrupt line in a group file. */
  readonly line?: number;
  /** Of its record among others in a group file. */
  readonly sum?: string;
  /** RFC 3339: spooled, claimed, set aside, found. */
  readonly at?: string;
  readonly bytes: number;
  readonly taskId?: string;
  readonly attemptId?: string;
  readonly fence?: number;
  readonly type?: string;
  readonly schemaVersion?: number;
  readonly op?: string;
  readonly serviceUrl?: string;
  readonly project?: string;
  readonly workerId?: string;
  /** The report stands in for one that was refused. */
  readonly followUp?: boolean;
  /** Its handler got the input, as far as was recorded. */
  readonly begun?: boolean;
  /** What its handler said last. */
  readonly progress?: ProgressMark & { readonly at: string };
  /** What the control plane said of it. */
  readonly answer?: EntryAnswer;
  /** Why it cannot be read. */
  readonly why?: string;
}

export interface EntryAnswer {
  readonly status?: number;
  readonly code?: string;
  /** At most 500 characters. */
  readonly says?: string;
  /** The control plane kept it as a late report. */
  readonly recorded?: true;
}

export type ReadEntries =
  | {
      readonly ok: true;
      readonly folder: string;
      readonly owner: SpoolInspection['owner'] | undefined;
      /** By state as in `entryStates`, the oldest first. */
      readonly entries: readonly SpoolEntry[];
    }
  /** `SPOOL_UNSAFE`, `SPOOL_UNREADABLE`. */
  | { readonly ok: false; readonly error: TaskError };

/**
 * All that lies in a spool. Takes no lock and changes nothing; may stand beside the worker that holds it. What others
 * could have changed is refused, except where the caller has to look into the spool of another user (`ofAnother`).
 */
export async function readEntries(ports: {
  readonly disk: Disk;
  readonly lock: FolderLock;
  readonly processInfo: ProcessInfo;
  readonly folder: string;
  readonly ofAnother?: boolean;
}): Promise<ReadEntries> {
  const { disk, folder } = ports;
  const layout = layoutOf(folder);
  try {
    const how = { close: false, anyOwner: ports.ofAnother === true };
    const unsafe = await openToOthers(disk, layout, how);
    if (unsafe !== undefined) return { ok: false, error: spoolError('SPOOL_UNSAFE', unsafe) };
    const read = await readSpool(disk, layout);
    const held = await seeOwner(ports, layout);
    const { reports, running } = settle(read);
    const entries: SpoolEntry[] = [
      ...reports.map(({ file, bytes, sum, record }) => ({
        ...reportFacts(record),
        state: 'owed' as const,
        file: `reports/${file}`,
        sum,
        at: record.spooledAt,
        bytes,
      })),
      ...running.map(({ file, bytes, sum, record, trace }) => ({
        ...runningFacts(record),
        state: 'running' as const,
        file: `running/${file}`,
        sum,
        at: record.claimedAt,
        bytes,
        begun: trace.begun,
        ...(trace.lastProgress && { progress: trace.lastProgress }),
      })),
    ];
    for (const state of ['stale', 'refused', 'corrupt'] as const) {
      const found: SpoolEntry[] = [];
      for (const name of read[state]) {
        const entry = await asideEntry(disk, folder, state, name);
        if (entry) found.push(entry);
      }
      entries.push(...found.sort((a, b) => ((a.at ?? '') < (b.at ?? '') ? -1 : 1)));
    }
    for (const [kind, files] of [
      ['reports', read.reports],
      ['running', read.running],
    ] as const) {
      for (const { name, content } of files) {
        const file = `${kind}/${name}`;
        for (const { line, why, content: bytes } of content.bad)
          entries.push({ state: 'corrupt', file, line, why, bytes: bytes.length });
        if (content.newer > 0)
          entries.push({
            state: 'newer',
            file,
            why: `${content.newer} of a later version`,
            bytes: 0,
          });
      }
    }
    for (const { file, why } of read.unreadable)
      entries.push({ state: 'unreadable', file: file.slice(folder.length + 1), why, bytes: 0 });
    const rank = ({ state }: SpoolEntry) => entryStates.indexOf(state);
    return {
      ok: true,
      folder,
      owner: held && ownerFacts(held),
      entries: entries.sort((a, b) => rank(a) - rank(b)),
    };
  } catch (cause) {
    const reason = causeCode(cause);
    if (reason === undefined) throw cause;
    const message = `The spool ${folder} cannot be read (${reason}).`;
    return { ok: false, error: spoolError('SPOOL_UNREADABLE', message, { cause }) };
  }
}

/** `undefined`: gone since the listing. */
async function asideEntry(
  disk: Disk,
  folder: string,
  state: 'stale' | 'refused' | 'corrupt',
  name: string,
): Promise<SpoolEntry | undefined> {
  const file = `${state}/${name}`;
  const seen = await disk.stat(join(folder, file));
  if (!seen) return undefined;
  const read = await readAside(disk, folder, file).catch((cause: unknown) => {
    const why = causeCode(cause);
    if (why === undefined) throw cause;
    return { ok: false as const, why: `cannot be read (${why})` };
  });
  const { bytes } = seen;
  // By the file where its own word is not to be trusted: discarding by age has to take it along.
  const at = new Date(seen.modifiedMs).toISOString();
  if (!read.ok) return { state, file, at, bytes, why: read.why };
  const { aside } = read;
  if (aside.kind === 'corrupt')
    return {
      state,
      file,
      at: aside.foundAt,
      bytes,
      why: `${aside.from}, line ${aside.line}: ${aside.why}`,
    };
  return {
    ...reportFacts(aside.record),
    state,
    file,
    at: aside.setAsideAt,
    bytes,
    answer: answerFacts(aside.answer, aside.record.body.leaseToken),
  };
}

function reportFacts(record: ReportRecord) {
  const { body, followUp } = record;
  return {
    ...origin(record),
    taskId: body.taskId,
    attemptId: body.attemptId,
    fence: body.fence,
    op: body.op,
    followUp,
  };
}

function runningFacts(record: RunningLine) {
  const { taskId, attemptId, fence } = record;
  return { ...origin(record), taskId, attemptId, fence };
}

function origin(record: ReportRecord | RunningLine) {
  const { serviceUrl, project, workerId, type, schemaVersion } = record;
  return { serviceUrl, ...(project !== undefined && { project }), workerId, type, schemaVersion };
}

/**
 * The part of an answer that people need. It came from outside, so nothing of its shape is taken for granted, and it may
 * quote the report.
 */
function answerFacts(answer: unknown, token: string): EntryAnswer {
  const { status, problem, note } = (answer ?? {}) as Record<string, unknown>;
  const { code, detail, title, recorded } = (problem ?? {}) as Record<string, unknown>;
  const text = [detail, title, note].find((one) => typeof one === 'string');
  const says = typeof text === 'string' && token !== '' ? text.replaceAll(token, '(masked)') : text;
  return {
    ...(typeof status === 'number' && { status }),
    ...(typeof code === 'string' && { code: cutText(code, 100) }),
    ...(typeof says === 'string' && { says: cutText(says, 500) }),
    ...(recorded === true && { recorded }),
  };
}
