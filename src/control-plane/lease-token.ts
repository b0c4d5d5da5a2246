import { hash, timingSafeEqual } from 'node:crypto';
import { Hmac } from './hmac.ts';

/** What a lease token vouches for. */
export interface Holder {
  readonly project: string;
  readonly attemptId: string;
  readonly fence: number;
}

/** Proof that its holder was given this attempt. Stands in no journal, view, hint, log or problem. */
export function leaseToken(secret: Uint8Array, epoch: string, holder: Holder): string {
  // None of the parts can hold a line break, so no two holders share a text.
  return hmacOf(secret).digest(`${epoch}\n${holder.project}\n${holder.attemptId}\n${holder.fence}`);
}

function hmacOf(secret: Uint8Array): Hmac {
  const made = HMACS.get(secret) ?? new Hmac(secret);
  HMACS.set(secret, made);
  return made;
}

/** A process has one secret, and tests a few. */
const HMACS = new WeakMap<Uint8Array, Hmac>();

/** In constant time. */
export function tokenFits(
  secret: Uint8Array,
  epoch: string,
  holder: Holder,
  given: string,
): boolean {
  const right = Buffer.from(leaseToken(secret, epoch, holder));
  const said = Buffer.from(given);
  return right.length === said.length && timingSafeEqual(right, said);
}

export function sha256(text: string): string {
  return hash('sha256', text, 'hex');
}
