import { KEY_PREFIX, type KeyKind } from '../contract/index.ts';
import type { KeyRow, Store } from '../ports/store.ts';
import { isRefusal, type Refusal, refusal } from './answer.ts';
import { sha256 } from './lease-token.ts';

/** Who calls, and whether a key of that kind may. */
export async function authorise(
  store: Store,
  request: Request,
  kinds: readonly KeyKind[],
  what: string,
): Promise<KeyRow | Refusal> {
  const key = await authenticate(store, request);
  if (isRefusal(key) || kinds.includes(key.kind)) return key;
  const needed =
    kinds.length === 1 ? kinds[0] : `${kinds.slice(0, -1).join(', ')} or ${kinds.at(-1)}`;
  return refusal(
    'SCOPE_DENIED',
    `${what} needs a key of kind ${needed}; this one (${key.id}) is of kind ${key.kind}.`,
    { needed: kinds, present: key.kind },
  );
}

async function authenticate(store: Store, request: Request): Promise<KeyRow | Refusal> {
  const header = request.headers.get('authorization');
  if (header === null)
    return unauthenticated('There is no Authorization header; send "Authorization: Bearer il_…".');
  const [, key] = /^Bearer +(\S{1,512})$/i.exec(header.trim()) ?? [];
  if (key === undefined || !key.startsWith(KEY_PREFIX))
    return unauthenticated('The Authorization header holds no key of the form "Bearer il_…".');
  const row = await store.keyByHash(sha256(key));
  return row ?? unauthenticated('The key is not one of this control plane.');
}

function unauthenticated(detail: string): Refusal {
  return refusal('UNAUTHENTICATED', detail, undefined, { 'WWW-Authenticate': 'Bearer' });
}
