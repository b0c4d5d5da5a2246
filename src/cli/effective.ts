/** What a command would run with, and where each of it comes from: for `config print`. Nothing is sent anywhere. */
import { join, resolve } from 'node:path';
import { TaskError } from '../contract/index.ts';
import { nearest } from '../core/nearest.ts';
import { type EnvironmentProxies, proxyRoutes } from '../wire/proxy.ts';
import { hostPort, serviceAddress } from '../wire/service-url.ts';
import type { Command, Io } from './command.ts';
import type { ConfigFile } from './config-file.ts';
import { durationText } from './duration.ts';
import { KEY_VARIABLES, type KeyPlaces, keyCandidates } from './keys.ts';
import { type SettingName, settingTable } from './setting-table.ts';
import { findSetting, type Place, type SettingSources } from './settings.ts';

export interface EffectiveSetting {
  /** As its flag, without `--`. */
  readonly name: string;
  /** As a config file would hold it; `null` where nothing is set, or what is set is not valid. */
  readonly value: ConfigValue | null;
  /** The value for people. */
  readonly shown: string;
  readonly from: string;
  readonly place: Place;
  /** What is wrong with it; then there is no value. */
  readonly problem?: string;
  readonly next?: string | undefined;
}

export type ConfigValue = string | number | boolean | readonly string[];

/** All settings of a command, in the order of its help. */
export function effectiveSettings(
  command: Command,
  sources: SettingSources,
  io: Pick<Io, 'cwd'>,
): EffectiveSetting[] {
  const found = new Map((command.settings ?? []).map((name) => [name, findSetting(name, sources)]));
  return [...found].map(([name, { from, place, value, problem }]) => {
    const { flag, fallbackWords } = settingTable[name];
    const base = { name: flag, from, place };
    const wrong = problem ?? addressProblem(name, value, found.get('insecureHttp')?.value === true);
    if (wrong) {
      const { message, hint } = wrong;
      return { ...base, value: null, shown: '(not valid)', problem: message, next: hint };
    }
    const known =
      name === 'spool' && value === undefined
        ? workerSpool(sources, found.get('workerId')?.value)
        : value;
    const written = asWritten(name, known, io.cwd);
    return {
      ...base,
      value: written ?? null,
      shown: written === undefined ? `(${fallbackWords})` : wordsOf(written),
    };
  });
}

/** As a config file holds it. */
function asWritten(name: SettingName, value: unknown, cwd: string): ConfigValue | undefined {
  const { path, argument }: { path?: true; argument?: string } = settingTable[name];
  if (value === undefined) return undefined;
  if (argument === 'duration') return durationText(value as number);
  if (path) return resolve(cwd, value as string);
  if (typeof value === 'object' && value !== null && 'port' in value) {
    const { host, port } = value as { host: string; port: number };
    return hostPort(host, port);
  }
  return value as ConfigValue;
}

export function wordsOf(value: ConfigValue): string {
  return Array.isArray(value) ? value.join(', ') : String(value);
}

/** The folder of a worker that names none. */
function workerSpool({ around }: SettingSources, workerId: unknown): string | undefined {
  if (around.stateFolder === undefined || typeof workerId !== 'string') return undefined;
  return join(around.stateFolder, 'spool', workerId);
}

function addressProblem(name: SettingName, value: unknown, insecureHttp: boolean) {
  if (name !== 'url' || typeof value !== 'string') return undefined;
  try {
    serviceAddress(value, insecureHttp);
    return undefined;
  } catch (error) {
    if (error instanceof TaskError) return error;
    throw error;
  }
}

export interface EffectiveKey {
  /** `undefined`: a key file may hold one of any kind. */
  readonly kind: string | undefined;
  readonly from: string;
  /** The one that a worker would use. */
  readonly used: boolean;
  /** Why it could not be used, or what is wrong with how it is kept. */
  readonly trouble?: string | undefined;
}

/** Keys that a command would find, the strongest place first. What they are is never told. */
export async function effectiveKeys(
  command: Command,
  places: KeyPlaces,
): Promise<readonly EffectiveKey[]> {
  const worker = command.path === 'worker';
  const fits = keyCandidates(places).filter(
    ({ kind }) => !worker || kind === undefined || kind === 'task-worker',
  );
  return Promise.all(
    fits.map(async ({ kind, from, load }, i) => ({
      kind,
      from,
      used: worker && i === 0,
      trouble: await load().then(
        ({ advice }) => advice,
        (error: unknown) => (error instanceof TaskError ? error.message : String(error)),
      ),
    })),
  );
}

export interface EffectiveRoute {
  readonly says: string;
  /** Without user and password. */
  readonly proxy?: string | undefined;
  readonly problem?: string | undefined;
}

/** How the address of the control plane is reached; `undefined` where it is none. */
export function effectiveRoute(
  url: string | undefined,
  proxies: EnvironmentProxies,
): EffectiveRoute | undefined {
  try {
    if (url === undefined) return undefined;
    const { protocol, hostname, port } = new URL(url);
    const route = proxyRoutes(proxies);
    const { proxy, says } = route(
      protocol,
      hostname,
      Number(port) || (protocol === 'https:' ? 443 : 80),
    );
    const problem = proxy?.unusable;
    return { says, proxy: proxy?.shown, ...(problem && { problem }) };
  } catch (error) {
    if (!(error instanceof TaskError)) return undefined;
    return { says: 'unknown', problem: `${error.message} ${error.hint ?? ''}`.trim() };
  }
}

/** Variables that look like a mistyped setting: they do nothing. */
export function strayVariables(env: Io['env']): string[] {
  const known = [
    ...Object.values(settingTable).map((setting) => setting.env as string),
    ...KEY_VARIABLES.map(([, name]) => name),
    'INTERLOCK_CONFIG',
    'INTERLOCK_PROFILE',
  ];
  return Object.keys(env).flatMap((name) => {
    if (!name.startsWith('INTERLOCK_') || !env[name] || known.includes(name)) return [];
    const meant = nearest(name, known);
    return meant === undefined ? [] : [`${name} is no setting. Did you mean ${meant}?`];
  });
}

/** Settings of the file that the command does not read. */
export function unusedNames(command: Command, { values }: Pick<ConfigFile, 'values'>): string[] {
  const read = new Set((command.settings ?? []).map((name) => settingTable[name].flag as string));
  const known = new Set(Object.values(settingTable).map(({ flag }) => flag as string));
  return Object.keys(values).filter((name) => known.has(name) && !read.has(name));
}
