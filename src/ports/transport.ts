import type {
  ClaimAnswer,
  ClaimRequest,
  PresenceAnswer,
  PresenceRequest,
  Problem,
  Report,
  ReportAnswer,
  ServiceInfo,
} from '../contract/index.ts';

/**
 * The worker's wire. "No answer" is a value, not a throw. Every answer carries `sentAt`, the clock's
 * `now()` when its request was sent: leases are counted from there, so a slow answer never lengthens one.
 */
export interface Transport {
  /** What this wire can keep; doctor shows it. */
  readonly promises: {
    readonly leases: boolean;
    readonly fencing: boolean;
    readonly hints: boolean;
    readonly replay: boolean;
  };
  discover(): Promise<Answer<ServiceInfo>>;
  claim(request: ClaimRequest, signal?: AbortSignal): Promise<Answer<ClaimAnswer>>;
  present(workerId: string, request: PresenceRequest): Promise<Answer<PresenceAnswer>>;
  /** One report as a single call. */
  report(report: Report): Promise<Answer<ReportAnswer>>;
  /**
   * Many reports in one call. The outer answer tells of the call as a whole; inside, one per report in
   * order (what the results lacked is `no-answer`).
   */
  reportBatch(reports: readonly Report[]): Promise<Answer<readonly Answer<ReportAnswer>[]>>;
  /** Opens one hint stream. Resolves (never rejects) when it has ended, with why; `signal` closes it. */
  hints(
    query: { workerId: string; sessionId: string },
    onHint: (hint: Hint) => void,
    signal: AbortSignal,
  ): Promise<HintEnd>;
  /** Reads the key again from where it came from. `true` if it differs from the one in use. */
  reloadKey(): Promise<boolean>;
  close(): Promise<void>;
}

export type Answer<T> =
  | { readonly kind: 'ok'; readonly value: T; readonly sentAt: number }
  /** The peer answered in the problem shape (or with a status that means refused in any shape: 413, 426). */
  | {
      readonly kind: 'refused';
      readonly status: number;
      readonly problem: Problem;
      readonly sentAt: number;
      /** From `Retry-After` or `retryAfterMs`; already bounded, junk ignored. */
      readonly retryAfterMs?: number;
    }
  /** Nothing that counts as an answer: refused connection, timeout, cut, HTML, `200 {}`. */
  | {
      readonly kind: 'no-answer';
      /** One sentence for people: what was seen and what to check. */
      readonly why: string;
      readonly cause: NoAnswerCause;
      readonly sentAt: number;
      readonly retryAfterMs?: number;
      /** Of an answer that is no success and none of the contract's. */
      readonly status?: number;
    };

export type NoAnswerCause =
  | 'dns'
  | 'connect'
  | 'tls'
  | 'proxy'
  | 'timeout'
  | 'cut'
  | 'not-the-contract'
  | 'redirect'
  | 'too-large'
  | 'aborted';

/** Hints are never trusted as work: they only make a loop look sooner. */
export type Hint =
  /** The stream is open (headers came). */
  | { readonly kind: 'open' }
  /** Any sign of life, `ping` included. */
  | { readonly kind: 'ping' }
  | { readonly kind: 'wake'; readonly types: readonly string[] }
  | { readonly kind: 'cancel'; readonly attemptId: string }
  | { readonly kind: 'drain' };

export interface HintEnd {
  readonly why: string;
  /** `refused`: the peer answered but gives no stream (404, 401, HTML …): polling takes over. */
  readonly kind: 'closed' | 'refused' | 'silent' | 'aborted';
  readonly status?: number;
  readonly retryAfterMs?: number;
}
