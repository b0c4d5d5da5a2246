import { join } from 'node:path';
import { cutText, type TaskError } from '../../contract/index.ts';
import { outboxDefaults } from '../../core/defaults.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Disk } from '../../ports/disk.ts';
import type { Log } from '../../ports/log.ts';
import type { Random } from '../../ports/random.ts';
import { AgeJudge } from '../../spool/age-judge.ts';
import { DurableFolder } from '../../spool/durable-folder.ts';
import { causeCode } from '../../spool/errors.ts';
import { GroupFolder } from '../../spool/group-folder.ts';
import { GroupWriter } from '../../spool/group-writer.ts';
import { isTemporary, setAsideName } from '../../spool/layout.ts';
import { oddity } from '../../spool/private.ts';
import { encodeLine } from '../../spool/records.ts';
import { AsideFolder, corruptRecord } from '../../spool/set-aside.ts';
import { diskError } from './errors.ts';
import { OutboxFolders } from './folders.ts';
import { intentFile, intentFileParts, type OutboxLayout, outboxLayout } from './layout.ts';
import {
  type IntentBody,
  type IntentMark,
  type IntentRecord,
  type ReadIntents,
  type RefusedIntent,
  readIntents,
  type Tried,
} from './records.ts';
import { OutboxRoom } from './room.ts';

export interface StorePorts {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** An intent on disk. */
export interface StoredIntent {
  readonly file: string;
  readonly record: IntentRecord;
  readonly bytes: number;
  readonly sum: string;
  readonly tried?: Tried | undefined;
}

/**
 * Intents on disk. Many processes may use one folder at once: each writes files of its own name, whole, and never
 * touches another's but to mark or remove what was answered. No lock is needed for that, since an intent that two of them
 * send is one task all the same.
 */
export class IntentStore {
  readonly layout: OutboxLayout;
  /** Of this process, in the names of its files. */
  readonly tag: string;
  readonly #ports: StorePorts;
  readonly #folders: OutboxFolders;
  readonly #groups: GroupFolder;
  readonly #writer: GroupWriter;
  readonly #refused: AsideFolder;
  readonly #corrupt: AsideFolder;
  /** Answered, by file, while it is there: not sent again, whatever the disk remembers of it. */
  readonly #done = new Map<string, Set<string>>();
  /** Bad lines that were copied already. */
  readonly #copied = new Set<string>();
  /** Files that were told to be unreadable. */
  readonly #toldUnreadable = new Set<string>();
  readonly #room: OutboxRoom;
  readonly #ages: AgeJudge;
  #lastMs = 0;

  constructor(ports: StorePorts, folder: string) {
    const { disk, clock, random, log } = ports;
    this.#ports = ports;
    this.layout = outboxLayout(folder);
    this.#folders = new OutboxFolders(ports, this.layout);
    this.tag = hex(random.bytes(8));
    this.#ages = new AgeJudge(clock);
    this.#room = new OutboxRoom(ports, this.layout, () => this.names());
    const closing = (ids: readonly string[]) =>
      ids.map((id) => encodeLine(this.#mark('answered', id)).text).join('');
    this.#groups = new GroupFolder(disk, this.layout.intents, log, closing);
    const nextName = () => {
      this.#lastMs = Math.max(this.#lastMs + 1, Math.trunc(clock.wall()));
      return intentFile(this.#lastMs, this.tag);
    };
    const durable = new DurableFolder(disk, this.layout.intents);
    this.#writer = new GroupWriter(durable, nextName, (file, ids) => {
      // All of a group at once: the answer to the first must not remove the file of the second.
      for (const id of ids) this.#groups.add(file, id);
    });
    this.#refused = new AsideFolder(disk, this.layout.refused, []);
    this.#corrupt = new AsideFolder(disk, this.layout.corrupt, []);
  }

  /** Makes the folders. Throws `OUTBOX_UNSAFE` or `OUTBOX_UNWRITABLE`. */
  async open(): Promise<void> {
    await this.#folders.make();
    const { folder } = this.layout;
    try {
      // What is there is older, also where the clock went back since.
      const last = (await this.names()).at(-1);
      this.#lastMs = (last === undefined ? undefined : intentFileParts(last)?.ms) ?? 0;
    } catch (cause) {
      throw diskError('OUTBOX_UNWRITABLE', `The outbox ${folder} cannot be made or read`, cause);
    }
  }

  /**
   * Makes an intent durable. Those that come together share a file. Throws `OUTBOX_FULL` or `OUTBOX_UNWRITABLE`, and
   * then it is not stored.
   */
  async write(body: IntentBody, where: { serviceUrl: string; project?: string | undefined }) {
    const { random } = this.#ports;
    const { serviceUrl, project } = where;
    const record: IntentRecord = {
      kind: 'intent',
      id: hex(random.bytes(8)),
      serviceUrl,
      ...(project !== undefined && { project }),
      storedAt: this.#at(),
      body,
    };
    const line = encodeLine(record);
    await this.#room.take(line.bytes);
    try {
      const file = await this.#folders.within(() => this.#writer.write(record.id, line));
      return { file, record, bytes: line.bytes, sum: line.sum } satisfies StoredIntent;
    } catch (cause) {
      this.#room.giveBack(line.bytes);
      const what = `The submission of ${body.type}@${body.schemaVersion} could not be written to the outbox ${this.layout.folder}, so it is not stored`;
      throw diskError('OUTBOX_UNWRITABLE', what, cause);
    }
  }

  /** Intent files, oldest first. Throws `OUTBOX_UNREADABLE`. */
  async names(): Promise<string[]> {
    const { intents } = this.layout;
    try {
      const all = await this.#folders.within(() => this.#ports.disk.list(intents));
      const names = all.filter((name) => intentFileParts(name) !== undefined);
      const there = new Set(names);
      for (const file of this.#done.keys()) if (!there.has(file)) this.#done.delete(file);
      return names;
    } catch (cause) {
      throw diskError('OUTBOX_UNREADABLE', `The outbox folder ${intents} cannot be read`, cause);
    }
  }

  isOwn(file: string): boolean {
    return intentFileParts(file)?.tag === this.tag;
  }

  /** What is open in a file; nothing where it is gone or not ours to open. A file in which nothing is open is removed. */
  async read(file: string): Promise<StoredIntent[]> {
    const { disk, log } = this.#ports;
    const path = join(this.layout.intents, file);
    let content: Uint8Array;
    try {
      const seen = await disk.look(path);
      const odd = seen && oddity(seen, 'file');
      if (odd !== undefined) throw Object.assign(new Error(odd), { code: odd });
      if (!seen) return [];
      content = await disk.readFile(path);
    } catch (cause) {
      const why = causeCode(cause);
      if (why === undefined) throw cause;
      if (why === 'EMFILE' || why === 'ENFILE')
        throw diskError('OUTBOX_UNREADABLE', `${path} cannot be read now`, cause);
      // Absent: answered and removed since the listing, by another process.
      if (why !== 'ENOENT' && !this.#toldUnreadable.has(file)) {
        this.#toldUnreadable.add(file);
        const text = `${path} cannot be read (${why}); it stays as it is.`;
        log.error('outbox.unreadable', text, { file });
      }
      return [];
    }
    const { open, bad, newer } = readIntents(content);
    const keep = newer > 0 || !(await this.#putAside(file, bad));
    const done = this.#done.get(file);
    const left = open.filter(({ record }) => !done?.has(record.id));
    for (const { record } of left) this.#groups.add(file, record.id, keep);
    if (left.length === 0 && !keep) this.#groups.drop(file);
    return left.map((one) => ({ ...one, file }));
  }

  /** It was answered, or is set aside: its record goes. Resolves when the disk knows, or could not be told. */
  async done({ file, record, bytes }: StoredIntent): Promise<void> {
    const before = this.#done.get(file) ?? new Set();
    if (before.has(record.id)) return;
    this.#done.set(file, before.add(record.id));
    this.#room.giveBack(bytes);
    this.#groups.add(file, record.id);
    await this.#groups.close(file, [record.id]);
  }

  /** Durable when it resolves; then its record goes. Rejects with the disk's error: it stays and is refused again. */
  async setAside(intent: StoredIntent, error: TaskError): Promise<void> {
    const { record, sum } = intent;
    const { code, message, details } = error;
    const aside: RefusedIntent = {
      kind: 'refused',
      setAsideAt: this.#at(),
      answer: { code, message, ...(details?.status !== undefined && { status: details.status }) },
      record,
    };
    await this.#refused.put(setAsideName(record.id, 'intent', sum), aside);
    await this.done(intent);
  }

  /** It was sent and is still wanted: told to people by `interlock tasks outbox list`. Never rejects. */
  async tried({ file, record }: StoredIntent, tries: number, error: TaskError): Promise<void> {
    const told = { tries, code: error.code, why: cutText(error.message, 500) };
    const mark = { ...this.#mark('tried', record.id), ...told };
    await this.#groups.mark(file, encodeLine(mark).text).catch(() => {});
  }

  /** It goes to this project and to no other. Resolves when the file says so, or the disk refuses; never rejects. */
  async bind({ file, record }: StoredIntent, project: string): Promise<void> {
    const mark = { ...this.#mark('for', record.id), project };
    await this.#groups.mark(file, encodeLine(mark).text).catch(() => {});
  }

  /** How the last pass went; `undefined`: everything was sent. Never rejects. */
  async lastTry(failed: { error: TaskError; times: number } | undefined): Promise<void> {
    const { disk, log } = this.#ports;
    const { lastTry } = this.layout;
    try {
      if (!failed) return await disk.remove(lastTry);
      const { code, message } = failed.error;
      const told = { times: failed.times, code, why: cutText(message, 500) };
      await disk.writeFile(
        lastTry,
        encodeLine({ kind: 'last-try', at: this.#at(), ...told } as { kind: string }).text,
      );
    } catch (error) {
      log.debug('outbox.last-try', 'How the last try went could not be written down.', { error });
    }
  }

  /** By the one who has the lock: what killed writers left, and set-asides past their time. Never rejects. */
  async tidy(): Promise<void> {
    const { disk, clock, log } = this.#ports;
    const { intents, refused, corrupt, folder } = this.layout;
    try {
      for (const at of [folder, intents, refused, corrupt])
        for (const name of await disk.list(at)) {
          if (!isTemporary(name)) continue;
          const seen = await disk.stat(join(at, name));
          if (seen && clock.wall() - seen.modifiedMs > outboxDefaults.leftoverMs)
            await disk.remove(join(at, name));
        }
      const agesCount = this.#ages.agesCount();
      for (const at of [refused, corrupt]) {
        const names = (await disk.list(at)).filter((name) => name.endsWith('.jsonl'));
        await new AsideFolder(disk, at, names).tidy(clock, log, agesCount);
      }
    } catch (error) {
      log.debug('outbox.tidy', 'The outbox could not be tidied now.', { error });
    }
  }

  /** Resolves when everything under way on the disk is done. */
  async idle(): Promise<void> {
    await this.#writer.idle();
    await this.#groups.idle();
  }

  async #putAside(file: string, bad: ReadIntents['bad']): Promise<boolean> {
    for (const one of bad) {
      const from = `intents/${file}`;
      const target = `${file.slice(0, -'.jsonl'.length)}-${one.line}.jsonl`;
      if (this.#copied.has(target)) continue;
      try {
        await this.#corrupt.put(target, corruptRecord(from, one, this.#at()));
      } catch {
        return false;
      }
      this.#copied.add(target);
      const where = join(this.layout.corrupt, target);
      this.#ports.log.error(
        'outbox.corrupt',
        `Line ${one.line} of ${from} ${one.why}. It was put into ${where}.`,
        { file: from, line: one.line },
      );
    }
    return true;
  }

  #mark(mark: IntentMark['mark'], id: string) {
    return { kind: 'mark', mark, id, at: this.#at() } as const;
  }

  #at(): string {
    return new Date(this.#ports.clock.wall()).toISOString();
  }
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
