import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from '../../e2e/processes.ts';

/** How a program inside has ended. */
export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/**
 * A machine of its own inside this one, run by a real systemd (see `machine.sh`): its programs lie in /opt/interlock, its
 * network is the one around it. Needs root, cgroup2, overlayfs and systemd.
 */
export class Machine implements AsyncDisposable {
  readonly #pid: number;
  readonly #around: ChildProcess;
  readonly #name: string;
  readonly #onExit: () => void;

  private constructor(pid: number, around: ChildProcess, name: string) {
    this.#pid = pid;
    this.#around = around;
    this.#name = name;
    this.#onExit = () => around.kill('SIGKILL');
    process.on('exit', this.#onExit);
  }

  /** Why there can be none here; `undefined`: there can. */
  static cannot(): string | undefined {
    if (process.platform !== 'linux') return 'this is no Linux';
    if (process.getuid?.() !== 0) return 'this needs root';
    const absent = ['/lib/systemd/systemd', '/usr/bin/nsenter', '/usr/bin/unshare'].filter(
      (file) => !existsSync(file),
    );
    if (absent.length > 0) return `${absent.join(', ')} is not there`;
    const systems = readFileSync('/proc/filesystems', 'utf8');
    const lacking = ['cgroup2', 'overlay'].filter((one) => !systems.includes(one));
    return lacking.length > 0 ? `the kernel has no ${lacking.join(', ')}` : undefined;
  }

  /** Resolves when it runs, or with the words of what failed. */
  static async boot(): Promise<Machine | string> {
    const name = `interlock-test-${randomBytes(6).toString('hex')}`;
    const script = join(import.meta.dirname, 'machine.sh');
    const around = spawn('unshare', ['--mount', '--uts', '--ipc', 'bash', script, ROOT, name], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    for (const stream of [around.stdout, around.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        said += text;
      });
    const deadline = performance.now() + 60_000;
    while (performance.now() < deadline && around.exitCode === null) {
      const pid = firstOf(around.pid ?? 0);
      if (pid !== undefined) {
        const machine = new Machine(pid, around, name);
        const { out } = await machine.run(['systemctl', 'is-system-running']);
        if (/running|degraded/.test(out)) return machine;
        process.off('exit', machine.#onExit);
      }
      await pause();
    }
    around.kill('SIGKILL');
    await removeCgroup(name);
    return `the machine did not start: ${said.trim().slice(-500)}`;
  }

  /** Runs a program inside to its end, from its root folder. */
  async run(argv: readonly string[], timeoutMs = 120_000): Promise<Ended> {
    const args = [
      '--target',
      String(this.#pid),
      '--all',
      '--',
      'env',
      '-i',
      ...ENVIRONMENT,
      ...argv,
    ];
    const child = spawn('nsenter', args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
    });
    let out = '';
    let err = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      err += text;
    });
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, out, err };
  }

  /** The program under test inside. */
  worker(...words: string[]): Promise<Ended> {
    return this.run(['/opt/interlock/bin/interlock-worker', ...words], 300_000);
  }

  /** Properties of a unit, by name. */
  async show(unit: string, ...names: string[]): Promise<Record<string, string>> {
    const { out } = await this.run(['systemctl', 'show', unit, `--property=${names.join(',')}`]);
    const pairs = out
      .trim()
      .split('\n')
      .map((line) => line.split(/=(.*)/s).slice(0, 2));
    return Object.fromEntries(pairs);
  }

  /** Waits until a property of a unit is as wanted; with the log of the unit where it never is. */
  async until(
    unit: string,
    name: string,
    wanted: (value: string) => boolean,
    timeoutMs = 60_000,
  ): Promise<string> {
    const last = performance.now() + timeoutMs;
    for (;;) {
      const { [name]: value = '' } = await this.show(unit, name);
      if (wanted(value)) return value;
      if (performance.now() > last)
        throw new Error(`${name} of ${unit} stays "${value}".\n${await this.log(unit)}`);
      await pause();
    }
  }

  async log(unit: string): Promise<string> {
    return (await this.run(['journalctl', '--unit', unit, '--output', 'cat', '--no-pager'])).out;
  }

  put(path: string, text: string, mode = 0o644): void {
    const file = this.inside(path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    chmodSync(file, mode);
  }

  /** A path of the machine as one of this process. */
  inside(path: string): string {
    return join('/proc', String(this.#pid), 'root', path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    process.off('exit', this.#onExit);
    const ended = once(this.#around, 'close');
    // With process 1 of its namespace all others in it go.
    if (this.#around.exitCode === null && this.#around.signalCode === null) {
      this.#around.kill('SIGKILL');
      await ended;
    }
    await removeCgroup(this.#name);
  }
}

const ENVIRONMENT = ['PATH=/usr/sbin:/usr/bin:/sbin:/bin', 'HOME=/root', 'LANG=C.UTF-8'];

/** Process 1 of the machine, as it is numbered here: what the second unshare has forked. */
function firstOf(around: number): number | undefined {
  try {
    const [child] = readFileSync(`/proc/${around}/task/${around}/children`, 'utf8')
      .trim()
      .split(' ');
    if (!child || !readFileSync(`/proc/${child}/comm`, 'utf8').startsWith('systemd'))
      return undefined;
    return Number(child);
  } catch {
    return undefined;
  }
}

async function removeCgroup(name: string): Promise<void> {
  const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
  const root = mounts.map((line) => line.split(' ')).find(([, , type]) => type === 'cgroup2')?.[1];
  if (root === undefined) return;
  const remove = (folder: string) => {
    for (const entry of readdirSync(folder, { withFileTypes: true }))
      if (entry.isDirectory()) remove(join(folder, entry.name));
    rmdirSync(folder);
  };
  for (let tries = 0; tries < 50; tries++) {
    try {
      remove(join(root, name));
      return;
    } catch {
      if (!existsSync(join(root, name))) return;
      // What was killed is still leaving.
      await pause();
    }
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 100));
}
