/** What falls away from the bundle of the worker: parts of packages that load much of Node.js and that it never uses. */
const WORKER_UNUSED = [
  // pino can write from a thread of its own; ours writes by `system/line-writer.ts`.
  {
    from: /\/node_modules\/pino\/lib\//,
    path: /^\.\/transport$/,
    contents: 'module.exports = undefined;',
  },
  {
    from: /\/node_modules\/pino\/lib\//,
    path: /^worker_threads$/,
    contents: 'exports.isMainThread = true;',
  },
];

/** For esbuild. */
export const withoutUnused = {
  name: 'without-unused',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(\.\/transport|worker_threads)$/ }, ({ path, importer }) => {
      const file = importer.replaceAll('\\', '/');
      const at = WORKER_UNUSED.findIndex((one) => one.from.test(file) && one.path.test(path));
      return at < 0 ? undefined : { path: String(at), namespace: 'unused' };
    });
    onLoad({ filter: /.*/, namespace: 'unused' }, ({ path }) => ({
      contents: WORKER_UNUSED[Number(path)].contents,
    }));
  },
};
