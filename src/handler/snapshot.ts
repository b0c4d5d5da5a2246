/**
 * The code of a handler as it was loaded, in one file: a probe writes it, hosts load it, whatever has become of the
 * handlers folder by then. Modules keep their addresses, so `import.meta.url`, data files and packages beside them are
 * found as ever; what is not in it (packages, what is imported later, WebAssembly, addons) comes from the disk.
 */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import Module from 'node:module';
import { join, posix } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { errorText } from './failure.ts';
import {
  askedBy,
  asker,
  type HandlerModules,
  type RecordedModule,
  resolutionKey,
} from './module-graph.ts';
import type { KeptCode, LoadedCode } from './protocol.ts';
import { sha256 } from './sha256.ts';

/** Of one handler: far above any code of a person's, and bundles of a whole program. */
const KEPT_BYTES = 32 * 1_048_576;

/** Where the code of that id lies in a folder of kept code. */
export function keptFile(folder: string, id: string): string {
  return join(folder, `${id}.json`);
}

/** Writes it whole or not at all. Never throws. */
export function keepCode(handler: HandlerModules, folder: string): LoadedCode {
  const text = JSON.stringify(handler);
  const code = { hash: codeHash(handler), id: idOf(text) };
  const bytes = Buffer.byteLength(text);
  if (bytes > KEPT_BYTES) {
    const most = KEPT_BYTES / 1_048_576;
    return { ...code, notKept: `its modules have ${bytes} bytes, at most ${most} MiB are kept` };
  }
  const [noText] = handler.noText ?? [];
  if (noText !== undefined)
    return { ...code, notKept: `${fileURLToPath(noText)} is no text in UTF-8` };
  const file = keptFile(folder, code.id);
  const unfinished = `${file}.${process.pid}`;
  try {
    if (isThere(file, text)) return code;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(unfinished, text, { mode: 0o600, flag: 'wx' });
    renameSync(unfinished, file);
    return code;
  } catch (error) {
    try {
      rmSync(unfinished);
    } catch {
      // It is not there, or goes with the folder.
    }
    return { ...code, notKept: `it could not be written to ${folder}: ${errorText(error)}` };
  }
}

/** Whole: one that was damaged is written anew. */
function isThere(file: string, text: string): boolean {
  try {
    return readFileSync(file, 'utf8') === text;
  } catch {
    return false;
  }
}

/** Of the text of all modules and how they lie to the handler's own file: a copy elsewhere has the same. */
export function codeHash({ entry, modules }: HandlerModules): string {
  const hash = crypto().createHash('sha256');
  const home = posix.dirname(pathOf(entry));
  const named = modules.map(
    ({ url, source }) => [posix.relative(home, pathOf(url)), source] as const,
  );
  for (const [path, source] of named.sort(([a], [b]) => (a < b ? -1 : 1))) {
    // Lengths first, so that no text can pass for the next path.
    hash.update(`${Buffer.byteLength(path)}:${path}${Buffer.byteLength(source)}:`).update(source);
  }
  return hash.digest('hex');
}

/**
 * From now on what is kept is loaded as it was, under the addresses that it had. Once, before the file is loaded.
 * Throws an Error where the file is not what was kept.
 */
export function loadKept(file: string, kept: KeptCode): void {
  const handler = readKept(kept);
  const modules = new Map<string, RecordedModule>();
  for (const module of handler.modules) modules.set(module.url, module);
  const known = new Map(
    handler.resolutions.map((one) => [resolutionKey(one.how, one.from, one.specifier), one]),
  );
  const asked = pathToFileURL(file).href;
  Module.registerHooks({
    resolve(specifier, context, next) {
      if (specifier === asked) {
        const { format } = modules.get(handler.entry) ?? {};
        return { url: handler.entry, ...(format && { format }), shortCircuit: true };
      }
      const { parentURL } = context;
      if (parentURL === undefined) return next(specifier, context);
      const how = askedBy(context.conditions);
      const found = known.get(resolutionKey(how, asker(how, parentURL), specifier));
      if (found === undefined) return next(specifier, context);
      const { url, format } = found;
      return { url, ...(format && { format }), shortCircuit: true };
    },
    load(url, context, next) {
      const module = modules.get(url);
      if (module === undefined) return next(url, context);
      const format = module.format ?? context.format ?? undefined;
      // Without one, Node goes by the file's ending.
      return { source: module.source, shortCircuit: true, format } as ReturnType<typeof next>;
    },
  });
}

function pathOf(url: string): string {
  return url.slice('file://'.length);
}

function readKept({ file, id }: KeptCode): HandlerModules {
  const text = readFileSync(file, 'utf8');
  if (idOf(text) !== id) throw new Error(`${file} is not what was kept there`);
  return JSON.parse(text) as HandlerModules;
}

function idOf(text: string): string {
  return text.length <= PLAIN_CHARS
    ? sha256(text)
    : crypto().createHash('sha256').update(text).digest('hex');
}

/** Above it a hash in plain JavaScript takes longer than loading `node:crypto`. */
const PLAIN_CHARS = 65_536;

/** Only where it is needed: most hosts come to their end without its four megabytes. */
function crypto(): typeof import('node:crypto') {
  return process.getBuiltinModule('node:crypto');
}
