import { join } from 'node:path';
import { spoolDefaults } from '../core/defaults.ts';
import { instantText } from '../core/instant.ts';
import { PassingMap } from '../core/passing-map.ts';
import type { Clock } from '../ports/clock.ts';
import type { Disk } from '../ports/disk.ts';
import type { Log } from '../ports/log.ts';
import { DurableFolder } from './durable-folder.ts';
import { causeCode, spoolError } from './errors.ts';
import { GroupFolder } from './group-folder.ts';
import { GroupWriter } from './group-writer.ts';
import { closingLine, decodeLine, encodeLine, type Line, type ReportRecord } from './records.ts';
import type { RunningBook } from './running-book.ts';
import { type Place, SegmentWriter, type Written } from './segment-writer.ts';
import type { Found } from './settle.ts';
import { type SpooledReport, spooledReport } from './spooled-report.ts';

/**
 * The reports that are owed. Phases of one: *owed* (durable, to be sent) → *done* (answered or set aside as stale);
 * or *owed* → *held back* (refused and set aside; stays on disk until its follow-up is durable or `letGo` says that there is
 * none, so that a crash in between repeats the refusal instead of losing the follow-up) → *done*.
 */
export class ReportBook {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #running: RunningBook;
  readonly #folder: GroupFolder;
  readonly #segments: SegmentWriter;
  /** Of large ones, each a file of its own. */
  readonly #large: GroupWriter;
  /** By attempt, oldest first. */
  readonly #open = new PassingMap<string, Open>();
  /** Attempts whose report is being written: two of one attempt never lie in one file. */
  readonly #writing = new PassingMap<string, Promise<unknown>>();
  /** Of large lines that were placed a moment ago. */
  readonly #offsets = new Map<string, number>();
  readonly #closing = new Set<Promise<unknown>>();
  /** Of those that wait for their running records: resolves when they do not any more. */
  readonly #told = new Set<Promise<unknown>>();
  #owed = 0;
  #owedBytes = 0;

  constructor(
    ports: { readonly disk: Disk; readonly clock: Clock; readonly log: Log },
    path: string,
    nextName: () => string,
    running: RunningBook,
  ) {
    this.#disk = ports.disk;
    this.#running = running;
    this.#path = path;
    const closing = (ids: readonly string[]) =>
      closingLine('answered', ids, instantText(ports.clock.wall()));
    this.#folder = new GroupFolder(ports.disk, path, ports.log, closing);
    this.#segments = new SegmentWriter(ports, path, nextName, this.#folder, {
      durable: true,
      eagerMarks: false,
      closing,
    });
    const durable = new DurableFolder(ports.disk, path);
    this.#large = new GroupWriter(durable, nextName, (file, ids, offsets) => {
      for (const [i, attemptId] of ids.entries()) {
        // All of a group at once: answering the first must not remove the file of the second.
        this.#folder.add(file, attemptId);
        this.#offsets.set(attemptId, offsets[i] ?? 0);
      }
    });
  }

  get size(): { readonly records: number; readonly bytes: number } {
    return { records: this.#owed, bytes: this.#owedBytes };
  }

  /** When the oldest owed report was spooled (RFC 3339). */
  get oldestAt(): string | undefined {
    for (const { spooled, heldBack } of this.#open.values())
      if (!heldBack) return spooled.spooledAt;
    return undefined;
  }

  has(attemptId: string): boolean {
    return this.#open.has(attemptId);
  }

  /** A report found at the start. */
  found({ file, offset, record, bytes, sum }: Found<ReportRecord>, keep: boolean): SpooledReport {
    this.#folder.add(file, record.body.attemptId, keep);
    return this.#add({ file, offset }, spooledReport(record, bytes, sum), Promise.resolve());
  }

  drop(file: string): void {
    this.#folder.drop(file);
  }

  /** The disk obeys again. */
  removeRefused(): void {
    this.#folder.removeRefused();
  }

  /** See `Spool.expectReport`. */
  expect(): void {
    this.#segments.expect();
  }

  async write(record: ReportRecord): Promise<SpooledReport> {
    const { attemptId } = record.body;
    const before = this.#writing.get(attemptId);
    const written = (async () => {
      await before?.catch(() => {});
      const line = encodeLine(record);
      const place = await this.#place(attemptId, line);
      return { place, line };
    })();
    this.#writing.set(attemptId, written);
    try {
      const { place, line } = await written;
      const earlier = this.#close([attemptId], true);
      const after = Promise.all([earlier, this.#running.end([attemptId])]);
      return this.#add(place, spooledReport(record, line.bytes, line.sum), after);
    } finally {
      if (this.#writing.get(attemptId) === written) this.#writing.delete(attemptId);
    }
  }

  /**
   * Many at once, of an attempt each, in one pass. In the same order: what is durable, and a promise where one is refused, or
   * goes by its own way and may take longer.
   */
  async writeEach(
    records: readonly ReportRecord[],
  ): Promise<(SpooledReport | Promise<SpooledReport>)[]> {
    const together: { id: string; line: Line }[] = [];
    const alone = new Map<number, Promise<SpooledReport>>();
    for (const [i, record] of records.entries()) {
      const { attemptId } = record.body;
      const line = encoded(record);
      // Another one of its attempt goes first, it is large, or no line can be made of it: each by its own way.
      if (
        line === undefined ||
        line.bytes > spoolDefaults.segmentRecordBytes ||
        this.#writing.has(attemptId)
      ) {
        const own = this.write(record);
        own.catch(() => {});
        alone.set(i, own);
      } else together.push({ id: attemptId, line });
    }
    const written = this.#segments.writeEach(together);
    for (const { id } of together) this.#writing.set(id, written);
    const places = await written;
    const durable: string[] = [];
    const earlier: Promise<unknown>[] = [];
    for (const [i, { id }] of together.entries()) {
      if (this.#writing.get(id) === written) this.#writing.delete(id);
      if (places[i]?.place === undefined) continue;
      durable.push(id);
      if (this.#open.has(id)) earlier.push(this.#close([id], true));
    }
    const ended = this.#running.end(durable);
    const after = earlier.length === 0 ? ended : Promise.all([...earlier, ended]);
    let next = 0;
    return records.map((record, i) => {
      const own = alone.get(i);
      if (own !== undefined) return own;
      const { bytes, sum } = (together[next] as (typeof together)[number]).line;
      const { place, error } = places[next++] as Written;
      return place
        ? this.#add(place, spooledReport(record, bytes, sum), after)
        : Promise.reject(error);
    });
  }

  async #place(attemptId: string, line: Line): Promise<Place> {
    const { text, bytes } = line;
    if (bytes <= spoolDefaults.segmentRecordBytes)
      return this.#segments.write([attemptId], text, bytes);
    const file = await this.#large.write(attemptId, line);
    const offset = this.#offsets.get(attemptId) ?? 0;
    this.#offsets.delete(attemptId);
    return { file, offset };
  }

  /**
   * Done with. A record that is not open any more is fine. Resolves when the disk knows.
   * @param haste at once, not with the next record
   */
  done(all: readonly SpooledReport[], haste: boolean): Promise<unknown> {
    const ids: string[] = [];
    for (const spooled of all) {
      const { attemptId } = spooled.head;
      if (this.#open.get(attemptId)?.spooled === spooled) ids.push(attemptId);
    }
    return this.#close(ids, haste);
  }

  /**
   * Reads it from the disk. Rejects with the disk's error, or with `SPOOL_READ_FAILED` where it is not there as it was
   * written: it is done with, or somebody has altered its file.
   */
  async read(spooled: SpooledReport): Promise<ReportRecord> {
    const { attemptId, op } = spooled.head;
    const open = this.#open.get(attemptId);
    if (open?.spooled !== spooled)
      throw spoolError('SPOOL_READ_FAILED', `The ${op} of ${attemptId} is done with.`);
    const path = join(this.#path, open.file);
    const line = await this.#disk.readPart(path, open.offset, spooled.bytes - 1);
    const read = decodeLine(line);
    if (read.ok && read.sum === spooled.sum && read.record.kind === 'report') return read.record;
    const why = read.ok ? 'is another one' : read.why;
    throw spoolError(
      'SPOOL_READ_FAILED',
      `The ${op} of ${attemptId} cannot be read back: its line in ${path} ${why}.`,
    );
  }

  /** For its set-aside: of one that somebody removed or altered, what is still known is worth keeping. */
  async readOrHead(spooled: SpooledReport, log: Log): Promise<ReportRecord> {
    try {
      return await this.read(spooled);
    } catch (error) {
      const code = causeCode(error);
      const { head, bytes: _, sum: __, ...rest } = spooled;
      if (code !== 'SPOOL_READ_FAILED' && code !== 'ENOENT')
        throw spoolError(
          'SPOOL_READ_FAILED',
          `The ${head.op} of ${head.attemptId} cannot be read from the spool now (${code}).`,
          { cause: error },
        );
      log.error(
        'spool.body-lost',
        `The ${head.op} of ${head.attemptId} is set aside without what it said: ${(error as Error).message}`,
        { attemptId: head.attemptId },
      );
      return { kind: 'report', ...rest, body: head };
    }
  }

  holdBack(spooled: SpooledReport): void {
    const open = this.#open.get(spooled.head.attemptId);
    if (open?.spooled !== spooled || open.heldBack) return;
    open.heldBack = true;
    this.#count(spooled, -1);
  }

  /** Nothing follows the refused report of this attempt. */
  letGo(attemptId: string): Promise<unknown> {
    return this.#open.get(attemptId)?.heldBack ? this.#close([attemptId], true) : Promise.resolve();
  }

  async idle(): Promise<void> {
    await Promise.allSettled(this.#writing.values());
    await this.#large.idle();
    await this.#segments.idle();
    await this.#running.idle();
    await Promise.all([...this.#open.values()].map(({ after }) => after));
    await Promise.all(this.#told);
    await this.#segments.idle();
    await Promise.all(this.#closing);
    await this.#folder.idle();
  }

  /** Nothing is written after this. */
  closeFiles(): Promise<void> {
    return this.#segments.end();
  }

  #add(place: Place, spooled: SpooledReport, after: Promise<unknown>): SpooledReport {
    const { file, offset } = place;
    this.#open.set(spooled.head.attemptId, { file, offset, spooled, after, heldBack: false });
    this.#count(spooled, 1);
    return spooled;
  }

  /** @param haste it does not wait for the next record. */
  #close(attemptIds: readonly string[], haste: boolean): Promise<unknown> {
    const files = new Map<string, { readonly ids: string[]; readonly after: Promise<unknown>[] }>();
    for (const attemptId of attemptIds) {
      const open = this.#open.get(attemptId);
      if (!open) continue;
      this.#open.delete(attemptId);
      if (!open.heldBack) this.#count(open.spooled, -1);
      let closed = files.get(open.file);
      if (closed === undefined) {
        closed = { ids: [], after: [] };
        files.set(open.file, closed);
      }
      closed.ids.push(attemptId);
      // Of a pass they are one.
      if (closed.after.at(-1) !== open.after) closed.after.push(open.after);
    }
    if (haste && files.size > 0) this.#running.hurry();
    const all: Promise<unknown>[] = [];
    for (const [file, { ids, after }] of files) {
      // The running records go first: a crash in between must not leave one without its report.
      const told = Promise.all(after);
      this.#told.add(told);
      const closing = told.then(() => {
        this.#told.delete(told);
        const gone = this.#segments.close(file, ids);
        if (haste) this.#segments.hurry();
        return gone;
      });
      this.#closing.add(closing);
      all.push(closing.finally(() => this.#closing.delete(closing)));
    }
    return all.length === 1 ? (all[0] as Promise<unknown>) : Promise.all(all);
  }

  #count(spooled: SpooledReport, by: 1 | -1): void {
    this.#owed += by;
    this.#owedBytes += by * spooled.bytes;
  }
}

/** `undefined`: it holds a value that is no JSON. */
function encoded(record: ReportRecord): Line | undefined {
  try {
    return encodeLine(record);
  } catch {
    return undefined;
  }
}

interface Open extends Place {
  readonly spooled: SpooledReport;
  readonly after: Promise<unknown>;
  heldBack: boolean;
}
