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
  const text = `${epoch}\n${holder.project}\n${holder.attemptId}\n${holder.fence}`;
  let made = TOKENS.get(secret);
  if (made === undefined) {
    made = new Tokens(secret);
    TOKENS.set(secret, made);
  }
  return made.of(text);
}

/** Those of late are remembered: most are asked for twice, by the claim and by the report that ends the attempt. */
class Tokens {
  readonly #hmac: Hmac;
  #recent = new Map<string, string>();
  #older = new Map<string, string>();

  constructor(secret: Uint8Array) {
    this.#hmac = new Hmac(secret);
  }

  of(text: string): string {
    const known = this.#recent.get(text) ?? this.#older.get(text);
    if (known !== undefined) return known;
    const token = this.#hmac.digest(text);
    if (this.#recent.size >= TOKENS_KEPT) {
      this.#older = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(text, token);
    return token;
  }
}

/** Some 300 bytes each; twice as many at most. */
const TOKENS_KEPT = 2_000;

/** A process has one secret, and tests a few. */
const TOKENS = new WeakMap<Uint8Array, Tokens>();

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
