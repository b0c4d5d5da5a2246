import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { updateError } from './codes.ts';
import { identityBehind } from './files.ts';
import type { ProgramEnd, RunProgram } from './run-program.ts';
import { statusAddressOf } from './status-address.ts';
import type { Supervisor, Verdict } from './supervisor.ts';
import { execStart, flagValue, properties, statusAddress, timeSpanMs } from './systemd-show.ts';

export interface SystemdPorts {
  readonly run: RunProgram;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Of this user: workers of the user's own manager have their spools there. */
  readonly stateFolder: string | undefined;
}

interface Unit {
  readonly name: string;
  /** Of the user's own manager. */
  readonly user: boolean;
  readonly active: boolean;
  readonly stopMs: number;
  /** As its command line or environment names it. */
  readonly status: string | undefined;
  readonly states: readonly string[];
  readonly spools: readonly string[];
  readonly path: string | undefined;
}

/**
 * The services of systemd whose program is `exe`: of the system and of this user, those that are active. With `named` that
 * one alone: throws `UPDATE_SERVICE_UNKNOWN` where it is not there, or runs another program.
 */
export async function systemdServices(
  ports: SystemdPorts,
  exe: string,
  named: string | undefined,
): Promise<readonly Supervisor[]> {
  const units: Unit[] = [];
  for (const user of [false, true]) {
    const names = named === undefined ? await listed(ports, user) : [unitName(named)];
    for (const name of names) {
      const unit = await shown(ports, name, user);
      if (unit?.path !== undefined && (await leadsTo(unit.path, exe))) units.push(unit);
    }
  }
  if (named !== undefined && units.length === 0)
    throw updateError(
      'UPDATE_SERVICE_UNKNOWN',
      `There is no service ${unitName(named)} of systemd that runs ${exe}.`,
    );
  return units
    .filter(({ active }) => active || named !== undefined)
    .map((unit) => supervisorOf(ports, unit));
}

function supervisorOf(ports: SystemdPorts, unit: Unit): Supervisor {
  const { name, user } = unit;
  return {
    name,
    async status() {
      if (unit.status !== undefined) return unit.status;
      const end = await systemctl(ports, user, ['show', '-p', 'MainPID', name], ASK_MS);
      const pid = Number(properties(end.out).get('MainPID'));
      return pid > 0 ? statusAddressOf(pid, unit) : undefined;
    },
    async restart(readyWithinMs) {
      // After too many starts systemd would refuse the next one.
      await systemctl(ports, user, ['reset-failed', name], ASK_MS);
      const limitMs = Math.min(unit.stopMs, STOP_MAX_MS) + readyWithinMs;
      const end = await systemctl(ports, user, ['restart', name], limitMs);
      return verdict(
        end,
        `${name} has not said that it is ready within ${Math.round(limitMs / 1_000)} s`,
      );
    },
    async running(identity) {
      const end = await systemctl(
        ports,
        user,
        ['show', '-p', 'ActiveState,SubState,MainPID,Result', name],
        ASK_MS,
      );
      const told = properties(end.out);
      const state = told.get('ActiveState');
      if (state !== 'active')
        return {
          ok: false,
          why: `${name} is ${state ?? 'out of sight'} (${told.get('SubState') ?? lastLine(end)}, ${told.get('Result') ?? 'no result'})`,
        };
      const pid = Number(told.get('MainPID'));
      const runs = pid > 0 ? await identityBehind(`/proc/${pid}/exe`) : undefined;
      if (identity !== undefined && runs !== undefined && runs !== identity)
        return {
          ok: false,
          why: `${name} runs (process ${pid}), but not the executable that is in place`,
        };
      return { ok: true };
    },
    async lastLines(count) {
      const end = await systemctl(ports, user, ['show', '-p', 'InvocationID', name], ASK_MS);
      const start = properties(end.out).get('InvocationID');
      // Of its last start alone; what an earlier version said is no reason.
      const own = start && (await journal(ports, user, [`_SYSTEMD_INVOCATION_ID=${start}`], count));
      return own && own.length > 0 ? own : journal(ports, user, ['--unit', name], count);
    },
  };
}

async function journal(
  ports: SystemdPorts,
  user: boolean,
  which: readonly string[],
  count: number,
): Promise<readonly string[]> {
  const how = ['--lines', String(count), '--output', 'cat', '--no-pager', '--quiet'];
  const args = [...(user ? ['--user'] : []), ...how, ...which];
  const end = await ports.run('journalctl', args, { limitMs: ASK_MS, env: plain(ports.env) });
  return end.out
    .split('\n')
    .filter((line) => line !== '')
    .slice(-count);
}

/** Those that are named as ours; what they run tells whether they are. */
async function listed(ports: SystemdPorts, user: boolean): Promise<string[]> {
  const args = [
    'list-units',
    '--type=service',
    '--all',
    '--plain',
    '--no-legend',
    '--full',
    'interlock-worker*',
  ];
  const end = await systemctl(ports, user, args, ASK_MS);
  if (end.code !== 0) return [];
  const names = end.out.split('\n').map((line) => line.trim().split(/\s+/)[0] ?? '');
  return names
    .filter((name) => /^interlock-worker[\w@.:\\-]*\.service$/.test(name))
    .slice(0, UNITS_MAX);
}

async function shown(ports: SystemdPorts, name: string, user: boolean): Promise<Unit | undefined> {
  const wanted = 'LoadState,ActiveState,ExecStart,Environment,TimeoutStopUSec,StateDirectory';
  const end = await systemctl(ports, user, ['show', '-p', wanted, name], ASK_MS);
  const told = properties(end.out);
  if (end.code !== 0 || told.get('LoadState') !== 'loaded') return undefined;
  const start = execStart(told.get('ExecStart'));
  return {
    name,
    user,
    active: /^(active|activating|reloading|deactivating)$/.test(told.get('ActiveState') ?? ''),
    stopMs: timeSpanMs(told.get('TimeoutStopUSec')) ?? STOP_MS,
    status: start && statusAddress(start.argv, told.get('Environment') ?? ''),
    states: [
      ...(told.get('StateDirectory') ?? '')
        .split(' ')
        .filter(Boolean)
        .map((one) => join(STATE, one)),
      ...(ports.stateFolder === undefined ? [] : [ports.stateFolder]),
    ],
    spools: [start && flagValue(start.argv, 'spool')].filter((one) => one !== undefined),
    path: start?.path,
  };
}

async function leadsTo(path: string, exe: string): Promise<boolean> {
  return (await realpath(path).catch(() => path)) === exe;
}

function unitName(name: string): string {
  return name.endsWith('.service') ? name : `${name}.service`;
}

function systemctl(
  ports: SystemdPorts,
  user: boolean,
  args: readonly string[],
  limitMs: number,
): Promise<ProgramEnd> {
  const all = [...(user ? ['--user'] : []), '--no-ask-password', '--no-pager', ...args];
  return ports.run('systemctl', all, { limitMs, env: plain(ports.env) });
}

/** Its words are read, so they are the same in every language. */
function plain(env: SystemdPorts['env']): Record<string, string | undefined> {
  return { ...env, LC_ALL: 'C', SYSTEMD_COLORS: '0', SYSTEMD_PAGER: '' };
}

function verdict(end: ProgramEnd, late: string): Verdict {
  if (end.code === 0) return { ok: true };
  if (end.late) return { ok: false, why: late };
  return { ok: false, why: lastLine(end) };
}

function lastLine({ err, failed, code, signal }: ProgramEnd): string {
  const [said] = err.trim().split('\n');
  return said || `systemctl ${failed ?? signal ?? `ended with code ${code}`}`;
}

/** Where `StateDirectory=` of the system's manager lies. */
const STATE = '/var/lib';
/** What systemd itself waits where a unit says nothing. */
const STOP_MS = 90_000;
/** A unit without a bound gets one here: longer than any drain time that people set. */
const STOP_MAX_MS = 7_200_000;
/** A question to systemd, which answers within milliseconds. */
const ASK_MS = 20_000;
const UNITS_MAX = 100;
