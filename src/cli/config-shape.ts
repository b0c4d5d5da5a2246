/** What can be told of a name and its value in a config file by their form; what a value means is looked at elsewhere. */
import { hideKeys, holdsKey } from '../contract/hidden.ts';
import { nearest } from '../core/nearest.ts';
import { type Setting, settingTable } from './setting-table.ts';
import { plain } from './style.ts';

/** What is wrong with a config file, in one place of it. */
export interface ConfigProblem {
  /** `max-concurrent`, `pool[1]`, `worker.url`; empty for the file as a whole. */
  readonly path: string;
  /** From 1; only where they are known. */
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  /** Goes on after the path: `is no setting`. */
  readonly says: string;
  /** The nearest known name, where one is near. */
  readonly meant?: string | undefined;
  /** What is expected, or the next step. */
  readonly hint: string;
}

/** Nothing, or what is wrong with one name at the top of a file. A value that may be a secret is never repeated. */
export function problemsOf(name: string, value: unknown): ConfigProblem[] {
  const setting = byFlag.get(name);
  if (holdsKey(name))
    return [
      { path: shownName(name), says: 'is a key, which does not belong into this file', hint: KEYS },
    ];
  if (holdsKey(value)) {
    return [
      {
        path: shownName(name),
        says: 'holds a key, which does not belong into this file',
        hint: KEYS,
      },
    ];
  }
  if (!setting) return [unknownName(name, value)];
  const wrong = (path: string, says: string, hint = expected(setting)): ConfigProblem => ({
    path,
    says,
    hint,
  });
  if (Array.isArray(value)) {
    if (setting.form !== 'list') return [wrong(name, 'is a list')];
    return value.flatMap((one, i) =>
      typeof one === 'string' || isNumber(one)
        ? []
        : [wrong(`${name}[${i}]`, `is ${kindOf(one)}, not a text`)],
    );
  }
  if (typeof value === 'object' || value === undefined) {
    return value === null
      ? [wrong(name, 'is null', 'Leave the name out instead.')]
      : [wrong(leafOf(name, value as object), `is ${kindOf(value)}`)];
  }
  if (typeof value === 'boolean') {
    return setting.form === 'switch' ? [] : [wrong(name, `is ${value}`)];
  }
  if (typeof value === 'string') {
    // A folder named "~" would be made.
    if (setting.path && /^~(?:[/\\]|$)/.test(value))
      return [wrong(name, 'begins with "~", which only a shell replaces', 'Write the whole path.')];
    return [];
  }
  if (!isNumber(value) || setting.path || setting.form === 'switch')
    return [wrong(name, `is ${kindOf(value)}`)];
  return [];
}

function unknownName(name: string, value: unknown): ConfigProblem {
  const path = shownName(name);
  if (SECRET.test(name)) return { path, says: 'is no setting', hint: KEYS };
  if (/proxy/i.test(name) && !/^behind/i.test(name))
    return {
      path,
      says: 'is no setting',
      hint: 'Proxies are those of the environment: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY.',
    };
  const table = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (table && !(value instanceof Date)) {
    return {
      path: leafOf(name, value),
      says: `stands in the table "${path}"`,
      hint: 'Settings stand at the top of the file, in no table.',
    };
  }
  return { path, says: 'is no setting', meant: meantBy(name), hint: NAMES };
}

/** The flag, the variable and the name in our own code are all tried. */
function meantBy(name: string): string | undefined {
  const word = name.replace(/^-+/, '');
  for (const [key, { flag, env }] of Object.entries(settingTable))
    if (word === flag || word === env || word === key || word.replaceAll('_', '-') === flag)
      return flag;
  if (word.length > NAME_CHARS) return undefined;
  return nearest(word, [...byFlag.keys()]);
}

/** What a value of a setting looks like in a config file. */
function expected({ form, argument, help, fallbackWords }: AnySetting): string {
  const looks =
    form === 'list'
      ? 'a list of texts, ["a", "b"]'
      : form === 'switch'
        ? 'true or false'
        : argument === 'duration'
          ? 'a duration, "90s", "10m" or "2h"'
          : argument === 'count'
            ? 'a whole number'
            : `a text, "<${argument ?? 'value'}>"`;
  return `Expected is ${looks}. ${help}. Default: ${fallbackWords}.`;
}

function leafOf(name: string, value: object): string {
  const [inner] = value instanceof Date ? [] : Object.keys(value);
  return inner === undefined ? shownName(name) : `${shownName(name)}.${shownName(inner)}`;
}

/** Somebody may have written anything where a name belongs: a key, escapes of a terminal, a whole text. */
function shownName(name: string): string {
  const safe = plain(hideKeys(name));
  return safe.length > NAME_CHARS ? `${safe.slice(0, NAME_CHARS)}…` : safe;
}

/** `a table`, `true`, `the number 7`: nothing of what a value holds that may be a secret. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (value instanceof Date) return 'a date';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a table';
  return typeof value === 'number' ? `the number ${value}` : String(value);
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

type AnySetting = Pick<
  Setting<unknown>,
  'flag' | 'env' | 'form' | 'argument' | 'path' | 'help' | 'fallbackWords'
>;
const byFlag = new Map<string, AnySetting>(
  Object.values(settingTable).map((setting) => [setting.flag, setting as AnySetting]),
);
/** The longest flag has some twenty. */
const NAME_CHARS = 100;
const SECRET = /(^|[-_])(key|token|secret|password)$/i;
export const KEYS =
  'Keys stand in files of their own (key-file), in INTERLOCK_<KIND>_KEY or in the profile.';
const NAMES = 'Settings in a config file are named as their flags, without "--".';
