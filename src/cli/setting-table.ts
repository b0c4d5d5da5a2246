import { join } from 'node:path';
import * as z from 'zod';
import { bounds, poolName, workerId } from '../contract/index.ts';
import { workerDefaults } from '../core/defaults.ts';
import { durationText, parseDuration } from './duration.ts';

/**
 * Every setting, one entry each: its flag is also its name in a config file. `docs/operations.md` has the same
 * table for people, and a test compares them.
 */
export interface Setting<T, F = T> {
  readonly flag: string;
  readonly env: string;
  /** `text` takes a value, `list` may be repeated (commas in the environment), `switch` takes none. */
  readonly form: 'text' | 'list' | 'switch';
  readonly argument?: string;
  readonly help: string;
  /** What is taken when nobody says anything; `undefined`: nothing. */
  readonly fallback: (around: Surroundings) => F;
  readonly fallbackWords: string;
  readonly schema: z.ZodType<T>;
}

/** What fallbacks depend on. */
export interface Surroundings {
  readonly cwd: string;
  readonly hostName: string;
  readonly cores: number;
  /** `undefined` where this user has no home. */
  readonly stateFolder: string | undefined;
  /** The current folder is a checkout of this project. */
  readonly checkout: boolean;
}

const text = z.string().min(1, 'is empty').max(4_096, 'is too long');

const duration = text.transform((value, ctx) => {
  const ms = parseDuration(value);
  if (ms !== undefined && ms <= bounds.durationMs) return ms;
  ctx.addIssue({
    code: 'custom',
    message: 'is no duration: write 90s, 10m or 2h (a bare number is seconds)',
  });
  return z.NEVER;
});

const positiveDuration = duration.refine((ms) => ms > 0, 'must be longer than nothing');

function integer(min: number, max: number) {
  const says = `must be a whole number from ${min} to ${max}`;
  return text
    .regex(/^\d{1,9}$/, says)
    .transform(Number)
    .pipe(z.number().min(min, says).max(max, says));
}

function choice<const T extends string>(...words: readonly T[]) {
  return z.enum(words, { error: () => `must be ${words.join(' or ')}` });
}

const yes = z.union([z.literal(true), z.literal(false), text]).transform((value, ctx) => {
  if (value === true || value === 'true' || value === '1' || value === 'yes') return true;
  if (value === false || value === 'false' || value === '0' || value === 'no') return false;
  ctx.addIssue({ code: 'custom', message: 'must be true or false' });
  return z.NEVER;
});

/** `127.0.0.1:7420`, `[::1]:7420`, `localhost:0`, `7420`. */
const listen = text.transform((value, ctx) => {
  const match = /^(?:\[([\da-fA-F:.%\w]+)\]|([^\s:[\]]+)):(\d{1,5})$|^(\d{1,5})$/.exec(value);
  const port = Number(match?.[3] ?? match?.[4]);
  if (match && port <= 65_535) return { host: match[1] ?? match[2] ?? '127.0.0.1', port };
  ctx.addIssue({
    code: 'custom',
    message: 'is no address to listen on: write 127.0.0.1:7420, [::1]:7420, or a port',
  });
  return z.NEVER;
});
export type Listen = z.output<typeof listen>;

export const logLevels = ['debug', 'info', 'warn', 'error'] as const;

function setting<T>(value: Setting<T>): Setting<T> {
  return value;
}

/** One that may be nothing at all. */
function optional<T>(value: Setting<T, T | undefined>): Setting<T, T | undefined> {
  return value;
}

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
    help: 'Folder where reports are kept until they are answered',
    // Named with the worker id by whoever asks: two workers of one host share no spool.
    fallback: ({ checkout, cwd }) => (checkout ? join(cwd, 'spool') : undefined),
    fallbackWords: './spool in a checkout, else the state folder',
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
    help: 'Where GET /status tells what the worker does, as JSON',
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
    help: 'Certificates (PEM) to trust beside those of the system',
    fallback: () => undefined,
    fallbackWords: 'system',
    schema: text,
  }),
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
  data: optional<string>({
    flag: 'data',
    env: 'INTERLOCK_DATA',
    form: 'text',
    argument: 'folder',
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
