import { join } from 'node:path';
import * as z from 'zod';
import { bounds, poolName, workerId } from '../contract/index.ts';
import { workerDefaults } from '../core/defaults.ts';
import { durationText } from './duration.ts';
import { optional, type Setting, setting } from './setting.ts';
import {
  choice,
  duration,
  integer,
  type Listen,
  listen,
  positiveDuration,
  text,
  yes,
} from './setting-schemas.ts';
import { trustSetting } from './update/trust-setting.ts';

export type { Setting, Surroundings } from './setting.ts';

const logLevels = ['debug', 'info', 'warn', 'error'] as const;

/**
 * Every setting, one entry each: its flag is also its name in a config file. `docs/operations.md` has the same
 * table for people, and a test compares them.
 */
export const settingTable = {
  url: setting({
    flag: 'url',
    env: 'INTERLOCK_URL',
    form: 'text',
    argument: 'address',
    help: 'Address of the control plane',
    fallback: () => 'http://127.0.0.1:7420',
    fallbackWords: 'profile, else http://127.0.0.1:7420',
    schema: text,
  }),
  keyFile: optional<string>({
    flag: 'key-file',
    env: 'INTERLOCK_KEY_FILE',
    form: 'text',
    argument: 'file',
    path: true,
    help: 'File that holds the key (read again when the key is refused)',
    fallback: () => undefined,
    fallbackWords: 'INTERLOCK_<KIND>_KEY, else profile',
    schema: text,
  }),
  project: setting({
    flag: 'project',
    env: 'INTERLOCK_PROJECT',
    form: 'text',
    argument: 'name',
    help: 'Project that keys are made for and that is expected of a key',
    fallback: () => 'default',
    fallbackWords: 'profile, else default',
    schema: text
      .max(200)
      .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, 'must be letters, digits, ".", "_" and "-"'),
  }),
  handlers: setting({
    flag: 'handlers',
    env: 'INTERLOCK_HANDLERS',
    form: 'text',
    argument: 'folder',
    path: true,
    help: 'Folder with handlers, <type>@<version>.mjs and so on',
    fallback: ({ cwd }) => join(cwd, 'handlers'),
    fallbackWords: './handlers',
    schema: text,
  }),
  spool: optional<string>({
    flag: 'spool',
    env: 'INTERLOCK_SPOOL',
    form: 'text',
    argument: 'folder',
    path: true,
    help: 'Folder where reports are kept until they are answered',
    // Named with the worker id by whoever asks: two workers of one host share no spool.
    fallback: ({ checkout, cwd }) => (checkout ? join(cwd, 'spool') : undefined),
    fallbackWords: './spool in a checkout, else the state folder',
    schema: text,
  }),
  outbox: optional<string>({
    flag: 'outbox',
    env: 'INTERLOCK_OUTBOX',
    form: 'text',
    argument: 'folder',
    path: true,
    help: 'Folder where submissions are kept while the control plane is away',
    fallback: ({ stateFolder }) => (stateFolder ? join(stateFolder, 'outbox') : undefined),
    fallbackWords: 'outbox in the state folder',
    schema: text,
  }),
  workerId: setting({
    flag: 'worker-id',
    env: 'INTERLOCK_WORKER_ID',
    form: 'text',
    argument: 'name',
    help: 'Name of this worker, its own among all workers of the project',
    fallback: ({ hostName }) => nameOfHost(hostName),
    fallbackWords: 'host name',
    schema: workerId,
  }),
  maxConcurrent: setting({
    flag: 'max-concurrent',
    env: 'INTERLOCK_MAX_CONCURRENT',
    form: 'text',
    argument: 'count',
    help: 'How many handlers run at the same time',
    fallback: ({ cores }) => cores,
    fallbackWords: 'number of cores',
    schema: integer(1, 1_000),
  }),
  pools: setting<string[]>({
    flag: 'pool',
    env: 'INTERLOCK_POOLS',
    form: 'list',
    argument: 'name',
    help: 'Pool to take tasks from; may be given several times',
    fallback: () => ['default'],
    fallbackWords: 'default',
    schema: z.array(poolName).min(1, 'names no pool').max(bounds.pools),
  }),
  drainTimeoutMs: setting({
    flag: 'drain-timeout',
    env: 'INTERLOCK_DRAIN_TIMEOUT',
    form: 'text',
    argument: 'duration',
    help: 'How long running handlers may go on after a stop signal (the grace lies inside it)',
    fallback: () => workerDefaults.drainTimeoutMs,
    fallbackWords: durationText(workerDefaults.drainTimeoutMs),
    schema: duration,
  }),
  stopGraceMs: setting({
    flag: 'stop-grace',
    env: 'INTERLOCK_STOP_GRACE',
    form: 'text',
    argument: 'duration',
    help: 'How long a handler that is told to stop may take before it is killed',
    fallback: () => workerDefaults.stopGraceMs,
    fallbackWords: durationText(workerDefaults.stopGraceMs),
    schema: duration,
  }),
  pollMaxMs: setting({
    flag: 'poll-max',
    env: 'INTERLOCK_POLL_MAX',
    form: 'text',
    argument: 'duration',
    help: 'Longest wait between two claims while hints work',
    fallback: () => workerDefaults.pollMaxMs,
    fallbackWords: durationText(workerDefaults.pollMaxMs),
    schema: positiveDuration,
  }),
  transport: setting({
    flag: 'transport',
    env: 'INTERLOCK_TRANSPORT',
    form: 'text',
    argument: 'name',
    help: 'How the worker talks to the control plane',
    fallback: () => 'interlock' as const,
    fallbackWords: 'interlock',
    schema: choice('interlock'),
  }),
  statusListen: optional<Listen>({
    flag: 'status-listen',
    env: 'INTERLOCK_STATUS_LISTEN',
    form: 'text',
    argument: 'address',
    help: 'Where the worker tells how it is: /healthz, /readyz, /status, /metrics',
    fallback: () => undefined,
    fallbackWords: 'off',
    schema: listen,
  }),
  logLevel: setting({
    flag: 'log-level',
    env: 'INTERLOCK_LOG_LEVEL',
    form: 'text',
    argument: 'level',
    help: 'debug, info, warn or error',
    fallback: () => 'info' as const,
    fallbackWords: 'info',
    schema: choice(...logLevels),
  }),
  logFormat: optional<'text' | 'json'>({
    flag: 'log-format',
    env: 'INTERLOCK_LOG_FORMAT',
    form: 'text',
    argument: 'format',
    help: 'text or json',
    fallback: () => undefined,
    fallbackWords: 'text on a terminal, else json',
    schema: choice('text', 'json'),
  }),
  caFile: optional<string>({
    flag: 'ca-file',
    env: 'INTERLOCK_CA_FILE',
    form: 'text',
    argument: 'file',
    path: true,
    help: 'Certificates (PEM) to trust beside the well-known ones and those of the system',
    fallback: () => undefined,
    fallbackWords: 'none',
    schema: text,
  }),
  trust: trustSetting,
  insecureHttp: setting({
    flag: 'insecure-http',
    env: 'INTERLOCK_INSECURE_HTTP',
    form: 'switch',
    help: 'Send keys over plain http beyond this machine',
    fallback: () => false,
    fallbackWords: 'off',
    schema: yes,
  }),
  listen: setting({
    flag: 'listen',
    env: 'INTERLOCK_LISTEN',
    form: 'text',
    argument: 'address',
    help: 'Address and port that the control plane listens on',
    fallback: () => ({ host: '127.0.0.1', port: 7420 }),
    fallbackWords: '127.0.0.1:7420',
    schema: listen,
  }),
  tlsCert: optional<string>({
    flag: 'tls-cert',
    env: 'INTERLOCK_TLS_CERT',
    form: 'text',
    argument: 'file',
    path: true,
    help: 'Certificate (PEM, with its chain) that the control plane speaks TLS with; read again when it changes',
    fallback: () => undefined,
    fallbackWords: 'plain http',
    schema: text,
  }),
  tlsKey: optional<string>({
    flag: 'tls-key',
    env: 'INTERLOCK_TLS_KEY',
    form: 'text',
    argument: 'file',
    path: true,
    help: 'Private key (PEM) of --tls-cert',
    fallback: () => undefined,
    fallbackWords: 'none',
    schema: text,
  }),
  behindProxy: setting({
    flag: 'behind-proxy',
    env: 'INTERLOCK_BEHIND_PROXY',
    form: 'switch',
    help: 'Listen beyond this machine without TLS: a proxy in front speaks it, and only that reaches this port',
    fallback: () => false,
    fallbackWords: 'off',
    schema: yes,
  }),
  pages: setting({
    flag: 'pages',
    env: 'INTERLOCK_PAGES',
    form: 'text',
    argument: 'access',
    help: 'Pages for a browser: open (at this machine nobody has to sign in), key (always with a key), off',
    fallback: () => 'open' as const,
    fallbackWords: 'open',
    schema: choice('open', 'key', 'off'),
  }),
  data: optional<string>({
    flag: 'data',
    env: 'INTERLOCK_DATA',
    form: 'text',
    argument: 'folder',
    path: true,
    help: 'Folder of the control plane: its database and its secret',
    fallback: ({ stateFolder }) => (stateFolder ? join(stateFolder, 'control-plane') : undefined),
    fallbackWords: 'the state folder',
    schema: text,
  }),
  store: setting({
    flag: 'store',
    env: 'INTERLOCK_STORE',
    form: 'text',
    argument: 'name',
    help: 'sqlite keeps tasks in --data, memory forgets them at the end',
    fallback: () => 'sqlite' as const,
    fallbackWords: 'sqlite',
    schema: choice('sqlite', 'memory'),
  }),
  leaseMinMs: setting({
    flag: 'lease-min',
    env: 'INTERLOCK_LEASE_MIN',
    form: 'text',
    argument: 'duration',
    help: 'Shortest lease that is granted',
    fallback: () => 5_000,
    fallbackWords: '5s',
    schema: positiveDuration,
  }),
  leaseDefaultMs: setting({
    flag: 'lease-default',
    env: 'INTERLOCK_LEASE_DEFAULT',
    form: 'text',
    argument: 'duration',
    help: 'Lease of a task whose policy names none',
    fallback: () => 30_000,
    fallbackWords: '30s',
    schema: positiveDuration,
  }),
} as const;

export type SettingTable = typeof settingTable;
export type SettingName = keyof SettingTable;
export type SettingValue<K extends SettingName> =
  SettingTable[K] extends Setting<infer T, infer F> ? T | F : never;

/** A host name as a worker id: what it may not hold becomes "-". */
function nameOfHost(hostName: string): string {
  const name = hostName.replace(/[^A-Za-z0-9._-]/g, '-').replace(/^[^A-Za-z0-9]+/, '');
  return name.slice(0, bounds.workerIdChars) || 'worker';
}

/** All of them, in the order of the table. */
export const settingNames = Object.keys(settingTable) as readonly SettingName[];
