import { closeSync, fstatSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { TaskError } from '../contract/errors.ts';
import { OWNER } from './folder-owner.ts';
import { backInPlace, RESCUED } from './sqlite/kept-files.ts';

/** What is looked at before a data folder is used: nothing of others is taken over, and no loss passes as a new start. */

export const DATABASE = 'control-plane.db';
export const SECRET = 'secret';

/** Our files, SQLite's beside them, and what a file system puts at its root. */
const OURS =
  /^(?:(?:control-plane\.db|lock)(?:-wal|-shm|-journal)?|control-plane\.db\.rescued|owner\.json|secret(?:\.[0-9a-f]+)?|lost\+found)$/;
const NAMED_MAX = 3;

/** Whether a control plane has kept something there, also where most of it is gone by now. */
export function isUsed(folder: string): boolean {
  return [DATABASE, SECRET].some((name) => sizeOf(join(folder, name)) > 0);
}

/** Refuses a folder with things of others in it and no database of ours: a mistyped `--data /tmp`. */
export function refuseForeign(folder: string): void {
  const names = readdirSync(folder);
  if (sizeOf(join(folder, DATABASE)) > 0 || names.includes(SECRET)) return;
  const others = names.filter((name) => !OURS.test(name)).sort();
  if (others.length === 0) return;
  const named = others.slice(0, NAMED_MAX).map((name) => JSON.stringify(name));
  const more = others.length > NAMED_MAX ? ` and ${others.length - NAMED_MAX} more` : '';
  throw new TaskError(
    'DATA_UNUSABLE',
    `The folder ${folder} holds other things (${named.join(', ')}${more}) and no data of a control plane.`,
    {
      hint: 'Name an empty folder with --data, or one that is not there yet: it is made for this user only.',
    },
  );
}

/**
 * Refuses a database that is gone or shorter than it says it is. Reads 100 bytes; only for who owns the folder,
 * since the file of a running control plane grows while it is looked at.
 *
 * @param leftLog the last owner was killed: SQLite removes the log only when it is closed in order, so there must be one.
 */
export function refuseLost(folder: string, leftLog = false): void {
  const file = join(folder, DATABASE);
  const logBytes = sizeOf(`${file}-wal`);
  const { bytes, promised, tables } = measure(file);
  // The tables of a first start stand in the log alone until they are folded in: without it the file holds nothing.
  const empty = bytes === 0 || (!tables && logBytes === 0);
  if (empty) {
    if (sizeOf(`${file}${RESCUED}`) > 0)
      throw new TaskError(
        'DATA_UNUSABLE',
        `The database ${file} was removed while a control plane used it, which saved what it held in ${file}${RESCUED}.`,
        { hint: `To go on with it, ${backInPlace(file)}, and start again.` },
      );
    // The secret is made after the tables: a first start that broke off has none.
    if (sizeOf(join(folder, SECRET)) === 0) return;
    throw damaged(
      file,
      bytes === 0
        ? 'is missing or empty, although a control plane has kept its tasks here'
        : 'has no tables and no -wal file beside it, although a control plane has kept its tasks here: what it held stood in that file',
      `To begin anew with no tasks and no keys, remove ${join(folder, SECRET)} too.`,
    );
  }
  if (leftLog && statSync(`${file}-wal`, { throwIfNoEntry: false }) === undefined)
    throw damaged(
      file,
      'is there without its -wal file, although the last control plane was killed and left one: what it acknowledged last may be gone',
      `To go on with what is in ${file} all the same, remove ${join(folder, OWNER)}.`,
    );
  // After a crash, pages at the end may still stand in the log.
  if (bytes + logBytes < promised)
    throw damaged(file, `was cut short: it has ${bytes} of ${promised} bytes`);
}

/** @param anew how to go on without what is missing. Default: in another folder. */
export function damaged(file: string, how: string, anew?: string): TaskError {
  return new TaskError('DATA_UNUSABLE', `The database ${file} ${how}.`, {
    hint: `Put it back from a backup, with its -wal file if there is one. ${anew ?? 'To begin anew with no tasks and no keys, name another folder with --data.'}`,
  });
}

interface Measured {
  readonly bytes: number;
  /** How long its head says it is (0 where the head does not tell). */
  readonly promised: number;
  /** Its head tells of some, or cannot be read. */
  readonly tables: boolean;
}

function measure(file: string): Measured {
  let fd: number;
  try {
    fd = openSync(file, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      return { bytes: 0, promised: 0, tables: false };
    throw error;
  }
  try {
    const head = Buffer.alloc(HEAD_BYTES);
    const read = readSync(fd, head, 0, HEAD_BYTES, 0);
    const bytes = fstatSync(fd).size;
    if (read < HEAD_BYTES) return { bytes, promised: bytes === 0 ? 0 : HEAD_BYTES, tables: true };
    // SQLite's file format: the schema cookie is 0 until something is in the schema; the page count holds where both
    // change counters agree; a page of 1 stands for 65536.
    const tables = head.readUInt32BE(40) !== 0;
    if (head.readUInt32BE(24) !== head.readUInt32BE(92)) return { bytes, promised: 0, tables };
    const page = head.readUInt16BE(16);
    return { bytes, promised: head.readUInt32BE(28) * (page === 1 ? 65_536 : page), tables };
  } finally {
    closeSync(fd);
  }
}

const HEAD_BYTES = 100;

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
