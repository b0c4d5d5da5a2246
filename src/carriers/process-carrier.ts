/** What a carrier of processes is made of, and what it can do beside running jobs. */
import type { CallTimes } from '../core/jobs-ahead.ts';
import type { Carrier, JobEnd } from '../ports/carrier.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { HostCommand } from './spawn-host.ts';

export interface ProcessCarrierOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly hostCommand: HostCommand;
  /** Hosts at most, running and idle: the number of slots. */
  readonly maxHosts: number;
  /** The session: stands in the environment of every host, so that a later session finds them: see `killHosts`. */
  readonly marker: string;
  /** What hosts inherit; keys are taken out. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Working folder of hosts; default: the agent's. */
  readonly cwd?: string;
  /** See `SpawnOptions`. */
  readonly compileCache?: string;
  /** Default: `hostDefaults.idleMs`. */
  readonly idleMs?: number;
  /** Default: `hostDefaults.startMs`. */
  readonly startMs?: number;
  /** Default: `hostDefaults.takeMs`. */
  readonly takeMs?: number;
  /** Default: `hostDefaults.callsPerHost`. */
  readonly callsPerHost?: number;
  /** Default: `hostDefaults.hostMaxAgeMs`. */
  readonly hostMaxAgeMs?: number;
  /** How long the calls of one handler take. Default: a new `CallTimes`. */
  readonly callTimes?: () => Pick<CallTimes, 'add' | 'apart' | 'shortMs'>;
  /** Whether a host is not used again after such an end, because what broke may be in its process. Default: never. */
  readonly spoils?: (end: JobEnd) => boolean;
}

/** A carrier that can also start hosts ahead of their first job, and let go of code that was replaced. */
export interface ProcessCarrier extends Carrier {
  /** Starts a host ahead, for whatever handler the first job asks for. */
  prepare(): void;
  /** Starts a host for each of these files, as far as there is room. Resolves when they are loaded or have failed. */
  warm(files: readonly string[]): Promise<void>;
  /**
   * From now on only hosts of these codes (and those without one) are kept: others that rest end at once, those that
   * work after their job. A job of another code is still run, on a host that ends with it. Default: all are kept.
   */
  keepOnly(codes: ReadonlySet<string>): void;
  /** Hosts at most from now on: the number of slots. Those that are too many end after their job. */
  resize(maxHosts: number): void;
}
