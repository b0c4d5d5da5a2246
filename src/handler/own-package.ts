/**
 * Lets a handler import this package from any folder: where it is not installed beside the handler, the host's own
 * copy is taken. What is installed always comes first, and nothing on the disk changes.
 */
import Module from 'node:module';
import { sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** What `exports` in package.json offers → the file, in sources and in `dist/`. */
const FACES: Readonly<Record<string, { readonly source: string; readonly built: string }>> = {
  'interlock-node-sdk': { source: '../index.ts', built: './sdk.js' },
  'interlock-node-sdk/handler': { source: './index.ts', built: './handler.js' },
};

/** For `import` and `require` alike. Once, before the first handler is loaded. */
export function resolveOwnPackage(): void {
  const built = !import.meta.url.endsWith('.ts');
  const inside = process.getBuiltinModule?.('node:sea')?.isSea() ? executable() : undefined;
  // Absent before Node 22.15, on which the package has to be installed beside the handlers.
  Module.registerHooks?.({
    resolve(specifier, context, next) {
      const face = Object.hasOwn(FACES, specifier) ? FACES[specifier] : undefined;
      if (face === undefined) return next(specifier, context);
      try {
        return next(specifier, context);
      } catch (error) {
        // Any other trouble (an installed package without this export, say) is the user's to see.
        if (!NOT_FOUND.has((error as { code?: unknown }).code)) throw error;
        const url = inside
          ? inside.urlOf(face.built.slice('./'.length))
          : new URL(built ? face.built : face.source, import.meta.url).href;
        // Given as the answer: what comes next would not take an address from `require`.
        return { url, shortCircuit: true, ...(inside && { format: 'commonjs' as const }) };
      }
    },
    ...(inside && { load: inside.load }),
  });
}

const NOT_FOUND: ReadonlySet<unknown> = new Set(['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND']);

/** The executable's boot gives every module of ours this `require`; `interlock:<name>` is a part of the executable. */
declare const require: (id: string) => unknown;

/**
 * Our package as parts of the executable, under addresses below its file. It is in Node's cache of CommonJS modules before
 * anybody asks for it: `import` and `require` get the one copy that the host has, or will have.
 */
function executable() {
  const folder = process.execPath + sep;
  const root = pathToFileURL(folder).href;
  const cache = (Module as unknown as { _cache: Record<string, Module> })._cache;
  const load: Module.LoadHookSync = (url, context, next) => {
    if (!url.startsWith(root)) return next(url, context);
    const names = Object.keys(cache[fileURLToPath(url)]?.exports ?? {});
    // Read by `import` for the names alone.
    const source = `0 && (module.exports = { ${names.join(', ')} });`;
    return { format: 'commonjs', source, shortCircuit: true };
  };
  const urlOf = (part: string) => {
    const file = folder + part;
    if (cache[file] === undefined) {
      const module = new Module(file);
      // By a variable: the bundler has no such file.
      const id = `interlock:${part}`;
      module.exports = require(id);
      module.filename = file;
      module.loaded = true;
      cache[file] = module;
    }
    return pathToFileURL(file).href;
  };
  return { load, urlOf };
}
