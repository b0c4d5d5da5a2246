import type { KeyLimit } from './refusals.ts';

/** How a worker has ended. */
export interface WorkerEnd {
  /**
   * `drained`: all handlers ended by themselves · `stopped-handlers`: the deadline or a second signal stopped some ·
   * `superseded`: another process has our worker id · `key-refused`: at the first start · `spool-lost`: the
   * spool was taken by another process, removed or moved · `contract-mismatch`: no version of the contract is spoken by
   * both sides · `forced`: left at once, by a third signal or because handlers would not go.
   * Those that run inside this program go on, with their leases and the spool, until they end by themselves.
   */
  readonly why:
    | 'drained'
    | 'stopped-handlers'
    | 'superseded'
    | 'key-refused'
    | 'spool-lost'
    | 'contract-mismatch'
    | 'forced';
  /** Reports that are still on disk: the next start sends them. */
  readonly unsent: number;
  /** Handlers that were stopped by the drain. */
  readonly stopped: number;
  readonly detail?: string;
  /** With `key-refused`: the limit of the key beyond which this worker lies, as far as the control plane said it. */
  readonly beyond?: KeyLimit;
}
