import { join } from 'node:path';
import type { Disk } from '../ports/disk.ts';
import type { Log } from '../ports/log.ts';

/**
 * The group files of one folder: which records of each are still open, by an id (the attempt's, or an intent's). A file
 * whose last one is closed is removed; until then marks are appended to it. Woken by a mark or a close; one file at a time, whatever waits
 * for it together. Nothing here is fsynced: losing a mark or a removal to a power cut only sends a record again.
 */
export class GroupFolder {
  readonly #disk: Disk;
  readonly #folder: string;
  readonly #log: Log;
  readonly #closing: Closing;
  readonly #files = new Map<string, GroupFile>();
  /** Files with something to do, in order. */
  readonly #due = new Set<string>();
  /** Removals that the disk refused; tried again with the next ones. */
  readonly #refused = new Set<string>();
  #running: Promise<void> | undefined;

  constructor(disk: Disk, folder: string, log: Log, closing: Closing) {
    this.#closing = closing;
    this.#disk = disk;
    this.#folder = folder;
    this.#log = log;
  }

  /**
   * One more open record in a file. @param keep the file holds lines that are not ours to remove.
   */
  add(file: string, id: string, keep = false): void {
    const known = this.#files.get(file);
    if (known) known.open.add(id);
    else this.#files.set(file, { open: new Set([id]), keep, marks: [] });
  }

  /** A file without an open record, found at a start. */
  drop(file: string): void {
    this.#files.set(file, { open: new Set(), keep: false, marks: [] });
    this.#wake(file);
  }

  /** A file that was added to until now, with its open records and marks that it does not have yet. */
  takeOver(file: string, open: Set<string>, marks: Mark[]): void {
    this.#files.set(file, { open, keep: false, marks });
    if (open.size === 0 || marks.length > 0) this.#wake(file);
  }

  /** Appends a mark. Resolves when it is there; rejects with the disk's error. */
  mark(file: string, line: string): Promise<void> {
    const known = this.#files.get(file);
    if (!known) return Promise.resolve();
    return new Promise((resolve, reject) => {
      known.marks.push({ line, resolve, reject });
      this.#wake(file);
    });
  }

  /** These records in the file are done with. Resolves when that is on the disk, or could not be put there. */
  async close(file: string, ids: readonly string[]): Promise<void> {
    const known = this.#files.get(file);
    if (known === undefined || !removeAll(known.open, ids)) return;
    await new Promise<void>((resolve) => {
      known.marks.push({ done: ids, resolve, reject: () => resolve() });
      this.#wake(file);
    });
  }

  /** Tries again what the disk refused to remove. */
  removeRefused(): void {
    const [one] = this.#refused;
    if (one !== undefined) this.#wake(one);
  }

  /** Resolves when nothing is left to do. */
  async idle(): Promise<void> {
    while (this.#running) await this.#running;
  }

  #wake(file: string): void {
    this.#due.add(file);
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      // It came in between the last look and now.
      const [next] = this.#due;
      if (next !== undefined) this.#wake(next);
    });
  }

  async #run(): Promise<void> {
    // A batch of answers closes many in one go: mostly the file goes, and no mark is needed.
    await undefined;
    for (const file of this.#refused) this.#due.add(file);
    this.#refused.clear();
    for (const file of this.#due) {
      this.#due.delete(file);
      const known = this.#files.get(file);
      if (!known || (known.open.size === 0 && !known.keep)) await this.#remove(file, known);
      else await this.#append(file, known);
    }
  }

  async #remove(file: string, known: GroupFile | undefined): Promise<void> {
    const marks = known?.marks.splice(0) ?? [];
    this.#files.delete(file);
    try {
      await this.#disk.remove(join(this.#folder, file));
    } catch (error) {
      this.#refused.add(file);
      const path = join(this.#folder, file);
      this.#log.warn('spool.remove-failed', `${path} could not be removed; later.`, { error });
    }
    for (const { resolve } of marks) resolve();
  }

  async #append(file: string, known: GroupFile): Promise<void> {
    const marks = known.marks.splice(0);
    if (marks.length === 0) return;
    try {
      // The newline before it ends what an append before may have left torn.
      await this.#disk.appendFile(join(this.#folder, file), `\n${marksText(marks, this.#closing)}`);
      for (const { resolve } of marks) resolve();
    } catch (error) {
      const path = join(this.#folder, file);
      this.#log.debug('spool.mark-failed', `A mark could not be added to ${path}.`, { error });
      for (const { reject } of marks) reject(error);
    }
  }
}

/** @returns whether one of them was there. */
export function removeAll(open: Set<string>, ids: readonly string[]): boolean {
  let any = false;
  for (const id of ids) any = open.delete(id) || any;
  return any;
}

interface GroupFile {
  readonly open: Set<string>;
  readonly keep: boolean;
  readonly marks: Mark[];
}

/** The lines that say that nothing is owed for these records any more. */
export type Closing = (ids: readonly string[]) => string;

/** What marks add to their file. All that is done with is said together, made when it is written: mostly the file goes before. */
export function marksText(marks: readonly Mark[], closing: Closing): string {
  let text = '';
  const done: string[] = [];
  for (const mark of marks)
    if (mark.line !== undefined) text += mark.line;
    else for (const id of mark.done) done.push(id);
  return done.length === 0 ? text : text + closing(done);
}

/** A line to be added, or records that are done with; and who waits for it. */
export type Mark = (
  | { readonly line: string; readonly done?: undefined }
  | { readonly line?: undefined; readonly done: readonly string[] }
) & {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
};
