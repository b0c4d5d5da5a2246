/**
 * Lets a handler import this package from any folder: where it is not installed beside the handler, the host's own
 * copy is taken. What is installed always comes first, and nothing on the disk changes.
 */
import Module from 'node:module';

/** What `exports` in package.json offers → the file, in sources and in `dist/`. */
const FACES: Readonly<Record<string, { readonly source: string; readonly built: string }>> = {
  'interlock-node-sdk': { source: '../index.ts', built: './sdk.js' },
  'interlock-node-sdk/handler': { source: './index.ts', built: './handler.js' },
};

/** For `import` and `require` alike. Once, before the first handler is loaded. */
export function resolveOwnPackage(): void {
  const built = !import.meta.url.endsWith('.ts');
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
        const url = new URL(built ? face.built : face.source, import.meta.url).href;
        // Given as the answer: what comes next would not take an address from `require`.
        return { url, shortCircuit: true };
      }
    },
  });
}

const NOT_FOUND: ReadonlySet<unknown> = new Set(['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND']);
