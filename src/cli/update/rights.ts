import type { FileSight } from './files.ts';
import type { StagePorts } from './stage.ts';

/**
 * Rights of the executable itself that a new file does not get, as lines for people, with the commands that give them
 * again: set-id bits, and capabilities of Linux (as far as `getcap` is there to tell). They are not copied: whoever gave
 * them gave them to one program that had been looked at.
 */
export async function lostRights(
  { run, env }: Pick<StagePorts, 'run' | 'env'>,
  exe: string,
  { setId }: Pick<FileSight, 'setId'>,
): Promise<readonly string[]> {
  const lost: string[] = [];
  const tell = (what: string, command: string) =>
    lost.push(
      `${exe} has ${what}, which the new file does not get. A service that needs it does not become ready without: update with --no-restart, then ${command}, then restart the service.`,
    );
  if (setId > 0) {
    const bits = [setId & SET_UID ? 'u+s' : '', setId & SET_GID ? 'g+s' : ''].filter(Boolean);
    tell(`a set-id bit (${bits.join(',')})`, `chmod ${bits.join(',')} ${quoted(exe)}`);
  }
  const capabilities = await capabilitiesOf(run, env, exe);
  if (capabilities)
    tell(`capabilities (${capabilities})`, `setcap ${quoted(capabilities)} ${quoted(exe)}`);
  return lost;
}

async function capabilitiesOf(
  run: StagePorts['run'],
  env: StagePorts['env'],
  exe: string,
): Promise<string | undefined> {
  if (process.platform !== 'linux') return undefined;
  // Users have it outside of their PATH.
  const path = [env.PATH, '/usr/sbin', '/sbin'].filter(Boolean).join(':');
  const end = await run('getcap', [exe], { limitMs: ASK_MS, env: { PATH: path, LC_ALL: 'C' } });
  if (end.code !== 0 || !end.out.startsWith(`${exe} `)) return undefined;
  // `/x cap_net_raw=ep`, and before libcap 2.41 `/x = cap_net_raw+ep`.
  const told = end.out.slice(exe.length).trim().replace(/^= /, '');
  return /^cap_[a-z_0-9,+=; cap]+$/.test(told) ? told : undefined;
}

function quoted(text: string): string {
  return /^[\w./=,+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

const SET_UID = 0o4000;
const SET_GID = 0o2000;
/** It reads one attribute of one file. */
const ASK_MS = 10_000;
