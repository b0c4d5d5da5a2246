/** Runs a text as Node's `--eval` does: a script with `require` and the global scope, or a module. */
import Module, { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { constants, Script } from 'node:vm';

export interface Source {
  readonly code: string;
  /** Shown in stack traces. */
  readonly name: '[eval]' | '[stdin]';
  /** Writes the value of it, as `--print` does. */
  readonly print?: boolean;
  /** `module`, `commonjs`, with `-typescript` behind it for TypeScript. [Node finds out] */
  readonly type?: string;
}

export async function evaluate(source: Source): Promise<void> {
  const { type, print } = source;
  const typed = type?.endsWith('-typescript') === true;
  const code = typed ? Module.stripTypeScriptTypes(source.code) : source.code;
  const kind = type?.replace('-typescript', '');
  if (kind !== undefined && kind !== 'module' && kind !== 'commonjs')
    throw new TypeError(`--input-type must be "module" or "commonjs", not "${type}".`);
  if (kind === 'module') return evaluateModule(code, source.name);
  const file = join(process.cwd(), source.name);
  let script: Script;
  try {
    script = compiled(code, source.name);
  } catch (error) {
    if (kind !== undefined) throw error;
    if (isModule(error)) return evaluateModule(code, source.name);
    // What is no JavaScript may be TypeScript.
    return evaluate({ ...source, type: 'commonjs', code: withoutTypes(code, error) });
  }
  const module = Object.assign(new Module(source.name), { filename: file, paths: pathsOf(file) });
  // As in Node's own: text from the command line has them as globals.
  Object.assign(globalThis, {
    module,
    exports: module.exports,
    require: createRequire(file),
    __filename: source.name,
    __dirname: '.',
  });
  const value: unknown = script.runInThisContext({ displayErrors: true });
  if (print) console.log(value);
}

/** Throws a SyntaxError where it is neither a script nor a module. */
export function checkSyntax(code: string, file: string): void {
  try {
    // What Node wraps a CommonJS file in, on its first line.
    new Script(`(function (exports, require, module, __filename, __dirname) { ${code}\n})`, {
      filename: file,
    });
  } catch (error) {
    if (!isModule(error)) throw error;
  }
}

function compiled(code: string, filename: string): Script {
  return new Script(code, {
    filename,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
}

/** Under an address beside the files of the current folder, so that what it imports is found from there. */
async function evaluateModule(code: string, name: string): Promise<void> {
  const url = `${pathToFileURL(join(process.cwd(), '/')).href}${name.replace(']', '1]')}`;
  Module.registerHooks({
    resolve: (specifier, context, next) =>
      specifier === url ? { url, shortCircuit: true } : next(specifier, context),
    load: (wanted, context, next) =>
      wanted === url
        ? { format: 'module', source: code, shortCircuit: true }
        : next(wanted, context),
  });
  const load = compiled('(url) => import(url)', join(process.cwd(), name)).runInThisContext();
  await (load as (url: string) => Promise<unknown>)(url);
}

/** Throws the first error where there are no types to remove. */
function withoutTypes(code: string, error: unknown): string {
  let plain = code;
  try {
    plain = Module.stripTypeScriptTypes(code);
  } catch {}
  if (plain === code) throw error;
  return plain;
}

function isModule(error: unknown): boolean {
  if (!(error instanceof SyntaxError)) return false;
  return /import statement outside a module|'import.meta'|Unexpected token 'export'|await is only valid/.test(
    error.message,
  );
}

function pathsOf(file: string): string[] {
  const { _nodeModulePaths: paths } = Module as unknown as {
    _nodeModulePaths(folder: string): string[];
  };
  return paths(dirname(file));
}
