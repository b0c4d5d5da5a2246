import { dirname, resolve } from 'node:path';
import { serviceAddress } from '../../wire/service-url.ts';
import type { Call, Io } from '../command.ts';
import { type SettingName, settingTable } from '../setting-table.ts';
import type { Settings } from '../settings.ts';
import { spoolFolderOf } from '../spool-folder.ts';
import { usageError } from '../usage.ts';
import { workerSettings } from '../worker-settings.ts';
import type { ServiceDescription } from './description.ts';
import type { ServiceId, ServicePapers } from './papers.ts';

export type InstallCall = Pick<Call, 'io' | 'sources' | 'keyPlaces'> & {
  readonly settings: Settings<(typeof workerSettings)[number]>;
  readonly args: {
    readonly 'run-as': string | undefined;
    readonly group: readonly string[];
    readonly gpu: boolean;
    readonly 'environment-file': string | undefined;
  };
};

/**
 * What is true in this call becomes that of the service: what stands in the config file stays there, so that a change of
 * it and a reload are enough; all else is written down as flags with whole paths. Throws what is wrong with the address.
 */
export function describeService(
  call: InstallCall,
  id: ServiceId,
  papers: ServicePapers,
  keyFile: string,
): ServiceDescription {
  const { io, settings, sources, args } = call;
  const workerId = workerIdOf(settings, id);
  const given = settings.spool !== undefined && settings.from.spool !== 'default';
  const spool = given ? spoolFolderOf(call) : papers.spool(workerId);
  const handlers = resolve(io.cwd, settings.handlers);
  const config = sources.config?.file;
  const environmentFile = args['environment-file'] && resolve(io.cwd, args['environment-file']);
  const caFile = settings.caFile && resolve(io.cwd, settings.caFile);
  const own = io.programs.standalone ? io.programs.command : dirname(dirname(io.programs.command));
  return {
    name: id.name,
    scope: id.scope,
    command: [
      io.programs.command,
      'worker',
      ...(config === undefined ? [] : ['--config', config]),
      ...['--worker-id', workerId],
      ...(inConfig('handlers', call) ? [] : ['--handlers', handlers]),
      // Where the manager names the place, the worker finds it by itself.
      ...(inConfig('spool', call) || (!given && id.kind === 'systemd') ? [] : ['--spool', spool]),
      ...otherFlags(call),
    ],
    workerId,
    handlers,
    keyFile,
    url: serviceAddress(settings.url, settings.insecureHttp).shown,
    environmentFile,
    runAs: args['run-as'],
    groups: args.group,
    devices: args.gpu,
    spool,
    spoolNamed: given,
    reads: [own, handlers, config, caFile].filter((path) => path !== undefined),
    drainTimeoutMs: settings.drainTimeoutMs,
  };
}

/** Two services of one machine are two workers. Written down: a new host name must not lose sight of the spool. */
function workerIdOf({ workerId, from }: InstallCall['settings'], { name }: ServiceId): string {
  return name !== undefined && from.workerId === 'default' ? `${workerId}-${name}` : workerId;
}

const WRITTEN: readonly SettingName[] = ['keyFile', 'workerId', 'handlers', 'spool'];

function inConfig(name: SettingName, { settings, sources: { config } }: InstallCall): boolean {
  const from = (settings.from as Readonly<Record<string, string>>)[name] ?? '';
  return config !== undefined && from.endsWith(` in ${config.file}`);
}

function otherFlags(call: InstallCall): string[] {
  const { settings } = call;
  return workerSettings.flatMap((name): string[] => {
    if (WRITTEN.includes(name) || settings.from[name] === 'default' || inConfig(name, call))
      return [];
    const { flag, form } = settingTable[name];
    if (form === 'switch') return settings[name] === true ? [`--${flag}`] : [];
    return rawOf(name, call).flatMap((text) => [`--${flag}`, text]);
  });
}

/** As it was written, since a value that was read has another form. */
function rawOf(
  name: (typeof workerSettings)[number],
  { io, settings, sources: { flags, env } }: InstallCall,
): string[] {
  const value = settings[name];
  if (Array.isArray(value)) return value.map(String);
  const { flag, env: variable } = settingTable[name];
  if (name === 'caFile') return [resolve(io.cwd, String(value))];
  const said = flags[flag] ?? env[variable];
  // Of a profile: the address or the project, which are text as they were read.
  return [String(said || value)];
}

/** Throws `USAGE` where a name cannot be part of a unit's. */
export function checkName(name: string | undefined, command: string): void {
  if (name === undefined || /^[a-z0-9][a-z0-9-]{0,31}$/.test(name)) return;
  throw usageError(`--name "${name}" must be small letters, digits and "-", at most 32.`, command);
}

/** Proxies that this shell knows and the service would not. */
export function lostProxies({ env }: Pick<Io, 'env'>, service: ServiceDescription): string[] {
  if (service.environmentFile !== undefined) return [];
  return ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY', 'NO_PROXY']
    .flatMap((name) => [name, name.toLowerCase()])
    .filter((name) => env[name]);
}
