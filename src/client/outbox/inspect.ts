import { join } from 'node:path';
import type { Disk } from '../../ports/disk.ts';
import type { FolderLock } from '../../ports/folder-lock.ts';
import type { ProcessInfo } from '../../ports/process-info.ts';
import { causeCode } from '../../spool/errors.ts';
import { layoutOf } from '../../spool/layout.ts';
import type { OwnerState } from '../../spool/owner.ts';
import { readOwner, stateOf } from '../../spool/owner-lock.ts';
import { oddity, placeOpenToOthers } from '../../spool/private.ts';
import { unseal } from '../../spool/records.ts';
import { diskError, outboxError } from './errors.ts';
import { intentFileParts, outboxLayout, placeOf } from './layout.ts';
import { type IntentRecord, readIntents, readRefused } from './records.ts';

/** A submission in an outbox, without its input. */
export interface OutboxEntry {
  /** `refused`: it was set aside with the answer of the control plane. */
  readonly state: 'waiting' | 'refused';
  /** Path. */
  readonly file: string;
  readonly idempotencyKey: string;
  readonly type: string;
  readonly schemaVersion: number;
  readonly serviceUrl: string;
  readonly project?: string;
  /** RFC 3339, by the wall clock of its process. */
  readonly storedAt: string;
  /** How often it was sent; above 8 it may have been up to twice as often. */
  readonly tries: number;
  /** Of its last try, or its refusal. */
  readonly code?: string;
  readonly why?: string;
}

export interface OutboxInspection {
  readonly folder: string;
  readonly exists: boolean;
  /** Oldest first; those that wait before those that were refused. */
  readonly entries: readonly OutboxEntry[];
  /** Lines that cannot be read, in files and set aside. */
  readonly corrupt: number;
  /** Lines of a later version. */
  readonly newer: number;
  /** Files that could not be opened. */
  readonly unreadable: readonly { readonly file: string; readonly why: string }[];
  /** How the last try to send went, if it failed. */
  readonly lastTry?: {
    readonly at: string;
    readonly times: number;
    readonly code: string;
    readonly why: string;
  };
  /** Who sends what is there, or did last. */
  readonly owner?: {
    readonly pid: number;
    readonly hostName: string;
    readonly state: OwnerState | 'closed';
  };
}

/**
 * Looks at an outbox, also beside the processes that use it: takes no lock and changes nothing. Throws `OUTBOX_UNSAFE`,
 * `OUTBOX_UNREADABLE`.
 */
export async function inspectOutbox(ports: {
  readonly disk: Disk;
  readonly lock: FolderLock;
  readonly processInfo: ProcessInfo;
  readonly folder: string;
}): Promise<OutboxInspection> {
  const { disk, lock, folder } = ports;
  const layout = outboxLayout(folder);
  const none = { folder, exists: false, entries: [], corrupt: 0, newer: 0, unreadable: [] };
  try {
    if (!(await disk.stat(folder))) return none;
    const unsafe = await placeOpenToOthers(disk, placeOf(layout), { close: false });
    if (unsafe !== undefined) throw outboxError('OUTBOX_UNSAFE', unsafe);
    const entries: OutboxEntry[] = [];
    const unreadable: { file: string; why: string }[] = [];
    let corrupt = (await disk.list(layout.corrupt)).filter((name) =>
      name.endsWith('.jsonl'),
    ).length;
    let newer = 0;
    const contentOf = async (file: string) => {
      const why = await disk.look(file).then((seen) => seen && oddity(seen, 'file'));
      if (why !== undefined) {
        unreadable.push({ file, why });
        return undefined;
      }
      try {
        return await disk.readFile(file);
      } catch (cause) {
        const code = causeCode(cause);
        if (code === undefined) throw cause;
        // Sent and removed since the listing.
        if (code !== 'ENOENT') unreadable.push({ file, why: code });
        return undefined;
      }
    };
    for (const name of await disk.list(layout.intents)) {
      if (intentFileParts(name) === undefined) continue;
      const file = join(layout.intents, name);
      const content = await contentOf(file);
      if (!content) continue;
      const read = readIntents(content);
      corrupt += read.bad.length;
      newer += read.newer;
      for (const { record, tried } of read.open) {
        const { tries = 0, code, why } = tried ?? {};
        const told = { ...(code !== undefined && { code }), ...(why !== undefined && { why }) };
        entries.push({ ...entryOf(record), state: 'waiting', file, tries, ...told });
      }
    }
    for (const name of await disk.list(layout.refused)) {
      if (!name.endsWith('.jsonl')) continue;
      const file = join(layout.refused, name);
      const content = await contentOf(file);
      const read = content && readRefused(content);
      if (content && !read) corrupt++;
      if (!read) continue;
      const { code, message: why } = read.answer;
      entries.push({ ...entryOf(read.record), state: 'refused', file, tries: 1, code, why });
    }
    const owner = await readOwner(disk, layoutOf(folder));
    const lies = await lock.look(folder);
    const state = owner?.closedAt ? 'closed' : await stateOf(ports, owner, lies?.touchedAtMs);
    const lastTry = await readLastTry(disk, layout.lastTry);
    return {
      ...{ ...none, exists: true, entries, corrupt, newer, unreadable },
      ...(lastTry && { lastTry }),
      ...(owner && { owner: { pid: owner.pid, hostName: owner.hostName, state } }),
    };
  } catch (cause) {
    throw diskError('OUTBOX_UNREADABLE', `The outbox ${folder} cannot be read`, cause);
  }
}

function entryOf({ serviceUrl, project, storedAt, body }: IntentRecord) {
  const { idempotencyKey, type, schemaVersion } = body;
  const where = { serviceUrl, ...(project !== undefined && { project }) };
  return { idempotencyKey, type, schemaVersion, ...where, storedAt };
}

/** For people only: what cannot be read is not there. */
async function readLastTry(disk: Disk, file: string): Promise<OutboxInspection['lastTry']> {
  const content = await disk.readFile(file).catch(() => undefined);
  const whole = content && unseal(content.at(-1) === 0x0a ? content.subarray(0, -1) : content);
  if (!whole?.ok) return undefined;
  const { at, times, code, why } = whole.record;
  return typeof times === 'number'
    ? { at: String(at), times, code: String(code), why: String(why) }
    : undefined;
}
