import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { KEY_PREFIX, type KeyKind, TaskError } from '../contract/index.ts';
import {
  constantKey,
  type KeySource,
  keyFromFile,
  keyFromVariable,
} from '../transports/key-source.ts';
import { readKey } from '../wire/key.ts';
import { serviceAddress, shownAddress } from '../wire/service-url.ts';
import { type Profile, readProfile } from './profile.ts';

/** Where the key of each kind stands in the environment. */
export const KEY_VARIABLES: readonly (readonly [KeyKind, string])[] = [
  ['task-worker', 'INTERLOCK_WORKER_KEY'],
  ['task-producer', 'INTERLOCK_PRODUCER_KEY'],
  ['task-operator', 'INTERLOCK_OPERATOR_KEY'],
  ['admin', 'INTERLOCK_ADMIN_KEY'],
  ['metrics', 'INTERLOCK_METRICS_KEY'],
];

/** Where keys may be. */
export interface KeyPlaces {
  readonly keyFile: string | undefined;
  /** In words where `keyFile` was said; `--key-file` beats the environment, the others do not. */
  readonly keyFileFrom: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly profile: Profile | undefined;
  /** The address that the key would be sent to. */
  readonly url: string;
}

export interface KeyCandidate {
  /** What it is kept as; `undefined`: one from a key file may be of any kind. */
  readonly kind: KeyKind | undefined;
  /** In words: `INTERLOCK_WORKER_KEY`, `key file /etc/interlock/key`, `profile …`. */
  readonly from: string;
  /** Rejects with `KEY_UNREADABLE` or `KEY_MALFORMED`. */
  load(): Promise<FoundKey>;
}

export interface FoundKey {
  readonly kind: KeyKind | undefined;
  readonly from: string;
  readonly source: KeySource;
  /** What is wrong with how it is kept, for people. */
  readonly advice?: string | undefined;
}

/**
 * The key for a call that any of `kinds` may make, the best first. The strongest place that has one of them wins.
 * Rejects with `KEY_MISSING`, which tells where was looked, `KEY_UNREADABLE` or `KEY_MALFORMED`.
 */
export async function findKey(kinds: readonly KeyKind[], places: KeyPlaces): Promise<FoundKey> {
  for (const place of keyPlaces(places)) {
    const fits = [undefined, ...kinds].flatMap((kind) => place.filter((key) => key.kind === kind));
    if (fits[0]) return looked(await fits[0].load());
  }
  throw missing(kinds, places);
}

/** What stands there may be no key at all; the control plane could not say from where it came. */
function looked(key: FoundKey): FoundKey {
  if (key.source.current().startsWith(KEY_PREFIX)) return key;
  throw new TaskError(
    'KEY_MALFORMED',
    `What stands in ${key.from} is no key: it does not begin with "${KEY_PREFIX}".`,
    {
      hint: 'A key is one line that begins with "il_"; make one with interlock keys new.',
    },
  );
}

/** Every key that is configured, the strongest place first. */
export function keyCandidates(places: KeyPlaces): KeyCandidate[] {
  return keyPlaces(places).flat();
}

function keyPlaces({ keyFile, keyFileFrom, env, profile, url }: KeyPlaces): KeyCandidate[][] {
  const file: KeyCandidate[] = keyFile === undefined ? [] : [fromFile(keyFile)];
  const variables = KEY_VARIABLES.filter(([, name]) => env[name]?.trim());
  const kept = profile && isOf(profile, url) ? Object.entries(profile.keys) : [];
  const first = keyFileFrom.startsWith('--');
  return [
    first ? file : [],
    variables.map(([kind, name]) => fromVariable(kind, name, env)),
    first ? [] : file,
    fromCredential(env),
    kept.map(([kind, key]) => fromProfile(kind as KeyKind, key, (profile as Profile).file)),
  ];
}

function fromFile(file: string): KeyCandidate {
  const from = `key file ${file}`;
  return {
    kind: undefined,
    from,
    load: async () => {
      const source = await keyFromFile(file);
      return { kind: undefined, from, source, advice: source.advice };
    },
  };
}

/**
 * What a systemd unit has loaded for its service (`LoadCredential=worker-key:…`): a folder that only the service may
 * read, whatever its mode says (access lists stand beside it).
 */
function fromCredential(env: KeyPlaces['env']): KeyCandidate[] {
  const folder = env.CREDENTIALS_DIRECTORY;
  const file = folder?.startsWith('/') ? join(folder, WORKER_CREDENTIAL) : undefined;
  if (file === undefined || !existsSync(file)) return [];
  const kind = 'task-worker' as const;
  const from = `credential ${file}`;
  return [{ kind, from, load: async () => ({ kind, from, source: await keyFromFile(file) }) }];
}

/** Name of the credential that holds the key of a worker. */
export const WORKER_CREDENTIAL = 'worker-key';

function fromVariable(kind: KeyKind, name: string, env: KeyPlaces['env']): KeyCandidate {
  return {
    kind,
    from: name,
    load: async () => ({ kind, from: name, source: keyFromVariable(name, () => env[name]) }),
  };
}

function fromProfile(kind: KeyKind, text: string, file: string): KeyCandidate {
  const from = `profile ${file}`;
  const what = `The ${kind} key in the profile ${file}`;
  return {
    kind,
    from,
    load: async () => {
      let key = readKey(text, what);
      const source: KeySource = {
        current: () => key,
        reload: async () => {
          const fresh = readProfileQuietly(file)?.keys[kind];
          if (fresh === undefined) return undefined;
          key = constantKey(fresh).current();
          return key;
        },
      };
      return { kind, from, source };
    },
  };
}

function readProfileQuietly(file: string): Profile | undefined {
  try {
    return readProfile(file);
  } catch {
    return undefined;
  }
}

/** A key in a profile is sent to the profile's own address only. */
function isOf(profile: Profile, url: string): boolean {
  if (profile.url === undefined) return true;
  try {
    return serviceAddress(profile.url, true).base === serviceAddress(url, true).base;
  } catch {
    return false;
  }
}

/**
 * What to know of a refused key from a profile, as a sentence that follows another; empty for other places. What `npm start`
 * made outlives it, and another control plane at the same address knows nothing of it.
 */
export function oldProfile(from: string): string {
  return from.startsWith('profile ')
    ? ' A profile that npm start made fits its own control plane only: for another one at that address, INTERLOCK_…_KEY and --key-file go before it.'
    : '';
}

/** Where was looked for a key in vain. */
export function missingWords(
  { keyFile, env, profile, url }: KeyPlaces,
  kinds: readonly KeyKind[] = KEY_VARIABLES.map(([kind]) => kind),
): string {
  const variables = KEY_VARIABLES.filter(([kind]) => kinds.includes(kind));
  return [
    keyFile === undefined ? 'no --key-file was given' : '',
    variableWords(variables.map(([, name]) => name).filter((name) => !env[name]?.trim())),
    profileWords(kinds, profile, url),
  ]
    .filter(Boolean)
    .join(', ');
}

function variableWords(names: readonly string[]): string {
  const [last = '', ...others] = [...names].reverse();
  if (others.length === 0) return last && `${last} is not set`;
  return `${others.reverse().join(', ')} and ${last} are not set`;
}

function missing(kinds: readonly KeyKind[], places: KeyPlaces): TaskError {
  const variables = KEY_VARIABLES.filter(([kind]) => kinds.includes(kind));
  const [best = 'task-producer'] = kinds;
  return new TaskError(
    'KEY_MISSING',
    `There is no ${kinds.join(', ').replace(/, ([^,]*)$/, ' or $1')} key for ${shownAddress(places.url)}: ${missingWords(places, kinds)}.`,
    {
      hint: `Put one into ${variables[0]?.[1] ?? 'a file'}, or into a file and give --key-file. An admin makes keys: interlock keys new "my key" --kind ${best}. For this machine alone interlock dev makes all of them.`,
    },
  );
}

function profileWords(
  kinds: readonly KeyKind[],
  profile: Profile | undefined,
  url: string,
): string {
  if (!profile) return 'no .interlock/profile.json was found from here upwards';
  if (!isOf(profile, url))
    return `the keys in the profile ${profile.file} belong to ${shownAddress(profile.url ?? '')}`;
  return `the profile ${profile.file} holds no ${kinds.join(' or ')} key`;
}
