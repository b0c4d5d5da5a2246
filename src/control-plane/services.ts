import type { limits } from '../contract/limits.ts';
import type { Policy } from '../contract/policy.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { Random } from '../ports/random.ts';
import type { Store } from '../ports/store.ts';
import type { Hub } from './hub.ts';
import type { KeyLooks } from './key-looks.ts';
import type { KeyUse } from './key-use.ts';
import type { KeyWatch } from './key-watch.ts';
import type { Turns } from './turns.ts';
import type { WaitingClaims } from './waiting-claims.ts';
import type { WorkerFactsCache } from './worker-facts.ts';

/** Limits of the wire as this control plane keeps them (`GET /` tells them). */
export type Limits = { readonly [K in keyof typeof limits]: Widened<(typeof limits)[K]> };
type Widened<T> = T extends number ? number : { readonly [K in keyof T]: number };

/** The outside and the settings, given once. */
export interface Services {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly limits: Limits;
  /** Of tasks that bring none of their own; one object for all of them. */
  readonly policy: Policy;
  /** Signs lease tokens. Never logged. */
  readonly secret: Uint8Array;
  readonly timing: Timing;
  readonly hub: Hub;
  readonly waiting: WaitingClaims;
  readonly facts: WorkerFactsCache;
  readonly keyUse: KeyUse;
  readonly keyLooks: KeyLooks;
  readonly keyWatch: KeyWatch;
  readonly turns: Turns;
}

/** What `controlPlaneDefaults` holds, each of it can be set (tests, `--lease-min`). */
export interface Timing {
  readonly sweepEveryMs: number;
  readonly sweepBatch: number;
  readonly rememberMs: number;
  readonly presentAfterMs: number;
  readonly offlineAfterMs: number;
  readonly pollAfterMs: number;
  readonly hintPingMs: number;
  readonly streamBufferBytes: number;
  readonly streamReauthoriseMs: number;
  readonly logLinesPerTask: number;
  readonly logCharsPerTask: number;
  readonly shutdownMs: number;
  readonly wakeGapMs: number;
  readonly touchGapMs: number;
  readonly workerFactsMs: number;
  readonly forgetEveryMs: number;
}
