import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** What a lease token vouches for. */
export interface Holder {
  readonly project: string;
  readonly attemptId: string;
  readonly fence: number;
}

/** Proof that its holder was given this attempt. Stands in no journal, view, hint, log or problem. */
export function leaseToken(secret: Uint8Array, epoch: string, holder: Holder): string {
  // None of the parts can hold a line break, so no two holders share a text.
  return createHmac('sha256', secret)
    .update(`${epoch}\n${holder.project}\n${holder.attemptId}\n${holder.fence}`)
    .digest('base64url');
}

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
  return createHash('sha256').update(text).digest('hex');
}
