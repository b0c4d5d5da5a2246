// The main script of the executable. It stays small: what a process does not need is not read, compiled or kept.
// `VERSION` and the wrapper of chunks are put in by the build (code.mjs).
'use strict';
const sea = require('node:sea');
const Module = require('node:module');
const { posix, dirname, join, resolve, isAbsolute, delimiter } = require('node:path');
const { existsSync, statSync } = require('node:fs');
const { Script } = require('node:vm');
const { isMainThread } = require('node:worker_threads');
const { env } = process;
const [, typed, ...argv] = process.argv;
const modules = new Map();

process.execPath = process.argv[0] = ownPath(process.execPath);
// What is built in holds for all that we start by itself; fork() would repeat it as words of the command line.
process.execArgv = [];

if (!isMainThread) {
  // The only thread of ours: the agent of a TaskWorker in a handler, or in a script that runs as Node.
  load('sdk-agent.js');
} else if (env.INTERLOCK_HOST_ROLE) {
  load('host.js');
} else if (env.INTERLOCK_RUN_AS_NODE !== '1' || !load('as-node.js').runAsNode(typed, argv)) {
  if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-v')) {
    process.stdout.write(`${VERSION}\n`);
  } else if (argv.length === 1 && argv[0] === '--licenses') {
    // One file that was copied somewhere carries the licences of all that is in it.
    const packed = Buffer.from(sea.getRawAsset('LICENSES.txt.br'));
    process.stdout.on('error', () => {}); // a reader that has seen enough
    process.stdout.write(require('node:zlib').brotliDecompressSync(packed));
  } else {
    load('standalone.js').runStandalone(typed, argv);
  }
}

/** Where this program lies, also where Linux says that it was replaced or removed, or has no /proc to say anything. */
function ownPath(said) {
  if (said.endsWith(' (deleted)') && !existsSync(said)) {
    const before = said.slice(0, -' (deleted)'.length);
    // Another file may lie there by now: what a handler starts has to be the code that it runs in itself.
    return isOurs(before) ? before : `/proc/${process.pid}/exe`;
  }
  if (isAbsolute(said) && existsSync(said)) return said;
  const named = typed ?? said;
  if (/[\\/]/.test(named)) return resolve(named);
  const folders = (env.PATH ?? '').split(delimiter);
  return folders.map((folder) => resolve(folder, named)).find(existsSync) ?? resolve(named);
}

function isOurs(file) {
  try {
    const [one, other] = [file, '/proc/self/exe'].map((path) => statSync(path));
    return one.dev === other.dev && one.ino === other.ino;
  } catch {
    return false;
  }
}

/** A chunk of our code, as a CommonJS module whose file lies, so to speak, in the executable. */
function load(id) {
  const file = join(process.execPath, id);
  const known = modules.get(id);
  if (known) return known.exports;
  const module = new Module(file);
  module.filename = file;
  module.paths = [];
  module.require = (wanted) => {
    if (wanted.startsWith('.')) return load(posix.join(posix.dirname(id), wanted));
    if (wanted.startsWith('interlock:')) return load(wanted.slice('interlock:'.length));
    return Module.prototype.require.call(module, wanted);
  };
  modules.set(id, module);
  const code = sea.getAsset(id, 'utf8');
  const cachedData = cacheOf(id);
  if (cachedData === undefined) module._compile(code, file);
  else {
    const script = new Script(WRAPPER_START + code + WRAPPER_END, {
      filename: file,
      lineOffset: -1,
      cachedData,
    });
    script.runInThisContext()(module.exports, module.require, module, file, dirname(file));
  }
  return module.exports;
}

/** What V8 has compiled of a chunk when it was built; it takes it only where CPU, version and flags are the same. */
function cacheOf(id) {
  try {
    return Buffer.from(sea.getRawAsset(`${id}.cache`));
  } catch {
    return undefined;
  }
}
