/** What can be set when FCP starts, and what is otherwise. */
import type { Offer } from './attempts.ts';
import type { ControlOptions } from './control.ts';
import type { Exchange } from './exchange.ts';
import type { LoggedRequest, Report } from './journal.ts';
import type { CutMode } from './listener.ts';
import type { ReportExchange } from './report-exchange.ts';
import type { ViolationKind } from './violations.ts';

export interface FcpOptions extends Partial<ControlOptions> {
  /** Accepted bearer keys [every key that begins with `il_`]. */
  keys?: string[];
  /** Status that hint streams are refused with from the start [taken]. */
  refuseHints?: number;
  /** [15000] */
  pingEveryMs?: number;
  /** [127.0.0.1] */
  host?: string;
  /** Idle connections are closed after this [5000]. */
  keepAliveTimeoutMs?: number;
  /** Time in which what a worker sends may cross an answer, before it is held to that answer [250]. */
  graceMs?: number;
  /** How long `until` and its kin wait where their caller says nothing [10000]. */
  waitMs?: number;
  /** Hears of every task that is offered. */
  onOffer?: (offer: Offer) => void;
  /** Violations that are not recorded [none]. */
  tolerate?: ViolationKind[];
}

export type RequestHandler = (request: LoggedRequest, ctl: Exchange) => unknown;
export type ReportHandler = (report: Report, ctl: ReportExchange) => unknown;

export interface RestartOptions {
  /** How connections end; `refused`: with a FIN, and nobody listens for a while [`fin`]. */
  mode?: CutMode | 'refused';
  /** How long nobody listens [0; `refused`: 1000]. */
  downMs?: number;
}

export interface ExpireOptions {
  /** False: the lease is over, but nobody has ended the attempt [true: it ends as lost]. */
  ended?: boolean;
}

export const DEFAULTS: ControlOptions = {
  project: 'default',
  leaseMs: 3_000,
  pollAfterMs: 1_000,
  presentAfterMs: 15_000,
  offlineAfterMs: 45_000,
  features: [],
  inlineBytes: 262_144,
  batch: 100,
  claimMax: 100,
  batchBytes: 1_048_576,
  checkpointBytes: 65_536,
  clockSkewMs: 0,
};
