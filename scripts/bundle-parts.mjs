/** What falls away from the bundle of the worker: parts of packages that load much of Node.js and that it never uses. */
const PINO = /\/node_modules\/pino\/(lib\/|pino\.js$)/;
const WORKER_UNUSED = [
  // pino can write to files and from a thread of its own; ours writes by `system/line-writer.ts`.
  { from: PINO, path: './transport', contents: 'module.exports = undefined;' },
  { from: PINO, path: './lib/transport', contents: 'module.exports = undefined;' },
  { from: PINO, path: 'sonic-boom', contents: 'module.exports = class {};' },
  { from: PINO, path: 'worker_threads', contents: 'exports.isMainThread = true;' },
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
