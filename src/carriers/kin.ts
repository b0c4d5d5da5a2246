/**
 * What belongs to a host, by asking the kernel (Linux): its process group, and what has left the group (a child
 * started detached, `setsid`) but still has the host's id in its environment, which children inherit.
 */
import { readdirSync, statSync } from 'node:fs';
import { hostDefaults } from '../core/defaults.ts';
import { ID_VARIABLE } from '../handler/protocol.ts';
import type { Clock } from '../ports/clock.ts';
import { environmentOf, processStat, variableIn, variableOf } from './process-group.ts';

/** A host, as its relatives are told by. */
export interface Kin {
  /** Leads the group. */
  readonly pid: number;
  /** Stands in the environment of the host and of what it starts; no other host ever has it. */
  readonly id: string;
  /** When it was started, as the kernel counts; `undefined` where it was not seen. Nothing older is a relative. */
  readonly started: number | undefined;
}

const LINUX = process.platform === 'linux';

/** Whether this process (or thread) runs and belongs to the host. The host itself does. */
export function isKin(pid: number, kin: Kin): boolean {
  const stat = processStat(pid);
  if (stat === undefined || 'ZX'.includes(stat.state)) return false;
  if (stat.group === kin.pid) return true;
  return (
    stat.started >= (kin.started ?? 0) && isOurs(pid) && variableOf(pid, ID_VARIABLE) === kin.id
  );
}

/**
 * Whether this process has nothing to do with any host, and never will: neither it nor the leader of its group names one in
 * its environment, and both can be read (not in the middle of an `exec`).
 */
export function isStranger(pid: number): boolean {
  const group = processStat(pid)?.group;
  return group !== undefined && namesNone(pid) && (group === pid || namesNone(group));
}

function namesNone(pid: number): boolean {
  if (!isOurs(pid)) return false;
  try {
    const environment = environmentOf(pid);
    if (environment === undefined || environment === '') return false;
    return variableIn(environment, ID_VARIABLE) === undefined;
  } catch {
    return false; // Too many open files.
  }
}

/** All of them, the host included. Throws where `/proc` cannot be read (too many open files). */
export function allKin(kin: Kin): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => isKin(pid, kin));
}

/**
 * Resolves when nothing of the host runs any more, killing what is found one by one. For after its group is gone. Looks
 * ever more seldom and never gives up, like `groupGone`.
 */
export async function kinGone(kin: Kin, clock: Clock): Promise<void> {
  if (!LINUX) return;
  const { first, last }: Record<'first' | 'last', number> = hostDefaults.goneLookMs;
  for (let wait = first; ; wait = Math.min(last, wait * 2)) {
    let found: number[] | undefined;
    try {
      found = allKin(kin);
    } catch {
      // Cannot be seen now: looked for again.
    }
    if (found?.length === 0) return;
    for (const pid of found ?? []) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has just gone.
      }
    }
    await clock.sleep(wait);
  }
}

/** Of this user: nobody else's environment is read, also where root could. */
function isOurs(pid: number): boolean {
  try {
    return statSync(`/proc/${pid}`).uid === process.getuid?.();
  } catch {
    return false;
  }
}
