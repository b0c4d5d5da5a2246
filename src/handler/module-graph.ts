/**
 * Which modules a handler consists of: recorded while a probe loads them, told for each of its files afterwards. A module
 * that two handlers share is loaded once, so it is the graph that counts, not the events.
 */
import { statSync } from 'node:fs';
import Module from 'node:module';
import { pathToFileURL } from 'node:url';
import { addLateModules } from './late-modules.ts';

/** A module of the user's own, as it was loaded. */
export interface RecordedModule {
  readonly url: string;
  /** As Node's loader names it; absent where it leaves the format to the file's ending. */
  readonly format?: string | undefined;
  readonly source: string;
}

/** `specifier`, asked for from `from`, is `url`. For `require` it is the folder that asks, as in Node's own cache. */
export interface Resolution {
  readonly how: 'import' | 'require';
  readonly from: string;
  readonly specifier: string;
  readonly url: string;
  readonly format?: string | undefined;
}

/** All that loading one file took. */
export interface HandlerModules {
  /** Where the file really lies: links are followed. */
  readonly entry: string;
  readonly modules: readonly RecordedModule[];
  readonly resolutions: readonly Resolution[];
  /** Files of packages: where they lie, their size and time. */
  readonly packages: readonly string[];
  /** Modules of the user's own that are no text in UTF-8: what consists of them is not kept. */
  readonly noText?: readonly string[];
}

export interface ModuleGraph {
  /** `undefined` where the file was not loaded, or is no module of the user's own (below `node_modules`). */
  of(file: string): HandlerModules | undefined;
}

/** Records from now on. `undefined` before Node 22.15, which cannot tell. */
export function recordModules(): ModuleGraph | undefined {
  if (Module.registerHooks === undefined) return undefined;
  const graph = new Recorded();
  // What was loaded before is found in a cache of which hooks hear nothing: whoever asks is told to us here.
  const inside = Module as unknown as { _load(request: string, parent?: Requiring): unknown };
  const { _load } = inside;
  inside._load = function (this: unknown, ...given) {
    graph.requires(given[1]);
    return _load.apply(this, given);
  };
  Module.registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context);
      graph.resolved(specifier, context.parentURL, context.conditions, found.url, found.format);
      return found;
    },
    load(url, context, next) {
      const loaded = next(url, context);
      graph.loaded(url, loaded.format, loaded.source);
      return loaded;
    },
  });
  return graph;
}

/** `require` asks with other conditions than `import`. */
export function askedBy(conditions: readonly string[] | undefined): 'import' | 'require' {
  return conditions?.includes('require') ? 'require' : 'import';
}

/** What a resolution is known by. */
export function resolutionKey(how: string, from: string, specifier: string): string {
  return `${how}\0${from}\0${specifier}`;
}

/** Of a module that asks: itself for `import`, its folder for `require`. */
export function asker(how: 'import' | 'require', parent: string): string {
  return how === 'import' ? parent : parent.slice(0, parent.lastIndexOf('/') + 1);
}

/** A module on the disk that belongs to the user, not to a package. */
export function isLocal(url: string): boolean {
  return url.startsWith('file:') && !url.includes('/node_modules/') && !url.startsWith(OURS);
}

/** Our own files, in sources and in `dist/`: a handler that imports this package gets them. */
const OURS = new URL(/\.ts$|\/chunks\/[^/]*$/.test(import.meta.url) ? '..' : '.', import.meta.url)
  .href;

/** A CommonJS module, as far as it matters here. */
interface Requiring {
  readonly filename?: string | null;
  readonly children?: readonly Requiring[];
}

class Recorded implements ModuleGraph {
  readonly #modules = new Map<string, RecordedModule>();
  /** By file: URL → size and time when it was loaded. */
  readonly #packages = new Map<string, string>();
  readonly #noText = new Set<string>();
  readonly #resolutions = new Map<string, Resolution>();
  /** By the module that asked, exactly. */
  readonly #targets = new Map<string, Set<string>>();
  /** Modules that have required others, by their file; those that `createRequire` makes are several. */
  readonly #requiring = new Map<string, Set<Requiring>>();
  /** What nobody of the user's asked for: the files that we loaded ourselves. */
  readonly #entries = new Map<string, string>();

  resolved(
    specifier: string,
    parent: string | undefined,
    conditions: readonly string[] | undefined,
    url: string,
    format: string | null | undefined,
  ): void {
    if (!url.startsWith('file:')) return;
    if (specifier.startsWith('file:')) this.#entries.set(specifier, url);
    if (parent === undefined) return;
    const targets = this.#targets.get(parent) ?? new Set();
    this.#targets.set(parent, targets.add(url));
    if (!isLocal(url)) return;
    const how = askedBy(conditions);
    const from = asker(how, parent);
    const key = resolutionKey(how, from, specifier);
    // The first look at a CommonJS module, for its names, knows no format yet.
    const known = format ?? this.#resolutions.get(key)?.format;
    this.#resolutions.set(key, { how, from, specifier, url, ...(known && { format: known }) });
  }

  loaded(url: string, format: string | null | undefined, source: unknown): void {
    if (!url.startsWith('file:')) return;
    if (!isLocal(url)) {
      if (!url.startsWith(OURS)) this.#packages.set(url, stamp(url));
      return;
    }
    const text = textOf(source);
    const kind = format == null || TEXTS.has(format);
    if (kind && text === undefined && source != null) this.#noText.add(url);
    // From the disk, then: when it changes, so does what is made of it.
    if ((text === undefined && source != null) || !kind) this.#packages.set(url, stamp(url));
    if (text === undefined || !kind) return;
    const known = format ?? this.#modules.get(url)?.format;
    this.#modules.set(url, { url, source: text, ...(known && { format: known }) });
  }

  requires(parent: Requiring | undefined): void {
    if (typeof parent?.filename !== 'string') return;
    const url = pathToFileURL(parent.filename).href;
    const same = this.#requiring.get(url) ?? new Set();
    this.#requiring.set(url, same.add(parent));
  }

  of(file: string): HandlerModules | undefined {
    const entry = this.#entries.get(pathToFileURL(file).href);
    const reached = entry === undefined ? new Set<string>() : this.#reachedFrom(entry);
    const noText = [...reached].filter((url) => this.#noText.has(url));
    if (entry === undefined || (!this.#modules.has(entry) && noText.length === 0)) return undefined;
    const modules = new Map<string, RecordedModule>();
    const askers = new Set<string>();
    for (const url of reached) {
      const module = this.#modules.get(url);
      if (module === undefined) continue;
      modules.set(url, module);
      askers.add(url).add(asker('require', url));
    }
    const resolutions = new Map(
      [...this.#resolutions].filter(([, { from, url }]) => modules.has(url) && askers.has(from)),
    );
    addLateModules(modules, resolutions);
    return {
      entry,
      modules: sorted(modules),
      resolutions: sorted(resolutions),
      packages: [...reached]
        .flatMap((url) => {
          const known = this.#packages.get(url);
          return known === undefined ? [] : [`${url} ${known}`];
        })
        .sort(),
      ...(noText.length > 0 && { noText: noText.sort() }),
    };
  }

  #reachedFrom(entry: string): Set<string> {
    const reached = new Set([entry]);
    // Grows while it is walked.
    for (const url of reached) {
      for (const target of this.#targets.get(url) ?? []) reached.add(target);
      for (const one of this.#requiring.get(url) ?? [])
        for (const { filename } of one.children ?? [])
          if (typeof filename === 'string') reached.add(pathToFileURL(filename).href);
    }
    return reached;
  }
}

/** `null` (as some give for CommonJS) is no format either. */
const TEXTS: ReadonlySet<string> = new Set([
  'module',
  'commonjs',
  'module-typescript',
  'commonjs-typescript',
  'json',
]);

/** What is no text, or none in UTF-8, is not kept. */
function textOf(source: unknown): string | undefined {
  if (typeof source === 'string') return source;
  if (!ArrayBuffer.isView(source) && !(source instanceof ArrayBuffer)) return undefined;
  try {
    return STRICT.decode(source as Uint8Array);
  } catch {
    return undefined;
  }
}

const STRICT = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** By their keys, so that the same is written the same. */
function sorted<V>(map: ReadonlyMap<string, V>): V[] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value);
}

function stamp(url: string): string {
  try {
    const { size, mtimeMs } = statSync(new URL(url));
    return `${size} ${mtimeMs}`;
  } catch {
    return 'gone';
  }
}
