import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { Random } from '../ports/random.ts';
import type { KeyRow, Store } from '../ports/store.ts';
import type { CallAs } from './call.ts';
import type { Place } from './peer.ts';

/** Who is let in: `open` whoever sits at this machine, and keys; `key` keys only; `off` nobody, there are no pages. */
export type PagesAccess = 'open' | 'key' | 'off';

export interface PagesOptions {
  readonly access: PagesAccess;
  readonly place: Place;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Signs cookies, under words of its own. */
  readonly secret: Uint8Array;
  readonly callAs: CallAs;
  /** The key that a text is, where it is one now. */
  keyOf(text: string): Promise<KeyRow | undefined>;
  /** Notes that a key was used. */
  used(key: KeyRow, nowMs: number): void;
  /** The body as it came; `undefined`: it is larger than that, or broke off. */
  bytes(request: Request, maxBytes: number): Promise<Uint8Array | undefined>;
}
