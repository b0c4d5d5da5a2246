import { join } from 'node:path';
import type { Clock } from '../ports/clock.ts';
import type { Disk } from '../ports/disk.ts';
import type { Log } from '../ports/log.ts';
import { DurableFolder } from './durable-folder.ts';
import { GroupFolder } from './group-folder.ts';
import {
  encodeLine,
  type MarkRecord,
  type Origin,
  type ProgressMark,
  type RunningRecord,
} from './records.ts';

/**
 * The attempts that are held: what a claim brought, one file for each claim. If one of them may not be repeated,
 * the file is durable before `record` resolves; else it only survives the end of the process, which costs no fsync:
 * after a power cut such an attempt runs again when its lease is over.
 */
export class RunningBook {
  readonly #disk: Disk;
  readonly #clock: Clock;
  readonly #path: string;
  readonly #folder: GroupFolder;
  readonly #durable: DurableFolder;
  readonly #nextName: () => string;
  /** Attempt → its file. */
  readonly #open = new Map<string, string>();

  constructor(
    ports: { readonly disk: Disk; readonly clock: Clock; readonly log: Log },
    path: string,
    nextName: () => string,
  ) {
    this.#disk = ports.disk;
    this.#clock = ports.clock;
    this.#path = path;
    this.#folder = new GroupFolder(ports.disk, path, ports.log);
    this.#durable = new DurableFolder(ports.disk, path);
    this.#nextName = nextName;
  }

  has(attemptId: string): boolean {
    return this.#open.has(attemptId);
  }

  /** A record found at the start. */
  found(file: string, attemptId: string, keep: boolean): void {
    this.#open.set(attemptId, file);
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
    const fresh = attempts.filter(({ attemptId }) => !this.#open.has(attemptId));
    if (fresh.length === 0) return;
    const lines = fresh.map((one) => encodeLine(runningLine(one, origin)));
    const file = this.#nextName();
    const text = lines.map((line) => line.text).join('');
    if (fresh.some(({ effectSafety }) => effectSafety === 'non-idempotent'))
      await this.#durable.write(file, text);
    else await this.#append(file, text);
    for (const { attemptId } of fresh) this.found(file, attemptId, false);
  }

  async markBegun(attemptId: string, host?: string): Promise<void> {
    const facts = host === undefined ? {} : { host };
    await this.#add(attemptId, this.#mark('begun', attemptId, facts));
  }

  async markProgress(attemptId: string, { percent, message }: ProgressMark): Promise<void> {
    const facts = {
      ...(percent === undefined ? {} : { percent }),
      ...(message === undefined ? {} : { message }),
    };
    await this.#add(attemptId, this.#mark('progress', attemptId, facts));
  }

  async #add(attemptId: string, line: string): Promise<void> {
    const file = this.#open.get(attemptId);
    if (file !== undefined) await this.#folder.mark(file, line);
  }

  /** Nothing is owed for the attempt any more, or a report says it. Resolves when the disk knows; never rejects. */
  async end(attemptId: string): Promise<void> {
    const file = this.#open.get(attemptId);
    if (file === undefined) return;
    this.#open.delete(attemptId);
    await this.#folder.close(file, attemptId, this.#mark('ended', attemptId));
  }

  idle(): Promise<void> {
    return this.#folder.idle();
  }

  async #append(file: string, text: string): Promise<void> {
    const path = join(this.#path, file);
    try {
      await this.#disk.appendFile(path, text);
    } catch (error) {
      await this.#disk.remove(path).catch(() => {});
      throw error;
    }
  }

  #mark(
    mark: MarkRecord['mark'],
    attemptId: string,
    facts: Pick<MarkRecord, 'host' | 'percent' | 'message'> = {},
  ): string {
    const at = new Date(this.#clock.wall()).toISOString();
    return encodeLine({ kind: 'mark', mark, attemptId, at, ...facts } as MarkRecord).text;
  }
}

/** Field by field: what else a caller's object holds (an input, say) does not belong here. */
function runningLine(one: RunningRecord, origin: Origin) {
  return {
    kind: 'running',
    ...origin,
    ...(one.project !== undefined && { project: one.project }),
    taskId: one.taskId,
    attemptId: one.attemptId,
    fence: one.fence,
    leaseToken: one.leaseToken,
    type: one.type,
    schemaVersion: one.schemaVersion,
    effectSafety: one.effectSafety,
    effectGate: one.effectGate,
    claimedAt: one.claimedAt,
  };
}
