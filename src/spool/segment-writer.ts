import { spoolDefaults } from '../core/defaults.ts';
import type { Clock, Timer } from '../ports/clock.ts';
import type { Disk } from '../ports/disk.ts';
import { causeCode } from './errors.ts';
import { type Closing, type GroupFolder, marksText, removeAll } from './group-folder.ts';
import { groupSize, NO_ROOM } from './group-writer.ts';
import type { Line } from './records.ts';
import { makeSegment, type Place, type Segment, type Waiting, type Written } from './segment.ts';
import { turnOver } from './turn-over.ts';

export type { Place, Written } from './segment.ts';

export interface SegmentOptions {
  /** Records are durable before they are told to be written. */
  readonly durable: boolean;
  /** Marks do not wait for the sync of a group that is under way. */
  readonly eagerMarks: boolean;
  readonly closing: Closing;
  /** A sync of this file failed: of what is not synced in it anything may be gone. */
  readonly onUnsure?: (file: string) => void;
}

/**
 * Adds records to a file that stays open, the *segment*, and marks of them with the next records or by themselves. Woken by
 * a record, a mark, the end of a sync; whatever waits then is one write, and one sync makes the group durable while the next
 * gathers. A new segment begins when the last one is large, holds a record of the same attempt already (a mark is about all
 * records of an attempt in its file), or has failed in any way: after a failed sync nothing is known of what was not synced
 * before. One to which nothing was added for a moment ends too: an idle spool has no file open, and no empty one. That a record is
 * done with has no haste: it is said with what is written next, or by the removal of the file. What is open
 * in a segment that ends is handed to the `GroupFolder`, which removes it after its last record.
 */
export class SegmentWriter {
  readonly #disk: Disk;
  readonly #clock: Clock;
  readonly #path: string;
  readonly #nextName: () => string;
  readonly #ended: GroupFolder;
  readonly #options: SegmentOptions;
  #waiting: Waiting[] = [];
  #current: Segment | undefined;
  #running: Promise<void> | undefined;
  #syncing: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  /** A file is to be there before the record is. */
  #expected = false;
  #linger: Timer | undefined;
  /** Less after a group found no room: a large record must not keep the small ones from the room that is left. */
  #groupMax = Number.POSITIVE_INFINITY;

  constructor(
    ports: { readonly disk: Disk; readonly clock: Clock },
    path: string,
    nextName: () => string,
    ended: GroupFolder,
    options: SegmentOptions,
  ) {
    this.#disk = ports.disk;
    this.#clock = ports.clock;
    this.#path = path;
    this.#nextName = nextName;
    this.#ended = ended;
    this.#options = options;
  }

  /**
   * Lines that go together, by the ids of their records. Resolves when they are there (and durable, where that is promised);
   * rejects with the disk's error, and then none of them counts.
   */
  write(ids: readonly string[], text: string, bytes: number): Promise<Place> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ids, text, bytes, resolve, reject });
      this.#wake();
    });
  }

  /**
   * A record comes soon: what a new segment needs (a file, its name on the disk) is done beside whatever comes before it. One in
   * which nothing is written goes as others do that nothing was added to. What the disk refuses is met again by the record.
   */
  expect(): void {
    if (this.#current || this.#waiting.length > 0) return;
    this.#expected = true;
    this.#wake();
  }

  /** Adds a mark to a file. Resolves when it is there; rejects with the disk's error. */
  mark(file: string, line: string): Promise<void> {
    const segment = this.#current;
    if (segment?.name !== file) return this.#ended.mark(file, line);
    return new Promise((resolve, reject) => {
      segment.marks.push({ line, resolve, reject });
      segment.hurried = true;
      this.#wake();
    });
  }

  /**
   * Lines of records that do not depend on each other, one promise for all: where each is, or the disk's error. What else
   * is true of `write` is true of each.
   */
  writeEach(records: readonly { readonly id: string; readonly line: Line }[]): Promise<Written[]> {
    return new Promise((resolve) => {
      const written: Written[] = [];
      let left = records.length;
      const settle = (i: number, how: Written) => {
        written[i] = how;
        if (--left === 0) resolve(written);
      };
      for (const [i, { id, line }] of records.entries())
        this.#waiting.push({
          ids: [id],
          text: line.text,
          bytes: line.bytes,
          resolve: (place) => settle(i, { place }),
          reject: (error) => settle(i, { error }),
        });
      if (left === 0) resolve(written);
      else this.#wake();
    });
  }

  /**
   * These records in the file are done with: said with whatever is written next, or by the end of the segment, unless `hurry`
   * is called. Resolves when that is on the disk, or could not be put there.
   */
  close(file: string, ids: readonly string[]): Promise<void> {
    const segment = this.#current;
    if (segment?.name !== file) return this.#ended.close(file, ids);
    if (!removeAll(segment.open, ids)) return Promise.resolve();
    return new Promise((resolve) => {
      segment.marks.push({ done: ids, resolve, reject: () => resolve() });
      this.#rest();
    });
  }

  /** What waits for the next write goes now. */
  hurry(): void {
    if (!this.#current || this.#current.marks.length === 0) return;
    this.#current.hurried = true;
    this.#wake();
  }

  /** Resolves when nothing is left to do; then there is no segment with nothing open. */
  async idle(): Promise<void> {
    for (;;) {
      while (this.#running || this.#syncing) await (this.#running ?? this.#syncing);
      // With its file goes whatever was to be said in it.
      if (this.#current?.open.size === 0) this.#end(this.#current);
      if (!this.#current?.marks.length) break;
      this.hurry();
    }
    await this.#closing;
  }

  /** To be called when idle: what comes later begins a new segment. */
  async end(): Promise<void> {
    if (this.#current) this.#end(this.#current);
    await this.#closing;
  }

  #wake(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      // It came in between the last look and now.
      if (this.#due()) this.#wake();
      else this.#rest();
    });
  }

  #due(): 'group' | 'marks' | 'file' | undefined {
    if (this.#waiting.length > 0 && !this.#syncing) return 'group';
    if (this.#expected) return 'file';
    const hurried = this.#current?.hurried ?? false;
    return hurried && (this.#options.eagerMarks || !this.#syncing) ? 'marks' : undefined;
  }

  async #run(): Promise<void> {
    // Whoever was woken together with the first one comes along.
    await undefined;
    for (let due = this.#due(); due; due = this.#due()) {
      if (due === 'group') await this.#group();
      else if (due === 'file') await this.#prepare();
      else if (this.#current) await this.#add(this.#current, '', 0).catch(() => {});
    }
  }

  async #group(): Promise<void> {
    const fits = groupSize(this.#waiting.map(({ bytes }) => bytes));
    const group = this.#waiting.splice(0, Math.min(fits, this.#groupMax));
    let segment: Segment | undefined;
    try {
      segment = await this.#segmentFor(group);
      let text = '';
      let bytes = 0;
      for (const one of group) {
        text += one.text;
        bytes += one.bytes;
      }
      const offset = await this.#add(segment, text, bytes);
      for (const { ids } of group) for (const id of ids) segment.ids.add(id);
      if (!this.#options.durable) this.#written(segment, group, offset);
      else this.#sync(segment, group, offset);
    } catch (error) {
      if (segment) this.#end(segment);
      this.#refused(group, error);
    }
  }

  async #segmentFor(group: readonly Waiting[]): Promise<Segment> {
    this.#linger?.cancel();
    this.#linger = undefined;
    const last = this.#current;
    if (last && !last.failed && last.bytes < spoolDefaults.segmentBytes) {
      if (!group.some(({ ids }) => ids.some((id) => last.ids.has(id)))) return last;
    }
    if (last) this.#end(last);
    return this.#begin();
  }

  async #begin(): Promise<Segment> {
    this.#current = await makeSegment(this.#disk, this.#path, this.#nextName());
    return this.#current;
  }

  async #prepare(): Promise<void> {
    this.#expected = false;
    // First the handler gets its input.
    await turnOver();
    if (this.#current || this.#waiting.length > 0) return;
    const segment = await this.#begin().catch(() => undefined);
    if (segment === undefined) return;
    segment.named = this.#disk.syncFolder(this.#path);
    segment.named.catch(() => {
      segment.failed = true;
    });
  }

  /** Marks that wait, then the text. @returns where the text begins. */
  async #add(segment: Segment, text: string, bytes: number): Promise<number> {
    const marks = segment.marks.splice(0);
    segment.hurried = false;
    // A newline ends what a write before may have left torn.
    const before = `${segment.failed ? '\n' : ''}${marksText(marks, this.#options.closing)}`;
    try {
      await segment.file.add(before + text);
    } catch (error) {
      segment.failed = true;
      for (const { reject } of marks) reject(error);
      throw error;
    }
    const offset = segment.bytes + Buffer.byteLength(before);
    segment.bytes = offset + bytes;
    for (const { resolve } of marks) resolve();
    return offset;
  }

  #sync(segment: Segment, group: readonly Waiting[], offset: number): void {
    const bytes = segment.file.sync();
    segment.named ??= this.#disk.syncFolder(this.#path);
    this.#syncing = Promise.allSettled([bytes, segment.named]).then((both) => {
      this.#syncing = undefined;
      const failed = both.find((one) => one.status === 'rejected');
      if (failed) this.#unsure(segment, group, failed.reason);
      else this.#written(segment, group, offset);
      if (this.#due()) this.#wake();
      else this.#rest();
    });
  }

  #written(segment: Segment, group: readonly Waiting[], offset: number): void {
    this.#groupMax = Number.POSITIVE_INFINITY;
    // All of a group at once: answering the first must not remove the file of the second.
    for (const { ids } of group) for (const id of ids) segment.open.add(id);
    let at = offset;
    for (const { bytes, resolve } of group) {
      resolve({ file: segment.name, offset: at });
      at += bytes;
    }
  }

  /** What was durable before stays so; of the rest nothing is told, and nothing more is added but marks. */
  #unsure(segment: Segment, group: readonly Waiting[], error: unknown): void {
    // They may be there all the same, and count for nothing.
    for (const { ids } of group)
      segment.marks.push({ done: ids, resolve: () => {}, reject: () => {} });
    segment.failed = true;
    this.#end(segment);
    this.#options.onUnsure?.(segment.name);
    this.#refused(group, error);
  }

  #refused(group: readonly Waiting[], error: unknown): void {
    if (group.length > 1 && NO_ROOM.has(causeCode(error) ?? '')) {
      this.#groupMax = group.length >> 1;
      this.#waiting.unshift(...group);
      return;
    }
    this.#groupMax = Number.POSITIVE_INFINITY;
    for (const { reject } of group) reject(error);
  }

  #end({ name, file, open, marks }: Segment): void {
    if (this.#current?.name !== name) return;
    this.#current = undefined;
    this.#linger?.cancel();
    this.#linger = undefined;
    this.#closing = Promise.all([this.#closing, file.close()]).then(() => {});
    this.#ended.takeOver(name, open, marks.splice(0));
  }

  /** Nothing is left to do: the segment ends in a moment, unless there is another record by then. */
  #rest(): void {
    if (!this.#current || this.#syncing || this.#linger) return;
    this.#linger = this.#clock.timer(spoolDefaults.segmentLingerMs, () => {
      this.#linger = undefined;
      // Else whoever is at work comes by here again.
      if (this.#current && !this.#running && !this.#syncing) this.#end(this.#current);
    });
  }
}
