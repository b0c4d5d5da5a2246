import { KEY_PREFIX } from '../contract/index.ts';
import type { Operation } from '../contract/operations.ts';
import { type Asked, beyondLimits, isLocalKey, keyState } from '../core/key-rules.ts';
import { retryAfterSeconds } from '../core/rate-limit.ts';
import type { KeyRow } from '../ports/store.ts';
import { isRefusal, type Refusal, refusal } from './answer.ts';
import type { CallRequest } from './call-request.ts';
import { sha256 } from './lease-token.ts';
import type { Services } from './services.ts';
import { instantText } from './task-view.ts';

/**
 * Who calls, and whether a key of that kind may, now. What it costs is bounded whoever asks: one hash of a short text
 * and one look into an index; nothing of the body is read and nothing is written.
 * @param who it is, where that was found out in another way (pages).
 */
export async function authorise(
  services: Services,
  request: CallRequest,
  operation: Operation,
  who?: KeyRow,
): Promise<KeyRow | Refusal> {
  const asked = who ?? authenticate(services, request);
  const key = asked instanceof Promise ? await asked : asked;
  if (isRefusal(key)) return key;
  if (!operation.uncounted) {
    const retryAfterMs = services.keyUse.count(key);
    if (retryAfterMs !== undefined) return tooMany(key, retryAfterMs);
  }
  const kinds = operation.keys === 'open' ? [] : operation.keys;
  if (kinds.includes(key.kind)) return key;
  const needed =
    kinds.length === 1 ? kinds[0] : `${kinds.slice(0, -1).join(', ')} or ${kinds.at(-1)}`;
  return refusal(
    'SCOPE_DENIED',
    `${operation.method} ${operation.path} needs a key of kind ${needed}; this one (${key.id}) is of kind ${key.kind}.`,
    { needed: kinds, present: key.kind },
  );
}

/**
 * What was read of a key may have become untrue while a body came in.
 * @param seen `keyWatch.revocations` when it was read.
 */
export async function stillUsable(
  { store, keyWatch }: Services,
  key: KeyRow,
  seen: number,
): Promise<Refusal | undefined> {
  if (keyWatch.revocations === seen && key.expiresAtMs === undefined) return undefined;
  if (isLocalKey(key.id)) return undefined;
  const row = keyWatch.revocations === seen ? key : await store.keyById(key.id);
  return endedKey(await store.nowMs(), row);
}

/** The refusal of a key that is none any more; `undefined` where it is one. */
export function endedKey(nowMs: number, row: KeyRow | undefined): Refusal | undefined {
  if (row === undefined) return unauthenticated(UNKNOWN);
  const state = keyState(nowMs, row);
  if (state === 'usable') return undefined;
  const at = instantText(state === 'revoked' ? row.revokedAtMs : row.expiresAtMs);
  const how = state === 'revoked' ? 'was revoked' : 'has expired';
  // Only who has the key itself hears this; others are told that it is not known, whatever they send.
  return unauthenticated(`The key ${row.id} ("${row.name}") ${how} (${at}).`, {
    keyId: row.id,
    [state === 'revoked' ? 'revokedAt' : 'expiredAt']: at,
  });
}

/** The refusal of what lies beyond the limits of a key; `undefined` where nothing does. */
export function beyondKey(key: KeyRow, asked: Asked): Refusal | undefined {
  const beyond = beyondLimits(key.limits, asked);
  if (beyond === undefined) return undefined;
  const { limit, field, given, allowed } = beyond;
  const only = allowed.slice(0, NAMED_MAX).join(', ');
  const more = allowed.length > NAMED_MAX ? ` and ${allowed.length - NAMED_MAX} more` : '';
  const what = limit === 'workerIdPrefix' ? 'worker ids that begin with' : limit;
  return refusal(
    'SCOPE_DENIED',
    `${field} is ${given.slice(0, 200)}; the key ${key.id} ("${key.name}") is limited to ${what} ${only}${more}.`,
    { limit, field, allowed },
  );
}

const NAMED_MAX = 5;

/**
 * The key is looked up by its hash in an index. That takes a time that depends on the hash alone: what a guesser learns
 * from it is how many leading digits of SHA-256(guess) another hash shares, and nobody can choose a text for its hash
 * (nor go from digits of a hash to a key of 256 random bits). So no comparison in constant time is needed, and none of
 * the key's own characters is ever compared.
 */
function authenticate(
  { store, keyUse, keyLooks }: Services,
  request: CallRequest,
): Refusal | Promise<KeyRow | Refusal> {
  const header = request.header('authorization');
  if (header === null)
    return unauthenticated('There is no Authorization header; send "Authorization: Bearer il_…".');
  const [, key] = /^Bearer +(\S{1,512})$/i.exec(header.trim()) ?? [];
  if (key === undefined || !key.startsWith(KEY_PREFIX))
    return unauthenticated('The Authorization header holds no key of the form "Bearer il_…".');
  return keyOf({ store, keyUse, keyLooks }, key);
}

/** The key that a text is. */
export async function keyOf(
  { store, keyUse, keyLooks }: Pick<Services, 'store' | 'keyUse' | 'keyLooks'>,
  key: string,
): Promise<KeyRow | Refusal> {
  const row = await keyLooks.byHash(sha256(key));
  const nowMs = await store.nowMs();
  const ended = endedKey(nowMs, row);
  if (ended || row === undefined) return ended ?? unauthenticated(UNKNOWN);
  keyUse.used(row, nowMs);
  return row;
}

const UNKNOWN = 'The key is not one of this control plane.';

function tooMany(key: KeyRow, retryAfterMs: number): Refusal {
  const perMinute = key.limits?.requestsPerMinute;
  const seconds = retryAfterSeconds(retryAfterMs);
  return refusal(
    'RATE_LIMITED',
    `The key ${key.id} ("${key.name}") may make ${perMinute} calls a minute; the next is taken in ${seconds} s.`,
    { retryAfterMs, requestsPerMinute: perMinute },
    { 'Retry-After': String(seconds) },
  );
}

function unauthenticated(detail: string, more?: Readonly<Record<string, unknown>>): Refusal {
  return refusal('UNAUTHENTICATED', detail, more, { 'WWW-Authenticate': 'Bearer' });
}
