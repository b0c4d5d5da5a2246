import { posix, win32 } from 'node:path';
import {
  type ServiceDescription,
  type ServiceKind,
  serviceName,
  stateName,
} from './description.ts';
import { launchdLabel, launchdLog, launchdPlist } from './launchd-plist.ts';
import { systemdUnit } from './systemd-unit.ts';
import { windowsTask, windowsTaskName } from './windows-task.ts';
import type { ServiceWorld } from './world.ts';

/** Which service: where it lies follows from that, also for the commands that only find it. */
export interface ServiceId {
  readonly kind: ServiceKind;
  readonly name: string | undefined;
  readonly scope: 'system' | 'user';
}

export type CommandLine = readonly string[];

/** All that a kind of manager differs in: the file, and the commands around it. Pure. */
export interface ServicePapers {
  /** As its manager calls it. */
  readonly called: string;
  readonly file: string;
  /** Where a key goes that is copied for it. */
  readonly keyCopy: string;
  /** Where its spool lies if nobody names another folder. */
  spool(workerId: string): string;
  /** Its log, where the manager writes one into a file. */
  readonly log: string | undefined;
  text(service: ServiceDescription, version: number): string;
  /** The manager reads UTF-16. */
  readonly wide: boolean;
  /** After the file was written: now, and at the next start of the machine. */
  readonly enable: readonly CommandLine[];
  readonly start: readonly CommandLine[];
  /** Of one that runs with another file. */
  readonly restart: readonly CommandLine[];
  /** Waits for the drain. */
  readonly stop: readonly CommandLine[];
  readonly disable: readonly CommandLine[];
  /** After the file was removed. */
  readonly forget: readonly CommandLine[];
  /** Ends with 0 while it runs. */
  readonly active: CommandLine;
}

export function papersOf(
  id: ServiceId,
  world: Pick<ServiceWorld, 'uid' | 'home' | 'env'>,
): ServicePapers {
  if (id.kind === 'systemd') return systemdPapers(id, world);
  return id.kind === 'launchd' ? launchdPapers(id, world) : windowsPapers(id, world);
}

function systemdPapers(
  { name, scope }: ServiceId,
  { home, env }: Pick<ServiceWorld, 'home' | 'env'>,
): ServicePapers {
  const unit = `${serviceName(name)}.service`;
  const user = scope === 'user';
  const systemctl = (...words: string[]) => ['systemctl', ...(user ? ['--user'] : []), ...words];
  const config = env.XDG_CONFIG_HOME || posix.join(home, '.config');
  const state = env.XDG_STATE_HOME || posix.join(home, '.local', 'state');
  const folder = user ? posix.join(config, 'systemd', 'user') : '/etc/systemd/system';
  return {
    called: unit,
    file: posix.join(folder, unit),
    keyCopy: posix.join(
      user ? posix.join(config, 'interlock') : '/etc/interlock',
      `${serviceName(name)}.key`,
    ),
    spool: (workerId) =>
      user
        ? posix.join(state, 'interlock', 'spool', workerId)
        : posix.join('/var/lib', stateName(name), 'spool', workerId),
    log: undefined,
    text: systemdUnit,
    wide: false,
    enable: [systemctl('daemon-reload'), systemctl('enable', unit)],
    start: [systemctl('start', unit)],
    restart: [systemctl('restart', unit)],
    stop: [systemctl('stop', unit)],
    disable: [systemctl('disable', unit)],
    forget: [systemctl('daemon-reload')],
    active: systemctl('is-active', '--quiet', unit),
  };
}

function launchdPapers(
  { name, scope }: ServiceId,
  { home, uid }: Pick<ServiceWorld, 'home' | 'uid'>,
): ServicePapers {
  const label = launchdLabel(name);
  const user = scope === 'user';
  const domain = user ? `gui/${uid ?? 501}` : 'system';
  const library = user ? posix.join(home, 'Library') : '/Library';
  const own = posix.join(library, 'Application Support', 'interlock');
  const file = posix.join(library, user ? 'LaunchAgents' : 'LaunchDaemons', `${label}.plist`);
  const log = launchdLog({ name, scope }, home);
  const bootout = ['launchctl', 'bootout', `${domain}/${label}`];
  const bootstrap = ['launchctl', 'bootstrap', domain, file];
  return {
    called: label,
    file,
    keyCopy: posix.join(own, `${serviceName(name)}.key`),
    spool: (workerId) => posix.join(own, 'spool', workerId),
    log,
    text: (service) => launchdPlist(service, log),
    wide: false,
    enable: [['launchctl', 'enable', `${domain}/${label}`]],
    start: [bootstrap],
    restart: [bootout, bootstrap],
    stop: [bootout],
    disable: [],
    forget: [],
    active: ['launchctl', 'print', `${domain}/${label}`],
  };
}

function windowsPapers(
  { name, scope }: ServiceId,
  { home, env }: Pick<ServiceWorld, 'home' | 'env'>,
): ServicePapers {
  const task = windowsTaskName(name);
  const data =
    scope === 'user'
      ? env.LOCALAPPDATA || win32.join(home, 'AppData', 'Local')
      : env.ProgramData || 'C:\\ProgramData';
  const own = win32.join(data, 'interlock');
  const file = win32.join(own, `${serviceName(name)}.xml`);
  const log = win32.join(own, 'logs', `${serviceName(name)}.log`);
  const create = ['schtasks', '/Create', '/TN', task, '/XML', file, '/F'];
  const run = ['schtasks', '/Run', '/TN', task];
  const end = ['schtasks', '/End', '/TN', task];
  return {
    called: task,
    file,
    keyCopy: win32.join(own, `${serviceName(name)}.key`),
    spool: (workerId) => win32.join(own, 'spool', workerId),
    log,
    text: (service) => windowsTask(service, log),
    wide: true,
    enable: [create],
    start: [run],
    restart: [end, run],
    stop: [end],
    disable: [['schtasks', '/Delete', '/TN', task, '/F']],
    forget: [],
    // Says only that there is one: whether it runs is told in the words of the system's language.
    active: ['schtasks', '/Query', '/TN', task],
  };
}
