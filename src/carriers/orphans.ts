/**
 * Handler processes that an earlier session has left behind. They carry the marker of their session in their
 * environment, and so does what they started. They are found by it, ended by their groups, and seen to be gone.
 */
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { hostDefaults } from '../core/defaults.ts';
import { ID_VARIABLE, MARKER_VARIABLE } from '../handler/protocol.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { LeftProcess, OldHosts } from '../ports/old-hosts.ts';
import { environmentOf, groupRuns, killGroup, processStat, variableIn } from './process-group.ts';

export interface FoundHost {
  readonly pid: number;
  /** The process group; ended whole. */
  readonly group: number;
  /** The host that it is or was started by. */
  readonly host?: string;
}

/** Finds them and ends a group of them. For tests too: a process that cannot be killed is not easily made. */
export interface Reach {
  find(markers: readonly string[]): Promise<readonly FoundHost[]>;
  kill(group: number): void;
  runs(group: number): boolean;
}

const systemReach: Reach = { find: findHosts, kill: killGroup, runs: groupRuns };

/**
 * Running processes with one of these markers in their environment, ourselves and our own group left out. Processes of other
 * users cannot be looked into and are not found. On Windows nothing is found: there the channel alone ends hosts. Rejects
 * where nothing can be looked at now.
 */
export async function findHosts(markers: readonly string[]): Promise<FoundHost[]> {
  if (markers.length === 0) return [];
  const own = processStat(process.pid)?.group;
  const all =
    process.platform === 'linux' ? fromProc(new Set(markers)) : await fromPs(new Set(markers));
  return all.filter(({ pid, group }) => pid !== process.pid && group !== own);
}

/**
 * Ends them, and looks again until nothing is found, for what was just being started has the marker too. Resolves when all
 * are gone, or with those that have not gone in time (`left`): they hang in the kernel, and whoever asked looks again.
 * While nothing can be looked at (too many open files) nothing is known to be gone, so it waits. Never rejects.
 */
export async function killHosts(
  markers: readonly string[],
  options: {
    readonly clock: Clock;
    readonly log: Log;
    readonly waitMs?: number;
    readonly reach?: Reach;
  },
): Promise<OldHosts & { readonly killed: number }> {
  const { clock, log, waitMs = hostDefaults.orphansGoneMs, reach = systemReach } = options;
  const until = clock.now() + waitMs;
  const killed = new Map<number, FoundHost>();
  /** Groups that were seen to run and not yet to be gone: also what has lost the marker there (`env -i`). */
  const groups = new Map<number, FoundHost>();
  const { first, last }: Record<'first' | 'last', number> = hostDefaults.goneLookMs;

  const sweep = async (): Promise<LeftProcess[] | undefined> => {
    const found = await seen(reach, markers, log);
    if (found === undefined) return undefined;
    if (found.length > 0 && killed.size === 0) {
      const text = 'Handler processes of an earlier session still run; they are ended first.';
      log.info('host.orphans', text, { pids: found.map((host) => host.pid) });
    }
    for (const host of found) {
      killed.set(host.pid, host);
      if (!groups.has(host.group) || host.pid === host.group) groups.set(host.group, host);
    }
    for (const group of groups.keys()) reach.kill(group);
    for (const group of [...groups.keys()]) if (!reach.runs(group)) groups.delete(group);
    // What was found just now is not gone before it is not found any more.
    const there = groups.size === 0 ? found : [...groups.values()];
    return there.map(({ pid, host }) => ({
      pid,
      ...(host === undefined ? {} : { host }),
    }));
  };

  let left: readonly LeftProcess[] = [];
  for (let wait = first; ; wait = Math.min(last, wait * 2)) {
    const now = await sweep();
    if (now?.length === 0) left = [];
    else if (now !== undefined && clock.now() >= until) left = now;
    else {
      await clock.sleep(wait);
      continue;
    }
    break;
  }
  const ended = [...killed.values()].flatMap(({ host }) => (host === undefined ? [] : [host]));
  return {
    killed: killed.size,
    ended: [...new Set(ended)],
    left,
    look: async () => {
      left = (await sweep()) ?? left;
      return left;
    },
  };
}

/** `undefined`: nothing can be looked at now. */
async function seen(
  reach: Reach,
  markers: readonly string[],
  log: Log,
): Promise<readonly FoundHost[] | undefined> {
  try {
    return await reach.find(markers);
  } catch (error) {
    const text = `It cannot be seen whether handler processes of an earlier session still run: ${(error as Error).message}`;
    log.debug('host.unseen', text);
    return undefined;
  }
}

function fromProc(markers: ReadonlySet<string>): FoundHost[] {
  const found: FoundHost[] = [];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const environment = environmentOf(Number(name));
    if (environment === undefined) continue;
    const marker = variableIn(environment, MARKER_VARIABLE);
    if (marker === undefined || !markers.has(marker)) continue;
    const stat = processStat(Number(name));
    // Gone; or it cannot be seen now, and then this neither.
    if (!stat) readdirSync('/proc/self');
    if (!stat || 'ZX'.includes(stat.state)) continue;
    const host = variableIn(environment, ID_VARIABLE);
    found.push({ pid: Number(name), group: stat.group, ...(host === undefined ? {} : { host }) });
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
    const [, host] = rest?.match(NAMED) ?? [];
    return [{ pid: Number(pid), group: Number(group), ...(host === undefined ? {} : { host }) }];
  });
}

const MARKED = new RegExp(`(?:^| )${MARKER_VARIABLE}=(\\S*)`);
const NAMED = new RegExp(`(?:^| )${ID_VARIABLE}=(\\S*)`);
