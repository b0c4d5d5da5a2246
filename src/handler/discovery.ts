/**
 * Finds the handlers of a folder: `<type path>@<version>.{mjs,js,cjs,ts}`. Modules are loaded by `probe` in a
 * process of its own, never here. Whatever is wrong with a file is named, and the rest is served.
 */
import { extname, join, resolve } from 'node:path';
import { bounds } from '../contract/limits.ts';
import { typeKey } from '../contract/type-key.ts';
import { caseClashes, readName } from './handler-names.ts';
import type { Declaration, LoadedCode, LoadProblem } from './protocol.ts';
import { sameFile, scanFolder } from './scan.ts';

export interface DiscoveredHandler extends Declaration {
  readonly type: string;
  readonly schemaVersion: number;
  /** Absolute. */
  readonly file: string;
  /** Absent where code is not kept. */
  readonly code?: LoadedCode;
}

export interface HandlerProblem {
  /** `error`: not served. `warning`: served, but somebody should know. */
  readonly severity: 'error' | 'warning';
  /** As seen from the handlers folder. */
  readonly file: string;
  /** `demo/hello@1`, where the name tells. */
  readonly type?: string;
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  /** It may still come: only in what is told early. */
  readonly loading?: true;
}

export interface Discovery {
  readonly handlers: readonly DiscoveredHandler[];
  readonly problems: readonly HandlerProblem[];
}

/** What loading a file told. */
export type Probed =
  | {
      readonly ok: true;
      readonly declaration: Declaration;
      readonly code?: LoadedCode;
      /** What it says that is not heard. */
      readonly warnings?: readonly LoadProblem[];
    }
  | { readonly ok: false; readonly problem: LoadProblem };

/**
 * Loads files elsewhere; answers for every one of them, and never rejects.
 * @param early hears what has answered by then, whenever nothing more came for `hostDefaults.probeSlowMs`.
 */
export type Probe = (
  files: readonly string[],
  early?: (answered: ReadonlyMap<string, Probed>) => void,
) => Promise<ReadonlyMap<string, Probed>>;

export interface DiscoveryOptions {
  readonly folder: string;
  readonly probe: Probe;
  /** For `--check`: refuse names that differ in case only also where this folder keeps them apart. */
  readonly portable?: boolean;
  /** Hears once what can be served while others still load, where that takes long: one that hangs must not hold them up. */
  readonly early?: (discovery: Discovery) => void;
}

export async function discoverHandlers(options: DiscoveryOptions): Promise<Discovery> {
  const folder = resolve(options.folder);
  const problems: HandlerProblem[] = [];
  const named = await candidates(folder, problems);
  const single = withoutDuplicates(named, problems);
  const apart = await withoutCaseClashes(single, folder, options.portable ?? false, problems);
  for (const { path, type, schemaVersion } of apart.splice(bounds.handlers)) {
    problems.push({
      severity: 'error',
      file: path,
      type: typeKey(type, schemaVersion),
      code: 'HANDLERS_TOO_MANY',
      message: `${path} is not served: a worker has at most ${bounds.handlers} handlers.`,
      hint: 'Divide the folder among workers.',
    });
  }
  const loaded = (probed: ReadonlyMap<string, Probed>, missing: Missing): Discovery => {
    const { handlers, problems: more } = sorted(apart, probed, missing);
    return { handlers, problems: [...problems, ...more] };
  };
  let early = options.early;
  const tell = (answered: ReadonlyMap<string, Probed>) => {
    const soFar = loaded(answered, LOADING);
    if (soFar.handlers.length === 0) return;
    early?.(soFar);
    early = undefined;
  };
  const files = apart.map(({ file }) => file);
  return loaded(await options.probe(files, early && tell), NOT_PROBED);
}

type Missing = LoadProblem & Pick<HandlerProblem, 'loading'>;

/** @param missing what is said of those that have not answered. */
function sorted(
  candidates: readonly Candidate[],
  probed: ReadonlyMap<string, Probed>,
  missing: Missing,
): Discovery {
  const handlers: DiscoveredHandler[] = [];
  const problems: HandlerProblem[] = [];
  for (const { path, file, type, schemaVersion } of candidates) {
    const about = { file: path, type: typeKey(type, schemaVersion) };
    const result = probed.get(file);
    if (!result?.ok) {
      problems.push({ severity: 'error', ...about, ...(result?.problem ?? missing) });
      continue;
    }
    const { code, declaration } = result;
    handlers.push({ type, schemaVersion, file, ...declaration, ...(code && { code }) });
    for (const warning of result.warnings ?? [])
      problems.push({ severity: 'warning', ...about, ...warning });
  }
  return { handlers, problems };
}

interface Candidate {
  readonly path: string;
  readonly file: string;
  readonly type: string;
  readonly schemaVersion: number;
}

const NOT_PROBED: Missing = {
  code: 'HANDLER_NOT_LOADED',
  message: 'It was not loaded.',
  hint: 'Start again.',
};
const LOADING: Missing = {
  code: 'HANDLER_NOT_LOADED',
  message: 'It is still loading.',
  hint: 'Wait: it is served as soon as it has loaded; where it does not, the log says why (handler.not-served).',
  loading: true,
};

async function candidates(folder: string, problems: HandlerProblem[]): Promise<Candidate[]> {
  const scan = await scanFolder(folder);
  for (const { path, message } of scan.troubles) {
    problems.push({
      severity: 'error',
      file: path === '' ? folder : path,
      code: 'HANDLERS_UNREADABLE',
      message: `${path === '' ? `The handlers folder ${folder}` : path} ${message}.`,
      hint: 'Check the path (--handlers) and its permissions.',
    });
  }
  const found: Candidate[] = [];
  for (const path of scan.files) {
    const name = readName(path);
    if (name.is === 'handler') {
      const { type, schemaVersion } = name;
      found.push({ path, file: join(folder, path), type, schemaVersion });
    } else if (name.is === 'bad') {
      problems.push({
        severity: 'error',
        file: path,
        code: 'HANDLER_NAME_INVALID',
        message: `${path} is not served: ${name.message}.`,
        hint: name.hint,
      });
    }
  }
  return found;
}

/** Two files for one type and version: none of them is served, for nobody can say which was meant. */
function withoutDuplicates(found: readonly Candidate[], problems: HandlerProblem[]): Candidate[] {
  const byKey = Map.groupBy(found, (one) => typeKey(one.type, one.schemaVersion));
  const single: Candidate[] = [];
  for (const [type, same] of byKey) {
    if (same.length === 1) single.push(...same);
    else {
      for (const { path } of same) {
        problems.push({
          severity: 'error',
          file: path,
          type,
          code: 'HANDLER_DUPLICATE',
          message: `${same.map(({ path }) => path).join(' and ')} are ${same.length === 2 ? 'both' : 'all'} ${type}: none of them is served.`,
          hint: 'Keep one of them.',
        });
      }
    }
  }
  return single;
}

async function withoutCaseClashes(
  found: readonly Candidate[],
  folder: string,
  portable: boolean,
  problems: HandlerProblem[],
): Promise<Candidate[]> {
  const byKey = new Map(found.map((one) => [typeKey(one.type, one.schemaVersion), one]));
  const refused = new Set<Candidate>();
  for (const names of caseClashes([...byKey.keys()])) {
    const group = names.map((name) => byKey.get(name)).filter((one) => one !== undefined);
    const merged = portable || (await folderMergesCase(group, folder));
    const pair = group.map(({ path }) => path).join(' and ');
    for (const one of group) {
      if (merged) refused.add(one);
      problems.push({
        severity: merged ? 'error' : 'warning',
        file: one.path,
        type: typeKey(one.type, one.schemaVersion),
        code: 'HANDLER_CASE_CLASH',
        message: merged
          ? `${pair} differ in upper and lower case only, which ${portable ? 'many file systems do' : 'this folder does'} not keep apart: none of them is served.`
          : `${pair} differ in upper and lower case only. This folder keeps them apart, so all are served; a copy on macOS or Windows would lose one of them.`,
        hint: 'Rename one of them.',
      });
    }
  }
  return found.filter((one) => !refused.has(one));
}

/** Asks the file system: does the name of one, in the spelling of another, find the same file? */
export async function folderMergesCase(
  group: readonly Candidate[],
  folder: string,
): Promise<boolean> {
  const listed = new Set(group.map(({ path }) => path));
  for (const one of group) {
    for (const other of group) {
      const spelling = `${other.type}@${other.schemaVersion}${extname(one.path)}`;
      // Listed under both names: two files, whatever they have in common.
      if (listed.has(spelling)) continue;
      if (await sameFile(one.file, join(folder, spelling))) return true;
    }
  }
  return false;
}
