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
  let made = TOKENS.get(secret);
  if (made === undefined) {
    made = new Tokens(secret);
    TOKENS.set(secret, made);
  }
  return made.of(epoch, holder);
}

/** Those of late are remembered: most are asked for twice, by the claim and by the report that ends the attempt. */
class Tokens {
  readonly #hmac: Hmac;
  /** By the attempt's id: what the token is made of is put together and hashed only where it is made. */
  #recent = new Map<string, Made>();
  #older = new Map<string, Made>();

  constructor(secret: Uint8Array) {
    this.#hmac = new Hmac(secret);
  }

  of(epoch: string, { project, attemptId, fence }: Holder): string {
    const known = this.#recent.get(attemptId) ?? this.#older.get(attemptId);
    if (known?.fence === fence && known.project === project && known.epoch === epoch)
      return known.token;
    // None of the parts can hold a line break, so no two holders share a text.
    const token = this.#hmac.digest(`${epoch}\n${project}\n${attemptId}\n${fence}`);
    if (this.#recent.size >= TOKENS_KEPT) {
      this.#older = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(attemptId, { epoch, project, fence, token });
    return token;
  }
}

interface Made {
  readonly epoch: string;
  readonly project: string;
  readonly fence: number;
  readonly token: string;
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
