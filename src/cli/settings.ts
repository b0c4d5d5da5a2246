import { dirname, resolve } from 'node:path';
import { hideInAddress, holdsKey, holdsPassword } from '../contract/hidden.ts';
import { TaskError } from '../contract/index.ts';
import { KEYS, kindOf } from './config-shape.ts';
import {
  type SettingName,
  type SettingValue,
  type Surroundings,
  settingTable,
} from './setting-table.ts';
import { plain } from './style.ts';

/** Where settings come from, the strongest first; a fallback stands behind them all. */
export interface SettingSources {
  readonly flags: Readonly<Record<string, unknown>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly config?:
    | { readonly file: string; readonly values: Readonly<Record<string, unknown>> }
    | undefined;
  /** Only the address and the project; its keys are found by `keys.ts`. */
  readonly profile?:
    | {
        readonly file: string;
        readonly url?: string | undefined;
        readonly project?: string | undefined;
      }
    | undefined;
  readonly around: Surroundings;
}

export type Settings<K extends SettingName> = {
  readonly [N in K]: SettingValue<N>;
} & {
  /** In words, for each name: `--url`, `INTERLOCK_URL`, `url in interlock.json`, `profile …`, `default`. */
  readonly from: Readonly<Record<K, string>>;
};

/** Which of the places a setting came from, for programs; `from` of a `Found` has it in words. */
export interface Place {
  readonly kind: 'flag' | 'environment' | 'config' | 'profile' | 'default';
  /** `--url`, `INTERLOCK_URL`. */
  readonly name?: string;
  /** Of the config file or the profile. */
  readonly file?: string;
}

/** A setting as it was found: its value, or what is wrong with it. */
export interface Found {
  readonly from: string;
  readonly place: Place;
  readonly value: unknown;
  /** Then there is no value. */
  readonly problem?: TaskError;
}

/**
 * Reads and checks the settings that are named, once; the rest of the program gets the frozen whole.
 * Throws `SETTING_INVALID`, which names the setting, where it came from and what is expected.
 */
export function readSettings<const K extends SettingName>(
  names: readonly K[],
  sources: SettingSources,
): Settings<K> {
  const values: Record<string, unknown> = {};
  const from: Record<string, string> = {};
  for (const name of names) {
    const found = findSetting(name, sources);
    if (found.problem) throw found.problem;
    from[name] = found.from;
    values[name] = found.value;
  }
  return Object.freeze({ ...values, from: Object.freeze(from) }) as unknown as Settings<K>;
}

/** Looks for one setting, the strongest place first. Does not throw for what is wrong with it. */
export function findSetting(name: SettingName, sources: SettingSources): Found {
  const { given, from, place } = find(name, sources);
  if (given === undefined)
    return { from, place, value: settingTable[name].fallback(sources.around) };
  try {
    return { from, place, value: check(name, given, from) };
  } catch (problem) {
    if (problem instanceof TaskError) return { from, place, value: undefined, problem };
    throw problem;
  }
}

function find(
  name: SettingName,
  sources: SettingSources,
): { given: unknown; from: string; place: Place } {
  const setting = settingTable[name];
  const { flags, env, config, profile } = sources;
  const flag = flags[setting.flag];
  if (flag !== undefined) {
    const from = `--${setting.flag}`;
    return { given: flag, from, place: { kind: 'flag', name: from } };
  }
  // Set but empty is how a compose file says "not set".
  const variable = env[setting.env];
  if (variable) {
    const given =
      setting.form === 'list' ? variable.split(',').map((part) => part.trim()) : variable;
    return { given, from: setting.env, place: { kind: 'environment', name: setting.env } };
  }
  const key = config?.values[setting.flag];
  if (config && key !== undefined) {
    const from = `"${setting.flag}" in ${config.file}`;
    return { given: ofConfig(name, key, config.file), from, place: inFile('config', config) };
  }
  const told = name === 'url' ? profile?.url : name === 'project' ? profile?.project : undefined;
  if (profile && told)
    return { given: told, from: `the profile ${profile.file}`, place: inFile('profile', profile) };
  return { given: undefined, from: 'default', place: { kind: 'default' } };
}

function inFile(kind: 'config' | 'profile', { file }: { readonly file: string }): Place {
  return { kind, file };
}

/** A config file may say 4 or "4". Its paths begin at its own folder: it means the same wherever we are started. */
function ofConfig(name: SettingName, value: unknown, file: string): unknown {
  const { path }: { path?: true } = settingTable[name];
  if (path && typeof value === 'string' && value !== '') return resolve(dirname(file), value);
  if (Array.isArray(value)) return value.map(asText);
  return asText(value);
}

function asText(value: unknown): unknown {
  return typeof value === 'number' ? String(value) : value;
}

function check(name: SettingName, given: unknown, from: string): unknown {
  const setting = settingTable[name];
  const usual = `Correct it. What it is: ${setting.help}. Default: ${setting.fallbackWords}.`;
  const refuse = (why: string, hint = usual): never => {
    throw new TaskError('SETTING_INVALID', `${from}: ${why}.`, {
      hint,
      details: { setting: setting.flag },
    });
  };
  if (setting.form === 'text' && Array.isArray(given)) refuse('is given more than once');
  if (holdsKey(given)) refuse('holds a key, which does not belong there', KEYS);
  for (const one of [given].flat()) {
    if (typeof one !== 'string') {
      if (setting.form === 'switch' && typeof one === 'boolean') continue;
      return refuse(`is ${kindOf(one)}, not a text`);
    }
    const control = CONTROL.exec(one)?.[0];
    if (control !== undefined)
      refuse(`holds a control character (${codeOf(control)}): a line break, for example`);
    // An address of its own is looked at where it is read, and never shown whole.
    if (name !== 'url' && holdsPassword(one))
      refuse('holds an address with a password, which does not belong there');
  }
  const wanted = setting.form === 'list' && !Array.isArray(given) ? [given] : given;
  const parsed = setting.schema.safeParse(wanted);
  if (parsed.success) return freeze(parsed.data);
  const [issue] = parsed.error.issues;
  const bad = issue?.path.length ? (wanted as unknown[])[Number(issue.path[0])] : given;
  return refuse(`${quoted(bad)} ${issue?.message ?? 'is not valid'}`);
}

function freeze(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? Object.freeze(value) : value;
}

/** Hidden before it is cut: a password that lost its "@" looks like any other word. */
function quoted(value: unknown): string {
  const text = plain(hideInAddress(String(value)));
  return `"${text.length > 80 ? `${text.slice(0, 80)}…` : text}"`;
}

function codeOf(char: string): string {
  return `U+${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
}

/** They would end a line of what is made of settings: a unit, a log, a page. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;
