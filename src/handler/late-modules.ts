/**
 * Modules of the user's that a handler names and has not loaded yet: `await import('./late.js')` inside its function. They are
 * read as they lie there, so that what runs does not lose them with its folder, and count as its code. Only plain
 * names that begin with `./` or `../` can be seen; what is said in a comment or a text by the same form is read for nothing.
 */
import { readFileSync, realpathSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import {
  asker,
  isLocal,
  type RecordedModule,
  type Resolution,
  resolutionKey,
} from './module-graph.ts';

/** Of one handler; what names more builds its names, or is no handler. */
const LATE_MAX = 500;
const LATE_BYTES = 4 * 1_048_576;

/** Adds to both what is named in the modules and not among them, and what that names in turn. */
export function addLateModules(
  modules: Map<string, RecordedModule>,
  resolutions: Map<string, Resolution>,
): void {
  let added = 0;
  // Grows while it is walked.
  for (const { format, source, url } of modules.values()) {
    if (format === 'json') continue;
    for (const { how, specifier } of namesIn(source)) {
      const from = asker(how, url);
      const key = resolutionKey(how, from, specifier);
      if (resolutions.has(key)) continue;
      const target = resolved(how, specifier, url);
      if (target === undefined || !isLocal(target)) continue;
      const late = modules.get(target) ?? (added < LATE_MAX ? read(target) : undefined);
      if (late === undefined) continue;
      if (!modules.has(target)) added++;
      modules.set(target, late);
      const known = late.format;
      resolutions.set(key, { how, from, specifier, url: target, ...(known && { format: known }) });
    }
  }
}

const NAMES =
  /\b(?:(import|require)\s*\(\s*|(?:import|from)\s*)(['"`])(\.{1,2}\/[^'"`\n$\\]{1,500})\2/g;

function* namesIn(source: string): Generator<Pick<Resolution, 'how' | 'specifier'>> {
  for (const [, call, , specifier] of source.matchAll(NAMES))
    yield { how: call === 'require' ? 'require' : 'import', specifier: specifier as string };
}

function resolved(how: Resolution['how'], specifier: string, url: string): string | undefined {
  try {
    if (how === 'require') return pathToFileURL(createRequire(url).resolve(specifier)).href;
    const target = new URL(specifier, url);
    const real = pathToFileURL(realpathSync(target)).href;
    return real + target.search + target.hash;
  } catch {
    return undefined; // The handler will hear of it, if it ever comes there.
  }
}

function read(url: string): RecordedModule | undefined {
  try {
    const path = fileURLToPath(url);
    const seen = statSync(path);
    if (!seen.isFile() || seen.size > LATE_BYTES) return undefined;
    const source = STRICT.decode(readFileSync(path));
    const format = formatOf(path, source);
    return format === undefined ? undefined : { url, format, source };
  } catch {
    return undefined;
  }
}

const STRICT = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * As Node decides it: by the ending, then by the package that it lies in, then by its syntax. That we do not parse: where it
 * is not plain to see, the module stays on the disk and Node decides, for a wrong format breaks what is right.
 */
function formatOf(path: string, source: string): string | undefined {
  const ending = extname(path);
  const sure = SURE[ending];
  if (sure !== undefined) return sure;
  if (ending !== '.js' && ending !== '.ts') return undefined;
  const type = packageType(dirname(path)) ?? typeOf(source);
  if (type === undefined) return undefined;
  return ending === '.ts' ? `${type}-typescript` : type;
}

const SURE: Readonly<Record<string, string>> = {
  '.mjs': 'module',
  '.cjs': 'commonjs',
  '.json': 'json',
  '.mts': 'module-typescript',
  '.cts': 'commonjs-typescript',
};
function typeOf(source: string): 'module' | 'commonjs' | undefined {
  if (!MODULE_WORDS.test(source)) return 'commonjs';
  // A line may lie inside of these.
  return MODULE_SYNTAX.test(source) && !SPANNING.test(source) ? 'module' : undefined;
}

/** Without any of them nothing is a module. */
const MODULE_WORDS = /\b(?:import|export|await)\b|\\u/;
/** Comments, templates and texts that go over several lines. */
const SPANNING = /\/\*|`|\\\r?\n/;
const MODULE_SYNTAX = /^\s*(?:import\s*[\w{*'"]|export\s+[\w{*]|export\s*[{*])/m;

function packageType(folder: string): 'module' | 'commonjs' | undefined {
  for (let at = folder; ; at = dirname(at)) {
    try {
      const { type } = JSON.parse(readFileSync(join(at, 'package.json'), 'utf8'));
      return type === 'module' || type === 'commonjs' ? type : undefined;
    } catch {
      // None there.
    }
    if (dirname(at) === at) return undefined;
  }
}
