import { TaskError } from '../contract/index.ts';
import {
  type SettingName,
  type SettingValue,
  type Surroundings,
  settingTable,
} from './setting-table.ts';
import { didYouMean } from './suggest.ts';

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
    const found = find(name, sources);
    from[name] = found.from;
    values[name] = 'given' in found ? check(name, found.given, found.from) : found.value;
  }
  return Object.freeze({ ...values, from: Object.freeze(from) }) as unknown as Settings<K>;
}

function find(
  name: SettingName,
  sources: SettingSources,
): { given: unknown; from: string } | { value: unknown; from: string } {
  const setting = settingTable[name];
  const { flags, env, config, profile, around } = sources;
  const flag = flags[setting.flag];
  if (flag !== undefined) return { given: flag, from: `--${setting.flag}` };
  // Set but empty is how a compose file says "not set".
  const variable = env[setting.env];
  if (variable) {
    const given =
      setting.form === 'list' ? variable.split(',').map((part) => part.trim()) : variable;
    return { given, from: setting.env };
  }
  const key = config?.values[setting.flag];
  if (config && key !== undefined)
    return { given: fromJson(key), from: `"${setting.flag}" in ${config.file}` };
  const told = name === 'url' ? profile?.url : name === 'project' ? profile?.project : undefined;
  if (profile && told) return { given: told, from: `the profile ${profile.file}` };
  return { value: setting.fallback(around), from: 'default' };
}

/** A config file may say 4 or "4". */
function fromJson(value: unknown): unknown {
  return typeof value === 'number' ? String(value) : value;
}

function check(name: SettingName, given: unknown, from: string): unknown {
  const setting = settingTable[name];
  const refuse = (why: string): never => {
    throw new TaskError('SETTING_INVALID', `${from}: ${why}.`, {
      hint: `${setting.help}. Default: ${setting.fallbackWords}.`,
      details: { setting: setting.flag },
    });
  };
  if (setting.form === 'text' && Array.isArray(given)) refuse('is given more than once');
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

function quoted(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
  return `"${text.length > 80 ? `${text.slice(0, 80)}…` : text}"`;
}

/** The keys that a config file may have. Throws `CONFIG_INVALID` for another. */
export function checkConfigNames(file: string, values: Readonly<Record<string, unknown>>): void {
  const known = Object.values(settingTable).map(({ flag }) => flag as string);
  for (const name of Object.keys(values)) {
    if (known.includes(name)) continue;
    const secret = /(^|[-_])(key|token|secret|password)$/i.test(name);
    throw new TaskError(
      'CONFIG_INVALID',
      `The config file ${file} holds "${name}", which is no setting.${secret ? '' : didYouMean(name, known, (n) => `"${n}"`)}`,
      {
        hint: secret
          ? 'Keys stand in files of their own (key-file), in INTERLOCK_<KIND>_KEY or in the profile.'
          : 'Settings in a config file are named as their flags, without "--".',
      },
    );
  }
}
