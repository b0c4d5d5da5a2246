/**
 * Loads a handler's file, whatever it is written in, and says in words what stands in the way. Only in a host:
 * a user's code never runs in the agent.
 */
import Module from 'node:module';
import { pathToFileURL } from 'node:url';
import { type HandlerRead, readHandler } from './declaration.ts';
import { errorText } from './failure.ts';
import { placeOf } from './place.ts';
import type { KeptCode, LoadProblem } from './protocol.ts';
import { loadKept } from './snapshot.ts';

export type Loaded = HandlerRead & {
  /**
   * What was thrown, where the file has to be loaded once more, alone: the runtime alone can print its place (a syntax
   * error), for which it has to end the process, or it met others that were loaded at the same time.
   */
  readonly unplaced?: unknown;
};

/**
 * Imports the file and reads its declaration. Never throws; pending as long as its top-level await is.
 * @param kept its code as it was when it was found, which is loaded instead of what lies there now.
 */
export async function loadHandler(file: string, kept?: KeptCode): Promise<Loaded> {
  if (kept) {
    try {
      loadKept(file, kept);
    } catch (error) {
      return { ok: false, problem: lost(error) };
    }
  }
  let exports: unknown;
  try {
    exports = await importFile(pathToFileURL(file).href);
  } catch (error) {
    const place = placeOf(error);
    const unplaced = (place === undefined && error instanceof SyntaxError) || isRace(error);
    return { ok: false, problem: loadProblem(error, place), ...(unplaced && { unplaced: error }) };
  }
  const read = await readHandler(exports);
  return read.ok ? { ...read, handler: { ...read.handler, file } } : read;
}

function lost(error: unknown): LoadProblem {
  return {
    code: 'HANDLER_NOT_LOADED',
    message: `Its code as it was when the worker read it cannot be read: ${errorText(error)}.`,
    hint: 'Send the worker SIGHUP, so that it reads its handlers again.',
  };
}

/** Node lets no CommonJS module require what another file is importing at this moment. */
function isRace(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === RACE;
}

const RACE = 'ERR_REQUIRE_ESM_RACE_CONDITION';

/**
 * `import()` from inside a CommonJS module made at run time. A plain `import()` of a file on disk fails in a
 * standalone executable (its main script has another loader); this one works there and everywhere else.
 */
const importFile: (url: string) => Promise<unknown> = (() => {
  const id = `${process.cwd()}/interlock-import.cjs`;
  const module = new Module(id) as Module & { _compile(code: string, name: string): unknown };
  module._compile('module.exports = (url) => import(url)', id);
  return module.exports;
})();

/**
 * Writes what was compiled (and stripped of types) to the cache folder, if the agent gave one. By itself Node does
 * this at its exit, which a host does not live to see.
 */
export function keepCompiled(): void {
  Module.flushCompileCache();
}

function loadProblem(error: unknown, place: string | undefined): LoadProblem {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  const message = `It does not load: ${namedText(error)}${place ? ` (${place})` : ''}`;
  return {
    code: 'HANDLER_NOT_LOADED',
    message,
    hint: (typeof code === 'string' && hints[code]) || FALLBACK_HINT,
  };
}

const FALLBACK_HINT = 'Correct the file (or what it imports) and start again.';

const STRIPPED =
  'Types are only removed, not compiled: enum, namespace with code, parameter properties (constructor(private x)) and import aliases cannot be used; write them in plain form, or compile the file to JavaScript.';

const hints: Record<string, string> = {
  ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX: STRIPPED,
  ERR_INVALID_TYPESCRIPT_SYNTAX: 'Correct the syntax of the file.',
  ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING:
    'Types are not removed from files under node_modules: use a package that comes as JavaScript, or keep the handlers folder outside of node_modules.',
  ERR_UNKNOWN_FILE_EXTENSION:
    'This Node.js cannot run that kind of file. Handlers are .mjs, .js, .cjs or .ts (from Node.js 22.18 on).',
  ERR_MODULE_NOT_FOUND:
    'Check the import: a relative one needs its ending ("./lib.js", "./lib.ts"); a package must be installed in a node_modules folder beside or above the handlers.',
  MODULE_NOT_FOUND:
    'Check the require: a package must be installed in a node_modules folder beside or above the handlers.',
  ERR_UNSUPPORTED_DIR_IMPORT: 'Import a file, such as "./lib/index.js", not a folder.',
  ERR_REQUIRE_ASYNC_MODULE:
    'A module with top-level await can only be imported: use import instead of require.',
};

function namedText(error: unknown): string {
  const text = errorText(error);
  const name = error instanceof Error ? error.name : '';
  return name === '' || name === 'Error' || text.startsWith(name) ? text : `${name}: ${text}`;
}
