import type { Clock } from '../src/ports/clock.ts';
import type { Disk, OpenFile, Sight } from '../src/ports/disk.ts';
import { type DiskFault, type DiskStep, systemError } from './disk-fault.ts';
import { type Content, clean, joined, Platter, parentOf } from './platter.ts';
import type { SimulatedRandom } from './random.ts';

export type { DiskFault, DiskStep } from './disk-fault.ts';

/**
 * A disk that forgets at a crash what was not synced. It outlives the processes that use it: each one
 * mounts it, and what a process had under way when it crashed never settles.
 */
export class SimulatedDisk {
  readonly platter = new Platter();
  /** Every step that took effect, as `rename /spool/reports/1.jsonl`. */
  readonly trace: string[] = [];
  /** `false`: nothing is added to `trace`. */
  traces = true;
  /** Steps so far, those that failed included: the points at which it can crash. */
  steps = 0;
  /** ENOSPC above this. */
  capacityBytes = Number.POSITIVE_INFINITY;
  readonly #clock: Clock | undefined;
  readonly #faults = new Set<DiskFault & { left: number }>();
  /** Those whose process runs. */
  readonly #mounts = new Set<MountedDisk>();
  #temporaries = 0;
  #crashBefore: { step: number; crash: () => void } | undefined;

  constructor(clock?: Clock) {
    this.#clock = clock;
  }

  /** The disk for one process. */
  mount(): Disk {
    const step: Step = (kind, path, effect) => this.#step(mounted, kind, path, effect);
    const mounted = new MountedDisk(this, step, () => this.#temporaries++);
    this.#mounts.add(mounted);
    return mounted;
  }

  fail(fault: DiskFault): { clear(): void } {
    const known = { ...fault, left: fault.times ?? Number.POSITIVE_INFINITY };
    this.#faults.add(known);
    return { clear: () => this.#faults.delete(known) };
  }

  /** A process ends here (default: all that use it); what the system has, it keeps (kill -9). */
  kill(disk?: Disk): void {
    for (const mounted of this.#mounts)
      if (disk === undefined || disk === mounted) this.#mounts.delete(mounted);
  }

  /** The power goes: what was not synced is lost, or with a generator perhaps. */
  powerCut(random?: SimulatedRandom): void {
    this.kill();
    this.platter.powerCut(random);
  }

  /** Calls `crash` (which has to call `kill` or `powerCut`) before the n-th step from the beginning. */
  crashBefore(step: number, crash: () => void): { clear(): void } {
    const armed = { step, crash };
    this.#crashBefore = armed;
    return {
      clear: () => {
        if (this.#crashBefore === armed) this.#crashBefore = undefined;
      },
    };
  }

  modifiedMs(): number {
    return this.#clock?.wall() ?? 0;
  }

  async #step<T>(by: MountedDisk, kind: DiskStep, path: string, effect: () => T): Promise<T> {
    // Never at once: others may come in between, as on a real disk.
    await undefined;
    if (!this.#mounts.has(by)) return never();
    this.steps++;
    if (this.#crashBefore?.step === this.steps) {
      const { crash } = this.#crashBefore;
      this.#crashBefore = undefined;
      crash();
      return never();
    }
    const fault = this.#faultFor(kind, path);
    if (fault?.ms) await this.#clock?.sleep(fault.ms);
    if (!this.#mounts.has(by)) return never();
    if (fault?.code) throw systemError(fault.code, kind, path);
    const made = effect();
    if (this.traces) this.trace.push(`${kind} ${path}`);
    return made;
  }

  #faultFor(kind: DiskStep, path: string): DiskFault | undefined {
    for (const fault of this.#faults) {
      const kinds = fault.step === undefined ? [kind] : [fault.step].flat();
      if (fault.left <= 0 || !kinds.includes(kind) || !(fault.path?.test(path) ?? true)) continue;
      fault.left--;
      return fault;
    }
    return undefined;
  }
}

type Step = <T>(kind: DiskStep, path: string, effect: () => T) => Promise<T>;

class MountedDisk implements Disk {
  readonly #disk: SimulatedDisk;
  readonly #step: Step;
  readonly #nextTemporary: () => number;

  constructor(disk: SimulatedDisk, step: Step, nextTemporary: () => number) {
    this.#disk = disk;
    this.#step = step;
    this.#nextTemporary = nextTemporary;
  }

  makeFolder(folder: string): Promise<void> {
    return this.#step('makeFolder', clean(folder), () => this.#platter.addFolder(clean(folder)));
  }

  async writeFile(path: string, data: string | Uint8Array): Promise<void> {
    const file = clean(path);
    const bytes = typeof data === 'string' ? Buffer.from(data) : data.slice();
    const temporary = `${file}.${this.#nextTemporary()}`;
    const content = await this.#step('open', file, () => this.#make(temporary));
    try {
      await this.#step('write', file, () => this.#add(content, bytes, file));
      await this.#step('syncFile', file, () => this.#platter.syncFile(content));
      await this.#step('rename', file, () =>
        this.#platter.change([temporary, undefined], [file, content]),
      );
    } catch (error) {
      this.#platter.change([temporary, undefined]);
      throw error;
    }
  }

  /** All the same here: it packs nothing. */
  takeRoom(path: string, bytes: number): Promise<void> {
    return this.writeFile(path, new Uint8Array(bytes));
  }

  async appendFile(path: string, data: string | Uint8Array): Promise<void> {
    const file = clean(path);
    const content = await this.#step(
      'open',
      file,
      () => this.#platter.get(file) ?? this.#make(file),
    );
    const bytes = typeof data === 'string' ? Buffer.from(data) : data;
    await this.#step('append', file, () => this.#add(content, bytes, file));
  }

  async writeOver(path: string, data: string | Uint8Array): Promise<void> {
    const file = clean(path);
    const bytes = Buffer.from(data);
    const content = await this.#step('open', file, () => this.#mustBe(file));
    await this.#step('writeOver', file, () => {
      // The blocks that it has need no room.
      const blocks = Math.ceil(content.bytes.length / BLOCK_BYTES) * BLOCK_BYTES;
      const room = this.#disk.capacityBytes - this.#platter.usedBytes();
      if (bytes.length > blocks && bytes.length - content.bytes.length > room)
        throw systemError('ENOSPC', 'write', file);
      content.bytes = bytes;
      content.modifiedMs = this.#disk.modifiedMs();
    });
    await this.#step('syncFile', file, () => this.#platter.syncFile(content));
  }

  async makeOpen(path: string): Promise<OpenFile> {
    const file = clean(path);
    const content = await this.#step('open', file, () => {
      if (this.#platter.get(file)) throw systemError('EEXIST', 'open', file);
      return this.#make(file);
    });
    let size = 0;
    return {
      add: async (data) => {
        const before = content.bytes.length;
        const bytes = Buffer.from(data);
        try {
          await this.#step('append', file, () => this.#add(content, bytes, file));
          size += bytes.length;
        } catch (error) {
          content.bytes = content.bytes.slice(0, before);
          throw error;
        }
      },
      sync: async () => {
        const least = size;
        await this.#syncContent(content, file);
        if (content.bytes.length < least) throw systemError('EIO', 'sync', file);
      },
      close: async () => {},
    };
  }

  async syncFile(path: string): Promise<void> {
    const file = clean(path);
    const content = await this.#step('open', file, () => this.#mustBe(file));
    await this.#syncContent(content, file);
  }

  /** After one that fails the system holds for durable what it has, though it is not: a later sync keeps nothing of it. */
  async #syncContent(content: Content, file: string): Promise<void> {
    // Not what comes while it is under way.
    const { bytes } = content;
    try {
      await this.#step('syncFile', file, () => this.#platter.syncFile(content, bytes));
    } catch (error) {
      content.forgotten = true;
      throw error;
    }
    if (this.#platter.get(file) !== content) throw systemError('ENOENT', 'sync', file);
  }

  syncFolder(folder: string): Promise<void> {
    // Not what comes while it is under way.
    const covered = this.#platter.operations();
    return this.#step('syncFolder', clean(folder), () => {
      this.#mustBeFolder(clean(folder));
      this.#platter.syncFolder(clean(folder), covered);
    });
  }

  readFile(path: string): Promise<Uint8Array> {
    return this.#step('read', clean(path), () => this.#mustBe(clean(path)).bytes.slice());
  }

  readPart(path: string, offset: number, bytes: number): Promise<Uint8Array> {
    return this.#step('read', clean(path), () =>
      this.#mustBe(clean(path)).bytes.slice(offset, offset + bytes),
    );
  }

  list(folder: string): Promise<string[]> {
    return this.#step('list', clean(folder), () => this.#platter.names(clean(folder)));
  }

  stat(path: string): ReturnType<Disk['stat']> {
    return this.#step('stat', clean(path), () => {
      const content = this.#platter.get(clean(path));
      if (!content)
        return this.#platter.folders.has(clean(path))
          ? { bytes: 0, modifiedMs: 0, allocatedBytes: 0 }
          : undefined;
      const { bytes, modifiedMs, holes = 0 } = content;
      const blocks = Math.ceil((bytes.length - holes) / BLOCK_BYTES);
      return { bytes: bytes.length, modifiedMs, allocatedBytes: blocks * BLOCK_BYTES };
    });
  }

  /** It knows one user, who keeps everything to himself. */
  look(path: string): Promise<Sight | undefined> {
    return this.#step('look', clean(path), () => {
      const isFile = this.#platter.get(clean(path)) !== undefined;
      if (!isFile && !this.#platter.folders.has(clean(path))) return undefined;
      return { kind: isFile ? 'file' : 'folder', ours: true, others: 'nothing' };
    });
  }

  restrict(path: string): Promise<void> {
    return this.#step('restrict', clean(path), () => {});
  }

  remove(path: string): Promise<void> {
    return this.#step('remove', clean(path), () => {
      if (this.#platter.get(clean(path))) this.#platter.change([clean(path), undefined]);
    });
  }

  freeBytes(folder: string): Promise<number | undefined> {
    const { capacityBytes } = this.#disk;
    return this.#step('stat', clean(folder), () =>
      Math.max(0, capacityBytes - this.#platter.usedBytes()),
    );
  }

  rename(from: string, to: string): Promise<void> {
    return this.#step('rename', clean(to), () => {
      this.#mustBeFolder(parentOf(clean(to)));
      const content = this.#mustBe(clean(from));
      this.#platter.change([clean(from), undefined], [clean(to), content]);
    });
  }

  get #platter(): Platter {
    return this.#disk.platter;
  }

  #make(file: string): Content {
    this.#mustBeFolder(parentOf(file));
    const none = new Uint8Array();
    const content = { bytes: none, durable: none, modifiedMs: this.#disk.modifiedMs() };
    this.#platter.change([file, content]);
    return content;
  }

  /** Adds what there is room for, as a real disk does, then says that it is full. */
  #add(content: Content, bytes: Uint8Array, file: string): void {
    const room = Math.max(0, this.#disk.capacityBytes - this.#platter.usedBytes());
    content.bytes = joined(content.bytes, bytes.subarray(0, room));
    content.modifiedMs = this.#disk.modifiedMs();
    if (bytes.length > room) throw systemError('ENOSPC', 'write', file);
  }

  #mustBe(file: string): Content {
    const content = this.#platter.get(file);
    if (!content) throw systemError('ENOENT', 'open', file);
    return content;
  }

  #mustBeFolder(folder: string): void {
    if (!this.#platter.folders.has(folder)) throw systemError('ENOENT', 'open', folder);
  }
}

/** Of common file systems. */
const BLOCK_BYTES = 4_096;

/** What a crashed process waits for. A fresh one each time, so that the waiting can be collected. */
function never(): Promise<never> {
  return new Promise(() => {});
}
