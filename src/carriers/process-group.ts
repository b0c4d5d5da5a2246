/**
 * What runs in a process group, by asking the kernel. A group is named by the pid of the host that leads it,
 * and outlives the host as long as anything else is in it.
 */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { hostDefaults } from '../core/defaults.ts';
import type { Clock } from '../ports/clock.ts';

const LINUX = process.platform === 'linux';
const WINDOWS = process.platform === 'win32';

/** SIGKILL to everything in the group. Nothing there is fine. */
export function killGroup(leader: number): void {
  if (WINDOWS) {
    // There are no groups: the tree below the host, as far as its links hold.
    execFile('taskkill', ['/pid', String(leader), '/T', '/F'], { windowsHide: true }, () => {});
    return;
  }
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // ESRCH: gone. EPERM (macOS): only zombies are left.
  }
}

/** Whether anything still runs in the group. A zombie does not run: it waits for a parent that may never look. */
export function groupRuns(leader: number): boolean {
  try {
    process.kill(WINDOWS ? leader : -leader, 0);
  } catch {
    return false;
  }
  try {
    return LINUX ? members(leader).length > 0 : true;
  } catch {
    return true; // Cannot be seen now (too many open files): looked at again.
  }
}

/**
 * Resolves when nothing of the group runs any more, killing what is found. Looks ever more seldom and never gives
 * up: a slot is free only then.
 */
export async function groupGone(leader: number, clock: Clock): Promise<void> {
  const { first, last }: Record<'first' | 'last', number> = hostDefaults.goneLookMs;
  for (let wait = first; groupRuns(leader); wait = Math.min(last, wait * 2)) {
    killGroup(leader);
    await clock.sleep(wait);
  }
}

/** Processes of the group that run, its leader included. Linux only. */
export function members(leader: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => runsIn(pid, leader));
}

/** Whether this pid (or thread id) is in the group and no zombie. */
function runsIn(pid: number, leader: number): boolean {
  const found = processStat(pid);
  return found !== undefined && found.group === leader && !'ZX'.includes(found.state);
}

export interface ProcessStat {
  readonly state: string;
  readonly group: number;
  /** When it was started, in the kernel's ticks since the start of the machine. */
  readonly started: number;
}

export function processStat(pid: number): ProcessStat | undefined {
  let text: string;
  try {
    // In UTF-8 Node reads it in one step; for any other encoding it makes a buffer of 64 KiB first.
    text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined; // It has just gone.
  }
  // The name in parentheses may hold anything, also spaces and parentheses.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ', 20);
  return { state: fields[0] ?? '', group: Number(fields[2]), started: Number(fields[19]) };
}

/**
 * A variable in the environment that a process was started with (Linux). `undefined` where it has none, has gone or
 * is somebody else's, whose environment cannot be read.
 */
export function variableOf(pid: number, name: string): string | undefined {
  try {
    const environment = environmentOf(pid);
    return environment === undefined ? undefined : variableIn(environment, name);
  } catch {
    return undefined;
  }
}

/** The whole of it; `undefined` as above. Throws where nothing can be looked at now (too many open files). */
export function environmentOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EMFILE' || code === 'ENFILE') throw error;
    return undefined;
  }
}

export function variableIn(environment: string, name: string): string | undefined {
  // With its ends, so that no name is found in a longer one; the first variable has no zero before it.
  const text = `\0${environment}`;
  const start = text.indexOf(`\0${name}=`);
  if (start === -1) return undefined;
  const from = start + name.length + 2;
  const end = text.indexOf('\0', from);
  return text.slice(from, end === -1 ? undefined : end);
}
