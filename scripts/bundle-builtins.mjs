/**
 * Imports of Node's own modules in a bundle, as a `require` of what is used. `import { request } from 'node:http'` makes Node.js read
 * every export of that module, and behind some of them (`WebSocket`, `webcrypto`, `BlockList`) it loads more of itself: milliseconds
 * at each start, and memory for good.
 */
import { createRequire, isBuiltin } from 'node:module';

const require = createRequire(import.meta.url);
const SPACE = 'node-builtin';

/** For esbuild. The bundle needs a `require`. */
export const builtinsByRequire = {
  name: SPACE,
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^[a-z_:/]+$/ }, ({ path, kind }) =>
      kind === 'import-statement' && isBuiltin(path)
        ? { path, namespace: SPACE, sideEffects: false }
        : undefined,
    );
    onLoad({ filter: /.*/, namespace: SPACE }, ({ path }) => ({ contents: module(path) }));
  },
};

/** Each export on its own, so that those which nobody uses fall away unread. */
function module(path) {
  const names = Object.keys(require(path)).filter(
    (name) => /^[A-Za-z_$][\w$]*$/.test(name) && name !== 'default',
  );
  const lines = names.map((name) => `export const ${name} = /* @__PURE__ */ of('${name}');`);
  return `
const all = /* @__PURE__ */ require('${path}');
const of = (name) => all[name];
export default all;
${lines.join('\n')}
`;
}
