/**
 * Runs executables for arm64 on another CPU: qemu-user, the three libraries of Debian that Node.js needs, and a user
 * namespace in which the kernel gives such programs to qemu, so that they can start each other. Nothing of the machine changes.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../e2e/processes.ts';

export interface Emulator {
  /** Program and arguments in front of a command line. */
  readonly under: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const LIBRARIES = ['libc6', 'libstdc++6', 'libgcc-s1'];
const QEMU = 'qemu-aarch64-static';
/** The start of an arm64 ELF program (of both kinds), and which of its bits count. F: qemu is opened now. */
const MAGIC = `\\x7fELF\\x02\\x01\\x01${'\\x00'.repeat(9)}\\x02\\x00\\xb7\\x00`;
const MASK = `${'\\xff'.repeat(7)}\\x00${'\\xff'.repeat(8)}\\xfe\\xff\\xff\\xff`;

/** Or why there is none here, as a sentence. */
export function emulator(): Emulator | string {
  const qemu = found(QEMU);
  if (qemu === undefined) return `${QEMU} is not installed (Debian: qemu-user-static)`;
  if (found('apt-get') === undefined) return 'the libraries for arm64 come by apt-get';
  const register = [
    'mount -t binfmt_misc none /proc/sys/fs/binfmt_misc',
    `printf '%s' ':arm64:M::${MAGIC}:${MASK}:${qemu}:FO' > /proc/sys/fs/binfmt_misc/register`,
  ].join(' && ');
  const under = ['unshare', '--user', '--map-root-user', '--mount', 'sh', '-c'];
  try {
    execFileSync(under[0] as string, [...under.slice(1), register], { stdio: 'pipe' });
  } catch (error) {
    return `this kernel has no binfmt_misc for a user namespace (Linux 6.7 and newer): ${(error as Error).message}`;
  }
  return {
    under: [...under, `${register} && exec "$@"`, 'sh'],
    env: { QEMU_LD_PREFIX: libraries() },
  };
}

/** Folder with Debian's libraries for arm64, loaded once by an apt of its own. */
function libraries(): string {
  const folder = join(ROOT, 'build/arm64-libraries');
  const root = join(folder, 'root');
  if (existsSync(root)) return root;
  const work = `${folder}.${process.pid}`;
  const state = join(work, 'apt');
  for (const name of ['lists/partial', 'cache/archives/partial'])
    mkdirSync(join(state, name), { recursive: true });
  writeFileSync(join(state, 'status'), '');
  const settings = [
    'APT::Architecture=arm64',
    'APT::Architectures=arm64',
    'APT::Sandbox::User=root',
    `Dir::State=${state}`,
    `Dir::State::Lists=${join(state, 'lists')}`,
    `Dir::State::status=${join(state, 'status')}`,
    `Dir::Cache=${join(state, 'cache')}`,
  ].flatMap((setting) => ['-o', setting]);
  const run = (program: string, ...args: string[]) =>
    execFileSync(program, args, { cwd: work, stdio: 'pipe' });
  run('apt-get', ...settings, 'update');
  run('apt-get', ...settings, 'download', ...LIBRARIES);
  for (const name of readdirSync(work).filter((one) => one.endsWith('.deb')))
    run('dpkg', '-x', name, 'root');
  rmSync(state, { recursive: true });
  if (!existsSync(folder)) renameSync(work, folder);
  return root;
}

function found(program: string): string | undefined {
  try {
    return execFileSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' }).trim();
  } catch {
    return undefined;
  }
}
