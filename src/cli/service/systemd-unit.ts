import { finalExitCodes } from '../exit-codes.ts';
import { WORKER_CREDENTIAL } from '../keys.ts';
import { factsLine, MARK, type ServiceDescription, stateName, stopMs } from './description.ts';
import { fileText } from './file-text.ts';
import { execPath, execWord, listedPath, patternPath, span, wholeLine } from './systemd-words.ts';

/** A start loads every handler in a process of its own, and may wait for what an earlier session left. */
const START_MS = 300_000;
/** Fed at a third of it. Longer than a busy machine stalls, shorter than a lease of minutes. */
const WATCHDOG_MS = 60_000;
/** Else it would be as long as a drain. */
const ABORT_MS = 30_000;
/** Twelve starts a minute at most: nobody is harmed by them, and what a person mends works at once. */
const RESTART_MS = 5_000;
/** From 254 on systemd waits longer each time, up to this. */
const RESTART_MAX_MS = 120_000;
const STEPS_SINCE = 254;

/** The text of a unit. @param version of the systemd that will read it; older ones are told nothing they do not know. */
export function systemdUnit(service: ServiceDescription, version: number): string {
  const { scope } = service;
  return fileText([
    `# ${MARK}; run it again to change this, or use systemctl edit.`,
    `# ${factsLine(service)}`,
    '[Unit]',
    `Description=${wholeLine(`Interlock worker ${service.workerId} (${service.url})`)}`,
    'Documentation=man:systemd.service(5)',
    ...(scope === 'system'
      ? ['Wants=network-online.target', 'After=network-online.target time-sync.target']
      : []),
    '# A machine that nobody visits never gives up.',
    'StartLimitIntervalSec=0',
    '',
    '[Service]',
    'Type=notify',
    '# The worker speaks through the program systemd-notify, a child of its own.',
    'NotifyAccess=all',
    `ExecStart=${execLine(service)}`,
    'ExecReload=kill -HUP $MAINPID',
    ...identity(service),
    '',
    `TimeoutStartSec=${span(START_MS)}`,
    '# Fed while the worker hears from its control plane, holds attempts, or knows why it does not ask.',
    `WatchdogSec=${span(WATCHDOG_MS)}`,
    '# One that is starved is told to abort, and killed if it cannot even do that.',
    `TimeoutAbortSec=${span(ABORT_MS)}`,
    'Restart=on-failure',
    `RestartSec=${span(RESTART_MS)}`,
    ...(version >= STEPS_SINCE
      ? ['RestartSteps=6', `RestartMaxDelaySec=${span(RESTART_MAX_MS)}`]
      : []),
    '# Ends after which somebody has to do something first: docs/operations.md, exit codes.',
    `RestartPreventExitStatus=${finalExitCodes.join(' ')}`,
    '# The worker alone is told to stop; it ends its handlers in order. Longer than its drain may take.',
    'KillMode=mixed',
    `TimeoutStopSec=${span(stopMs(service))}`,
    '# A handler that the kernel ends for want of memory is told by the worker, which goes on.',
    'OOMPolicy=continue',
    'LimitNOFILE=65536',
    '# What it had in memory, its key too, is not written to a disk.',
    'LimitCORE=0',
    '',
    ...(scope === 'system' ? hardening(service) : userHardening()),
    '',
    '[Install]',
    `WantedBy=${scope === 'system' ? 'multi-user.target' : 'default.target'}`,
    '',
  ]);
}

function execLine({ command, scope, keyFile }: ServiceDescription): string {
  const [program = '', ...words] = command;
  // A service of the machine gets it as a credential; one of a user reads its user's own file, again when it is refused.
  const key = scope === 'user' ? ['--key-file', keyFile] : [];
  return [execPath(program), ...[...words, ...key].map(execWord)].join(' ');
}

function identity(service: ServiceDescription): string[] {
  const { scope, runAs, groups, keyFile, environmentFile, name } = service;
  const state = stateName(name);
  const environment =
    environmentFile === undefined ? [] : [`EnvironmentFile=${patternPath(environmentFile)}`];
  // A user's worker finds its own state folder: that of the manager is another one in each of its versions.
  if (scope === 'user') return ['WorkingDirectory=%h', ...environment];
  return [
    ...(runAs === undefined ? ['DynamicUser=yes'] : [`User=${wholeLine(runAs)}`]),
    ...(groups.length > 0 ? [`SupplementaryGroups=${groups.join(' ')}`] : []),
    `StateDirectory=${state}`,
    'StateDirectoryMode=0700',
    `WorkingDirectory=%S/${state}`,
    '# Read by systemd as root at each start: the file stays closed to the service’s own user.',
    `LoadCredential=${WORKER_CREDENTIAL}:${wholeLine(keyFile)}`,
    ...environment,
  ];
}

function hardening(service: ServiceDescription): string[] {
  const { devices, spool, spoolNamed } = service;
  return [
    'UMask=0077',
    'NoNewPrivileges=yes',
    'CapabilityBoundingSet=',
    'AmbientCapabilities=',
    'ProtectSystem=strict',
    ...(spoolNamed ? [`ReadWritePaths=${listedPath(spool)}`] : []),
    ...home(service),
    'PrivateTmp=yes',
    ...(devices
      ? ['# Handlers reach devices. ProtectClock is left out, since it would shut them away.']
      : ['PrivateDevices=yes', 'ProtectClock=yes']),
    'ProtectHostname=yes',
    'ProtectKernelLogs=yes',
    'ProtectKernelModules=yes',
    'ProtectKernelTunables=yes',
    'ProtectControlGroups=yes',
    'ProtectProc=invisible',
    'RemoveIPC=yes',
    ...common(),
    '# Left out: MemoryDenyWriteExecute, since JavaScript is compiled while it runs; ProcSubset=pid, since the worker tells',
    '# from /proc whether the machine was restarted; PrivateUsers, since groups of devices and files would be lost.',
  ];
}

/** What needs no namespace: a user's own manager may make none on many systems. */
function userHardening(): string[] {
  return [
    'UMask=0077',
    'NoNewPrivileges=yes',
    ...common(),
    '# A user’s own manager cannot do more on every system: a service of the machine is shut in further.',
  ];
}

function common(): string[] {
  return [
    'LockPersonality=yes',
    'RestrictNamespaces=yes',
    'RestrictRealtime=yes',
    'RestrictSUIDSGID=yes',
    'RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK',
    'SystemCallArchitectures=native',
    '# What is not in it fails with EPERM rather than ending a handler.',
    'SystemCallFilter=@system-service',
    'SystemCallErrorNumber=EPERM',
  ];
}

/** Homes are out of sight, except where something that is needed lies in one: then they can be read. */
function home({ reads, spool }: ServiceDescription): string[] {
  const needed = [...reads, spool].some(isInHome);
  return needed
    ? ['# Program, handlers or settings lie in a home.', 'ProtectHome=read-only']
    : ['ProtectHome=yes'];
}

/** What `ProtectHome=` hides. */
function isInHome(path: string): boolean {
  return /^\/(home|root|run\/user)(\/|$)/.test(path);
}
