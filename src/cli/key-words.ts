import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type KeyLimits, type NewKeyRequest, newKeyRequest, TaskError } from '../contract/index.ts';
import type { Store } from '../ports/store.ts';
import { DATABASE } from '../stores/data-check.ts';
import type { Io, OptionSpec } from './command.ts';
import { parseDuration } from './duration.ts';
import { usageError } from './usage.ts';

/** What the commands of keys share: how limits are written and shown, and the data on the machine itself. */

export const dataOption = {
  form: 'text',
  argument: 'folder',
  help: 'Data folder of a control plane on this machine, instead of asking it',
} as const satisfies OptionSpec;

/** What `keys new` says of a key beside its kind. */
export interface KeyTerms {
  readonly expires: string | undefined;
  readonly rate: string | undefined;
  readonly pool: readonly string[];
  readonly type: readonly string[];
  readonly 'worker-prefix': string | undefined;
}

/** The request, checked before anything is asked or made. @throws TaskError `USAGE`, by the flag that is wrong. */
export function keyRequest(
  name: string,
  kind: NewKeyRequest['kind'],
  terms: KeyTerms,
  wallMs: number,
): NewKeyRequest {
  const limits: KeyLimits = {
    ...(terms.rate !== undefined && { requestsPerMinute: perMinute(terms.rate) }),
    ...(terms.pool.length > 0 && { pools: [...terms.pool] }),
    ...(terms.type.length > 0 && { types: [...terms.type] }),
    ...(terms['worker-prefix'] !== undefined && { workerIdPrefix: terms['worker-prefix'] }),
  };
  const request = {
    name,
    kind,
    ...(terms.expires !== undefined && expiry(terms.expires, wallMs)),
    ...(Object.keys(limits).length > 0 && { limits }),
  };
  const checked = newKeyRequest.safeParse(request);
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  const [first, second] = issue?.path ?? [];
  const flag = FLAGS[String(second ?? first)] ?? `"${String(first)}"`;
  const why = (issue?.message ?? 'is not valid').replace(/(?<=; what does: ).*/, inFlags);
  throw usageError(`${flag} ${why}.`, 'keys new');
}

/** Limits are told as they are typed here. */
function inFlags(names: string): string {
  return names
    .split(', ')
    .map((name) => FLAGS[name] ?? name)
    .join(', ');
}

const FLAGS: Readonly<Record<string, string>> = {
  requestsPerMinute: '--rate',
  pools: '--pool',
  types: '--type',
  workerIdPrefix: '--worker-prefix',
  expiresInMs: '--expires',
  expiresAt: '--expires',
  name: 'The name',
};

/** `90d`, or an instant. */
function expiry(text: string, wallMs: number) {
  const expiresInMs = parseDuration(text);
  if (expiresInMs !== undefined) return { expiresInMs };
  const at = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isFinite(at))
    throw usageError(
      `--expires "${text}" is neither a duration (90d) nor an instant (2027-01-31 or 2027-01-31T12:00:00Z).`,
      'keys new',
    );
  if (at <= wallMs) throw usageError(`--expires ${text} lies in the past.`, 'keys new');
  return { expiresAt: new Date(at).toISOString() };
}

/** `600/min`, `10/s`, `36000/h`; a bare number is calls a minute. */
function perMinute(text: string): number {
  const [, digits, unit = 'min'] = /^(\d{1,9})(?:\/(s|min|m|h))?$/.exec(text.trim()) ?? [];
  const rate = Number(digits) * (unit === 's' ? 60 : unit === 'h' ? 1 / 60 : 1);
  if (digits !== undefined && Number.isInteger(rate) && rate >= 1) return rate;
  throw usageError(
    `--rate "${text}" is no rate of calls: write 600/min, 10/s or 3600/h (whole calls a minute, one at least).`,
    'keys new',
  );
}

/** `600/min, pools a b`; empty where nothing is limited. */
export function limitWords(limits: unknown): string {
  const { requestsPerMinute, pools, types, workerIdPrefix } = (limits ?? {}) as Partial<KeyLimits>;
  return [
    requestsPerMinute === undefined ? '' : `${requestsPerMinute}/min`,
    pools === undefined ? '' : `pools ${pools.join(' ')}`,
    types === undefined ? '' : `types ${types.join(' ')}`,
    workerIdPrefix === undefined ? '' : `workers ${workerIdPrefix}…`,
  ]
    .filter(Boolean)
    .join(', ');
}

/** A mistyped folder would be made, and what is done in it be of no use anywhere. */
export function usedFolder(folder: string): string {
  if (existsSync(join(folder, DATABASE))) return folder;
  throw new TaskError('NOT_FOUND', `No control plane has used the folder ${folder}.`, {
    hint: 'Name the --data of the control plane; its first start makes the folder, and so does keys new with --create-data.',
  });
}

/** Works on the database itself, on the control plane's machine, which may be running. One that it had to upgrade is told on stderr. */
export async function inData<T>(
  folder: string,
  { clock, random, err }: Pick<Io, 'clock' | 'random' | 'err'>,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  const { openDataFolder, upgradeWords } = await import('../stores/data-folder.ts');
  let upgraded: string | undefined;
  const data = openDataFolder(folder, {
    clock,
    random,
    as: 'visitor',
    onUpgrade: (upgrade) => {
      upgraded = upgradeWords(folder, upgrade);
    },
  });
  try {
    if (upgraded !== undefined) await err.line(upgraded);
    return await work(data.store);
  } finally {
    await data.close();
  }
}
