import { type ChildProcess, spawn } from 'node:child_process';

/** Ends what a run of the kit has begun, also where the kit itself is killed. */
export interface Watcher {
  /** A process group that has begun, told by its leader. */
  began(group: number): void;
  /** It has gone: its number may become another's. */
  gone(group: number): void;
  /** Ends all that is left, as when the kit dies, and resolves when that is done. */
  close(): Promise<void>;
}

/**
 * Starts it: a process in a session of its own, which hears of the groups through a pipe. When the pipe closes, for whatever
 * reason, it ends the groups, on Linux also whatever else has a folder in `root` as its INTERLOCK_CONFORMANCE_DIR, and
 * removes `root`.
 *
 * @param root folder of the run. @param keep leaves it.
 */
export function startWatcher(root: string, keep: boolean): Watcher {
  const child = spawn(process.execPath, ['-e', PROGRAM, root, keep ? 'keep' : 'remove'], {
    // None of the kit's: neither its folder, which may be removed, nor options for Node. Where the kit runs in the
    // standalone executable, that is asked to be Node.
    cwd: '/',
    env: process.getBuiltinModule('node:sea')?.isSea() ? { INTERLOCK_RUN_AS_NODE: '1' } : {},
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  return new WatcherProcess(child);
}

class WatcherProcess implements Watcher {
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;

  constructor(child: ChildProcess) {
    this.#child = child;
    this.#ended = new Promise((resolve) => {
      child.once('error', () => resolve());
      child.once('exit', () => resolve());
    });
    // Without it the run goes on: it is for the worst case only.
    child.stdin?.on('error', () => {});
    child.unref();
  }

  began(group: number): void {
    this.#child.stdin?.write(`+${group}\n`);
  }

  gone(group: number): void {
    this.#child.stdin?.write(`-${group}\n`);
  }

  close(): Promise<void> {
    this.#child.ref();
    this.#child.stdin?.end();
    return this.#ended;
  }
}

/** Plain JavaScript for `node -e`, so that it is the same in the sources and in a bundle. */
const PROGRAM = `
const fs = require('node:fs');
const [root, keep] = process.argv.slice(1);
const groups = new Set();
let rest = '';
process.stdin.setEncoding('utf8').on('data', (text) => {
  const lines = (rest + text).split('\\n');
  rest = lines.pop();
  for (const line of lines) {
    const group = Number(line.slice(1));
    if (!(group > 1)) continue;
    if (line[0] === '+') groups.add(group);
    else groups.delete(group);
  }
}).on('error', end).on('close', end);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});
let ended = false;
function end() {
  if (ended) return;
  ended = true;
  for (const group of groups) kill(-group);
  // What is forked while one looks is seen the next time.
  for (let look = 0; look < 100; look++) {
    const left = marked();
    if (left.length === 0) break;
    left.forEach(kill);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
  }
  if (keep !== 'keep') {
    try { fs.rmSync(root, { recursive: true, force: true, maxRetries: 5 }); } catch {}
  }
  process.exit();
}
function marked() {
  let pids = [];
  try { pids = fs.readdirSync('/proc').filter((name) => /^\\d+$/.test(name)); } catch {}
  return pids.map(Number).filter((pid) => {
    try {
      const all = fs.readFileSync('/proc/' + pid + '/environ', 'utf8').split('\\0');
      return all.some((one) => one.startsWith('INTERLOCK_CONFORMANCE_DIR=' + root + '/'));
    } catch { return false; }
  });
}
function kill(pid) {
  try { process.kill(pid, 'SIGKILL'); } catch {}
}
`;
