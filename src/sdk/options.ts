/** Options are checked once, where they come in: a name that is not known would be a wish that nobody heard. */
import { TaskError } from '../contract/errors.ts';
import { nearest } from '../core/nearest.ts';
import { valueInWords } from '../core/value-words.ts';
import { constantKey, type KeySource } from '../wire/key.ts';
import { type ServiceAddress, serviceAddress } from '../wire/service-url.ts';

/** What an option must be, as the end of "it must be …"; `undefined`: it is. Not asked about what is not given. */
export type OptionCheck = (value: unknown) => string | undefined;

/** One for each option of the type, so that none is forgotten here. */
export type OptionChecks<Options> = { readonly [Name in keyof Options]-?: OptionCheck };

/**
 * Throws `INVALID_OPTION` for what is no object, for a name that is not in the table (and says which is near), and for
 * a value of the wrong form.
 * @param whose begins the sentence: `TaskWorker`.
 */
export function checkOptions<Options>(
  whose: string,
  given: unknown,
  checks: OptionChecks<Options>,
): void {
  const names = Object.keys(checks);
  const hint = `It takes ${names.join(', ')}.`;
  if (typeof given !== 'object' || given === null)
    throw new TaskError(
      'INVALID_OPTION',
      `${whose} takes its options as one object, and got ${valueInWords(given)}.`,
      { hint },
    );
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(checks, name)) {
      const meant = alias(name, names) ?? nearest(name, names);
      throw new TaskError(
        'INVALID_OPTION',
        `${whose} has no option "${name.slice(0, 100)}".${meant ? ` Did you mean ${meant}?` : ''}`,
        { hint, details: { option: name, ...(meant ? { nearest: meant } : {}) } },
      );
    }
    const must = value === undefined ? undefined : checks[name as keyof Options](value);
    if (must !== undefined)
      throw new TaskError(
        'INVALID_OPTION',
        `The option ${name} of ${whose} is ${valueInWords(value)}; it must be ${must}.`,
        { hint: `Give ${name} as ${must}, or leave it out.`, details: { option: name } },
      );
  }
}

/** What other libraries call it: too far off in letters to be found by them. */
function alias(name: string, names: readonly string[]): string | undefined {
  const meant = Object.hasOwn(ALIASES, name.toLowerCase())
    ? ALIASES[name.toLowerCase()]
    : undefined;
  return meant !== undefined && names.includes(meant) ? meant : undefined;
}

const ALIASES: Readonly<Record<string, string>> = {
  url: 'serviceUrl',
  baseurl: 'serviceUrl',
  address: 'serviceUrl',
  endpoint: 'serviceUrl',
  apikey: 'key',
  token: 'key',
  concurrency: 'maxConcurrent',
  timeout: 'timeoutMs',
  ca: 'caFile',
  pool: 'pools',
  id: 'workerId',
  name: 'workerId',
  logger: 'log',
};

/** Who is called, and as whom. Throws `INVALID_ADDRESS`, `INSECURE_HTTP`, `KEY_MISSING` or `KEY_MALFORMED`. */
export function checkDoor(options: {
  readonly serviceUrl: string;
  readonly key: string | KeySource;
  readonly insecureHttp?: boolean | undefined;
}): { readonly address: ServiceAddress; readonly key: KeySource } {
  const { serviceUrl, insecureHttp } = options;
  if (typeof serviceUrl !== 'string' || serviceUrl.trim() === '')
    throw new TaskError('INVALID_ADDRESS', 'The address of the control plane is missing.', {
      hint: 'Give the option serviceUrl: https://tasks.example.com or http://127.0.0.1:7420.',
    });
  const address = serviceAddress(serviceUrl, insecureHttp);
  const key: unknown = options.key;
  if (key === undefined || key === null || key === '')
    throw new TaskError('KEY_MISSING', 'No key was given.', {
      hint: 'Give the option key, for instance from the environment: is the variable set? An admin makes a key with `interlock keys new`.',
    });
  if (typeof key === 'string') return { address, key: constantKey(key) };
  if (has(key, ['current', 'reload'])) return { address, key: key as KeySource };
  throw new TaskError(
    'INVALID_OPTION',
    `The option key is ${valueInWords(key)}; it must be a text that begins with "il_", or an object with current() and reload().`,
    {
      hint: 'Give the option key as a text, for instance from the environment.',
      details: { option: 'key' },
    },
  );
}

export const mustBeText: OptionCheck = (value) =>
  typeof value === 'string' && value.trim() !== '' ? undefined : 'a text that is not empty';

export const mustBeFlag: OptionCheck = (value) =>
  typeof value === 'boolean' ? undefined : 'true or false';

export const mustBeFunction: OptionCheck = (value) =>
  typeof value === 'function' ? undefined : 'a function';

export const mustBeLog: OptionCheck = (value) =>
  has(value, ['debug', 'info', 'warn', 'error'])
    ? undefined
    : 'an object with debug(), info(), warn() and error()';

/** `checkDoor` and others look at it closely. */
export const judgedElsewhere: OptionCheck = () => undefined;

/** A number of milliseconds; without an end is fine. */
export const mustBeMilliseconds: OptionCheck = (value) =>
  typeof value === 'number' && value >= 0 ? undefined : 'a number of milliseconds from 0';

export function mustBeOneOf(words: readonly string[]): OptionCheck {
  return (value) => {
    if (words.includes(value as string)) return undefined;
    const meant = typeof value === 'string' ? nearest(value, words) : undefined;
    return `${words.join(' or ')}${meant === undefined ? '' : ` (is ${meant} meant?)`}`;
  };
}

export function mustBeWhole(min: number): OptionCheck {
  return (value) =>
    Number.isInteger(value) && (value as number) >= min ? undefined : `a whole number from ${min}`;
}

export const mustBeProxy: OptionCheck = (value) => {
  const fits =
    typeof value === 'object' &&
    value !== null &&
    Object.entries(value).every(
      ([name, one]) =>
        ['https', 'http', 'none'].includes(name) && (one === undefined || typeof one === 'string'),
    );
  return fits ? undefined : 'an object with https, http and none, each a text';
};

function has(value: unknown, methods: readonly string[]): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    methods.every((name) => typeof (value as Record<string, unknown>)[name] === 'function')
  );
}
