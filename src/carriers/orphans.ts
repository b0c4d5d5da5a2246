/**
 * Handler processes that an earlier session has left behind. They carry the marker of their session in their
 * environment, and so does what they started. They are found by it, ended by their groups, and seen to be gone.
 */
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { hostDefaults } from '../core/defaults.ts';
import { MARKER_VARIABLE } from '../handler/protocol.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import { groupRuns, killGroup, processStat, variableOf } from './process-group.ts';

export interface FoundHost {
  readonly pid: number;
  /** The process group; ended whole. */
  readonly group: number;
}

/**
 * Running processes with one of these markers in their environment, ourselves and our own group left out. Processes of other
 * users cannot be looked into and are not found. On Windows nothing is found: there the channel alone ends hosts.
 */
export async function findHosts(markers: readonly string[]): Promise<FoundHost[]> {
  if (markers.length === 0) return [];
  const own = processStat(process.pid)?.group;
  const all =
    process.platform === 'linux' ? fromProc(new Set(markers)) : await fromPs(new Set(markers));
  return all.filter(({ pid, group }) => pid !== process.pid && group !== own);
}

/**
 * Ends them. `left` are those that have not gone in time (they hang in the kernel): their slots are not free.
 * Looks again until nothing is found, for what was just being started has the marker too.
 */
export async function killHosts(
  markers: readonly string[],
  { clock, log, waitMs = hostDefaults.orphansGoneMs }: { clock: Clock; log: Log; waitMs?: number },
): Promise<{ readonly killed: number; readonly left: readonly FoundHost[] }> {
  const until = clock.now() + waitMs;
  const killed = new Set<number>();
  const { first, last }: Record<'first' | 'last', number> = hostDefaults.goneLookMs;
  for (let wait = first; ; wait = Math.min(last, wait * 2)) {
    const found = await findHosts(markers);
    for (const { pid, group } of found) {
      if (killed.size === 0) {
        const text = 'Handler processes of an earlier session still run; they are ended first.';
        log.info('host.orphans', text, { pids: found.map((host) => host.pid) });
      }
      killed.add(pid);
      killGroup(group);
    }
    const groups = new Set(found.map(({ group }) => group));
    if (![...groups].some(groupRuns)) return { killed: killed.size, left: [] };
    if (clock.now() >= until) return { killed: killed.size, left: found };
    await clock.sleep(wait);
  }
}

function fromProc(markers: ReadonlySet<string>): FoundHost[] {
  const found: FoundHost[] = [];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const marker = variableOf(Number(name), MARKER_VARIABLE);
    if (marker === undefined || !markers.has(marker)) continue;
    const stat = processStat(Number(name));
    if (stat && !'ZX'.includes(stat.state)) found.push({ pid: Number(name), group: stat.group });
  }
  return found;
}

/** `ps` shows the environment behind the command; `-E` is the flag of macOS, `-e` that of the BSDs. */
async function fromPs(markers: ReadonlySet<string>): Promise<FoundHost[]> {
  if (process.platform === 'win32') return [];
  const flags = process.platform === 'darwin' ? '-axwwE' : '-axwwe';
  const text = await new Promise<string>((resolve) => {
    const options = { maxBuffer: 64 * 1_048_576, env: { LC_ALL: 'C', PATH: '/bin:/usr/bin' } };
    execFile('ps', [flags, '-o', 'pid=,pgid=,stat=,command='], options, (_error, stdout) =>
      resolve(stdout),
    );
  });
  return text.split('\n').flatMap((line) => {
    const [, pid, group, state, rest] = line.match(/^\s*(\d+)\s+(\d+)\s+(\S+)\s(.*)$/) ?? [];
    const [, marker] = rest?.match(MARKED) ?? [];
    if (state?.startsWith('Z') || marker === undefined || !markers.has(marker)) return [];
    return [{ pid: Number(pid), group: Number(group) }];
  });
}

const MARKED = new RegExp(`(?:^| )${MARKER_VARIABLE}=(\\S*)`);
