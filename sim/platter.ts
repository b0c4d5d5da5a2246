import type { SimulatedRandom } from './random.ts';

/**
 * What a disk holds, twice: as the system shows it now, and as it would be found after a power cut. File
 * contents become durable by `syncFile`, names by `syncFolder`, folders at once. No time and no faults
 * here: `SimulatedDisk` does the same in steps.
 */
export class Platter {
  readonly folders = new Set<string>(['/']);
  #shown = new Map<string, Map<string, Content>>();
  #durable = new Map<string, Map<string, Content>>();
  /** Name operations that no folder sync has covered, in order. A rename is one operation. */
  #open: NameChange[][] = [];

  addFolder(folder: string): void {
    for (let at = folder; !this.folders.has(at); at = parentOf(at)) this.folders.add(at);
  }

  get(file: string): Content | undefined {
    return this.#shown.get(parentOf(file))?.get(nameOf(file));
  }

  /** A file's content as text; empty where there is none. */
  text(file: string): string {
    return Buffer.from(this.get(file)?.bytes ?? []).toString();
  }

  /** Files and folders in it. */
  names(folder: string): string[] {
    const files = [...(this.#shown.get(folder)?.keys() ?? [])];
    const below = [...this.folders].filter((f) => f !== '/' && parentOf(f) === folder).map(nameOf);
    return [...files, ...below].sort();
  }

  /** One operation on names; `undefined` removes. */
  change(...changes: [file: string, content: Content | undefined][]): void {
    const operation = changes.map(([file, content]) => ({
      folder: parentOf(file),
      name: nameOf(file),
      content,
    }));
    for (const change of operation) apply(this.#shown, change);
    this.#open.push(operation);
  }

  /** @param bytes what it held when the sync began */
  syncFile(content: Content, bytes = content.bytes): void {
    if (!content.forgotten) content.durable = bytes;
  }

  /** What a sync that begins now will cover. */
  operations(): ReadonlySet<readonly NameChange[]> {
    return new Set(this.#open);
  }

  syncFolder(folder: string, covered = this.operations()): void {
    for (const operation of this.#open) {
      if (!covered.has(operation)) continue;
      for (const change of operation) if (change.folder === folder) apply(this.#durable, change);
      // In its place: a sync of another folder that is under way covers the rest of it.
      const rest = operation.filter((change) => change.folder !== folder);
      operation.splice(0, operation.length, ...rest);
    }
    this.#open = this.#open.filter((operation) => operation.length > 0);
  }

  /** Bytes of all files, as shown. */
  usedBytes(): number {
    let bytes = 0;
    for (const names of this.#shown.values())
      for (const content of names.values()) bytes += content.bytes.length - (content.holes ?? 0);
    return bytes;
  }

  /**
   * The power goes. What was not synced is lost; with a generator each of these operations may have reached
   * the disk all the same, and of bytes that were added a part, or zeros in their place.
   */
  powerCut(random?: SimulatedRandom): void {
    for (const operation of this.#open) {
      if (random?.chance(0.5)) for (const change of operation) apply(this.#durable, change);
    }
    this.#open = [];
    this.#shown = new Map();
    for (const [folder, names] of this.#durable) {
      for (const content of names.values()) content.bytes = content.durable = left(content, random);
      this.#shown.set(folder, new Map(names));
    }
  }

  /** Everything shown, for traces and comparisons. */
  tree(): Record<string, string> {
    const tree: Record<string, string> = {};
    for (const [folder, names] of [...this.#shown].sort()) {
      for (const [name, content] of [...names].sort())
        tree[`${folder}/${name}`.replace('//', '/')] = shown(content.bytes);
    }
    return tree;
  }
}

/** Of what is far too long to be read, only how long it is. */
function shown(bytes: Uint8Array): string {
  return bytes.length > SHOWN_BYTES ? `${bytes.length} bytes` : Buffer.from(bytes).toString();
}

const SHOWN_BYTES = 2 * 1_048_576;

export interface Content {
  bytes: Uint8Array;
  durable: Uint8Array;
  modifiedMs: number;
  /** A sync of it failed: what was added before it or after may never be durable. */
  forgotten?: boolean;
  /** Bytes of it that take no room. */
  holes?: number;
}

interface NameChange {
  readonly folder: string;
  readonly name: string;
  readonly content: Content | undefined;
}

export function parentOf(path: string): string {
  return path.slice(0, Math.max(1, path.lastIndexOf('/')));
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

function apply(tree: Map<string, Map<string, Content>>, change: NameChange): void {
  let names = tree.get(change.folder);
  if (!names) {
    names = new Map();
    tree.set(change.folder, names);
  }
  if (change.content) names.set(change.name, change.content);
  else names.delete(change.name);
}

/** Of a file that grew a beginning of the rest may be left; of one that was written over a mixture. */
function left(content: Content, random?: SimulatedRandom): Uint8Array {
  const { bytes, durable } = content;
  if (!random || bytes === durable) return durable;
  if (!Buffer.from(bytes.subarray(0, durable.length)).equals(durable)) {
    const written = random.below(bytes.length + 1);
    return Buffer.concat([bytes.subarray(0, written), durable.subarray(written)]);
  }
  if (bytes.length <= durable.length) return durable;
  const kept = bytes.slice(0, durable.length + random.below(bytes.length - durable.length + 1));
  if (random.chance(0.25)) kept.fill(0, durable.length);
  return kept;
}

/** `after` behind `before`, in its place where that has room: a file grows by thousands of writes. */
export function joined(before: Uint8Array, after: Uint8Array): Uint8Array {
  const bytes = before.length + after.length;
  let whole = grown.get(before);
  if (!whole || whole.length < bytes) {
    whole = new Uint8Array(bytes < SMALL_BYTES ? bytes : 2 * bytes);
    whole.set(before);
  }
  whole.set(after, before.length);
  grown.delete(before);
  const made = whole.subarray(0, bytes);
  grown.set(made, whole);
  return made;
}

/** What a file holds → the room in which it can grow: only its latest content has it. */
const grown = new WeakMap<Uint8Array, Uint8Array>();
const SMALL_BYTES = 4_096;

/** Absolute, with `/` and nothing after it. */
export function clean(path: string): string {
  const parts = path.replaceAll('\\', '/').split('/').filter(Boolean);
  return `/${parts.join('/')}`;
}
