import { instantText } from '../core/instant.ts';
import { PassingMap } from '../core/passing-map.ts';
import type { Clock } from '../ports/clock.ts';
import type { Disk } from '../ports/disk.ts';
import type { Log } from '../ports/log.ts';
import { GroupFolder } from './group-folder.ts';
import {
  closingLine,
  type MarkRecord,
  markLine,
  type Origin,
  type ProgressMark,
  type RunningRecord,
  runningLines,
} from './records.ts';
import { type Place, SegmentWriter } from './segment-writer.ts';
import { turnOver } from './turn-over.ts';

/**
 * The attempts that are held: what claims brought. If one of a claim may not be repeated, its records are durable before
 * `record` resolves; else they only survive the end of the process, which costs no fsync: after a power cut such an attempt
 * runs again when its lease is over. The two lie in files of their own, so that no sync holds up what needs none. Where all of
 * a claim are `pure`, and so begin beside the write, it is made at the end of this turn of the event loop.
 */
export class RunningBook {
  readonly #clock: Clock;
  readonly #folder: GroupFolder;
  readonly #durable: SegmentWriter;
  readonly #kept: SegmentWriter;
  readonly #open = new PassingMap<string, Open>();
  /** By attempt, its record's way to the disk: what is said of it follows. */
  readonly #coming = new PassingMap<string, Coming>();

  constructor(
    ports: { readonly disk: Disk; readonly clock: Clock; readonly log: Log },
    path: string,
    nextName: () => string,
  ) {
    this.#clock = ports.clock;
    const closing = (ids: readonly string[]) => closingLine('ended', ids, this.#now());
    this.#folder = new GroupFolder(ports.disk, path, ports.log, closing);
    const writer = (durable: boolean) =>
      new SegmentWriter(ports, path, nextName, this.#folder, {
        durable,
        eagerMarks: true,
        closing,
        onUnsure: (file) => this.#markAgain(file),
      });
    this.#durable = writer(true);
    this.#kept = writer(false);
  }

  has(attemptId: string): boolean {
    return this.#open.has(attemptId) || this.#coming.has(attemptId);
  }

  /** A record found at the start. */
  found(file: string, attemptId: string, keep: boolean): void {
    this.#open.set(attemptId, { file, writer: this.#kept });
    this.#folder.add(file, attemptId, keep);
  }

  drop(file: string): void {
    this.#folder.drop(file);
  }

  /** The disk obeys again. */
  removeRefused(): void {
    this.#folder.removeRefused();
  }

  async record(attempts: readonly RunningRecord[], origin: Origin): Promise<void> {
    const fresh = attempts.filter(({ attemptId }) => !this.has(attemptId));
    if (fresh.length === 0) return;
    const mustBeDurable = fresh.some(({ effectSafety }) => effectSafety === 'non-idempotent');
    const writer = mustBeDurable ? this.#durable : this.#kept;
    // Nobody waits for it: their hosts get them first, and that they do is in the same write.
    const marks = fresh.every(({ effectSafety }) => effectSafety === 'pure')
      ? new Map<string, string>()
      : undefined;
    const coming: Coming = {
      marks,
      written: marks
        ? turnOver().then(() => {
            coming.marks = undefined;
            return write(writer, fresh, origin, marks);
          })
        : write(writer, fresh, origin),
    };
    for (const { attemptId } of fresh) this.#coming.set(attemptId, coming);
    try {
      const { file } = await coming.written;
      for (const { attemptId } of fresh) this.#open.set(attemptId, { file, writer });
    } finally {
      for (const { attemptId } of fresh) this.#coming.delete(attemptId);
    }
  }

  async markBegun(attemptId: string, host?: string): Promise<void> {
    const line = this.#mark('begun', attemptId, host === undefined ? undefined : { host });
    const coming = this.#coming.get(attemptId);
    if (coming?.marks !== undefined) {
      coming.marks.set(attemptId, line);
      await coming.written.catch(() => {});
      return;
    }
    await this.#add(attemptId, line, (open) => {
      open.begun = line;
    });
  }

  async markProgress(attemptId: string, { percent, message }: ProgressMark): Promise<void> {
    await this.#add(attemptId, this.#mark('progress', attemptId, { percent, message }));
  }

  async #add(attemptId: string, line: string, kept?: (open: Open) => void): Promise<void> {
    const coming = this.#coming.get(attemptId);
    if (coming !== undefined) await coming.written.catch(() => {});
    const open = this.#open.get(attemptId);
    if (open === undefined) return;
    kept?.(open);
    await open.writer.mark(open.file, line);
  }

  /** The system may have forgotten what of this file was not durable, and a mark must survive this process. */
  #markAgain(file: string): void {
    for (const open of this.#open.values())
      if (open.file === file && open.begun !== undefined)
        open.writer.mark(file, open.begun).catch(() => {});
  }

  /**
   * Nothing is owed for the attempts any more, or reports say it; told to the disk in its time, unless `hurry` is called.
   * Resolves when the disk knows; never rejects.
   */
  end(attemptIds: readonly string[]): Promise<unknown> {
    const files = new Map<string, Ending>();
    const gone: Promise<unknown>[] = [];
    for (const attemptId of attemptIds) {
      const open = this.#open.get(attemptId);
      if (!open) {
        const coming = this.#coming.get(attemptId)?.written.then(
          () => this.end([attemptId]),
          () => {},
        );
        if (coming !== undefined) gone.push(coming);
        continue;
      }
      this.#open.delete(attemptId);
      let ending = files.get(open.file);
      if (ending === undefined) {
        ending = { writer: open.writer, ids: [] };
        files.set(open.file, ending);
      }
      ending.ids.push(attemptId);
    }
    for (const [file, { writer, ids }] of files) gone.push(writer.close(file, ids));
    return gone.length === 1 ? (gone[0] as Promise<unknown>) : Promise.all(gone);
  }

  /** What has ended is told to the disk now. */
  hurry(): void {
    this.#durable.hurry();
    this.#kept.hurry();
  }

  async idle(): Promise<void> {
    await Promise.allSettled([...this.#coming.values()].map(({ written }) => written));
    await this.#durable.idle();
    await this.#kept.idle();
    await this.#folder.idle();
  }

  /** Nothing is written after this. */
  async closeFiles(): Promise<void> {
    await this.#durable.end();
    await this.#kept.end();
  }

  #mark(
    mark: MarkRecord['mark'],
    attemptId: string,
    facts?: Pick<MarkRecord, 'host' | 'percent' | 'message'>,
  ): string {
    return markLine(mark, attemptId, this.#now(), facts);
  }

  #now(): string {
    return instantText(this.#clock.wall());
  }
}

/** The records of a claim on their way to the disk. */
interface Coming {
  readonly written: Promise<Place>;
  /** Marks by attempt that go with them; `undefined`: what is marked now follows. */
  marks: Map<string, string> | undefined;
}

/** Of one file. */
interface Ending {
  readonly writer: SegmentWriter;
  readonly ids: string[];
}

interface Open {
  readonly file: string;
  readonly writer: SegmentWriter;
  /** The line that says that it began. */
  begun?: string;
}

function write(
  writer: SegmentWriter,
  records: readonly RunningRecord[],
  origin: Origin,
  marks?: ReadonlyMap<string, string>,
): Promise<Place> {
  let text = '';
  for (const line of runningLines(records, origin))
    text += line.text + (marks?.get(line.attemptId) ?? '');
  const ids = records.map(({ attemptId }) => attemptId);
  return writer.write(ids, text, Buffer.byteLength(text));
}
