/** What falls away from the bundle of the worker: parts of packages that load much of Node.js and that it never uses. */
const WORKER_UNUSED = [
  {
    from: /\/node_modules\/signal-exit\//,
    path: 'assert',
    contents:
      'exports.equal = (is, should, text) => { if (is !== should) throw new TypeError(text); };',
  },
  // The thread's number is part of the names of its temporary files.
  {
    from: /\/node_modules\/write-file-atomic\//,
    path: 'worker_threads',
    contents: 'exports.threadId = 0;',
  },
];

/** For esbuild. */
export const withoutUnused = {
  name: 'without-unused',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^[./a-z_-]+$/ }, ({ path, importer }) => {
      const file = importer.replaceAll('\\', '/');
      const at = WORKER_UNUSED.findIndex((one) => one.from.test(file) && one.path === path);
      return at < 0 ? undefined : { path: String(at), namespace: 'unused' };
    });
    onLoad({ filter: /.*/, namespace: 'unused' }, ({ path }) => ({
      contents: WORKER_UNUSED[Number(path)].contents,
    }));
  },
};
