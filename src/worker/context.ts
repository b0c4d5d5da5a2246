import type { HandlerInfo, Problem, ServiceInfo } from '../contract/index.ts';
import { limits } from '../contract/limits.ts';
import { workerDefaults } from '../core/defaults.ts';
import { type DrainState, working } from '../core/drain.ts';
import type { Carrier } from '../ports/carrier.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { Random } from '../ports/random.ts';
import type { Transport } from '../ports/transport.ts';
import type { Spool } from './spool.ts';
import { Wakeup } from './wakeup.ts';

/** What the loops share: the ports, the settings, and what the worker knows of itself and its control plane. */

export interface WorkerPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly transport: Transport;
  readonly carrier: Carrier;
  readonly spool: Spool;
}

/** A handler that this worker serves. */
export interface ServedHandler extends HandlerInfo {
  /** Where the carrier `process` finds it. */
  readonly file?: string;
  /** From the handler's start; the smaller of this and the policy's `attemptTimeoutMs` counts. */
  readonly timeoutMs?: number;
}

export interface WorkerSettings {
  readonly workerId: string;
  /** Fresh for each process start. */
  readonly sessionId: string;
  readonly pools: readonly string[];
  /** Slots: how many handlers run at once. */
  readonly maxConcurrent: number;
  readonly handlers: readonly ServedHandler[];
  /** Default 10 min; the grace of a stop lies inside it. */
  readonly drainTimeoutMs: number;
  /** Default 10 s. */
  readonly stopGraceMs: number;
  /** Longest pause between two polls while hints work. Default 15 s. */
  readonly pollMaxMs: number;
  /** Shown by `interlock tasks workers`: versions of the agent, its runtime and system. */
  readonly versions: Readonly<Record<string, string>>;
  /** Ends handler processes that an earlier session left behind and resolves when they are gone. */
  readonly endOldHosts?: () => Promise<void>;
}

export class WorkerContext {
  readonly ports: WorkerPorts;
  readonly settings: WorkerSettings;
  readonly wake: {
    readonly claim: Wakeup;
    readonly renew: Wakeup;
    readonly reports: Wakeup;
    readonly presence: Wakeup;
    readonly settled: Wakeup;
  };

  drain: DrainState = working;
  /** Set once: the loops end. */
  stopped = false;
  /** Learnt from the answer to a presence; a refused report is judged by it. */
  project: string | undefined;
  limits: { batch: number; batchBytes: number } = {
    batch: limits.batch,
    batchBytes: limits.batchBytes,
  };
  features: readonly string[] | undefined;
  hintsWork = false;
  /** There may be work: a hint came, or a trouble ended. Kept until the next claim is sent. */
  workHinted = false;
  /** In words: why nothing is claimed, by its source. Shown by presence, `workers` and doctor. */
  readonly #troubles = new Map<Trouble, string>();
  onSuperseded: (why: string) => void = () => {};
  onDrainWish: () => void = () => {};

  constructor(ports: WorkerPorts, settings: WorkerSettings) {
    this.ports = ports;
    this.settings = settings;
    const wakeup = () => new Wakeup(ports.clock);
    this.wake = {
      claim: wakeup(),
      renew: wakeup(),
      reports: wakeup(),
      presence: wakeup(),
      settled: wakeup(),
    };
  }

  /** Lets the claim loop ask as soon as it has a free slot. */
  askForWork(): void {
    this.workHinted = true;
    this.wake.claim.wake();
  }

  get draining(): boolean {
    return this.drain.phase !== 'working';
  }

  /** Says why nothing is claimed (or, with `undefined`, that this reason is gone). */
  trouble(source: Trouble, why: string | undefined): void {
    if (this.#troubles.get(source) === why) return;
    if (why === undefined) {
      this.#troubles.delete(source);
      this.ports.log.info('claim.resumed', `Claiming is no longer held back by the ${source}.`, {
        source,
      });
    } else {
      if (!this.#troubles.has(source))
        this.ports.log.warn('claim.paused', `Nothing is claimed: ${why}`, { source });
      this.#troubles.set(source, why);
    }
    this.askForWork();
    this.wake.presence.wake();
  }

  /** Why nothing is claimed now, in words. */
  get notClaiming(): string | undefined {
    return this.#troubles.size === 0 ? undefined : [...this.#troubles.values()].join('; ');
  }

  id(kind: 'req' | 'ses'): string {
    // 128 bits of chance: a request id must never meet another one.
    return `${kind}_${Buffer.from(this.ports.random.bytes(16)).toString('hex')}`;
  }

  learn(info: ServiceInfo): void {
    this.limits = {
      batch: Math.max(1, Math.min(info.limits.batch, limits.batch)),
      batchBytes: Math.max(1_024, Math.min(info.limits.batchBytes, limits.batchBytes)),
    };
    this.features = info.features;
  }

  #keyReadAt = Number.NEGATIVE_INFINITY;

  /**
   * The control plane refuses the key (401, 403, 426, a 404 that is not about an attempt): claiming pauses, the key is
   * read again from its source (at most once a second). `true` if there is a new key: ask again at once.
   */
  async keyRefused(status: number, problem: Problem): Promise<boolean> {
    const { clock, log, transport } = this.ports;
    this.trouble(
      'key',
      `the control plane refused our key or address (${status} ${problem.code}): ${problem.detail ?? problem.title ?? 'no detail'}`,
    );
    if (clock.now() - this.#keyReadAt < workerDefaults.keyReadGapMs) return false;
    this.#keyReadAt = clock.now();
    const fresh = await transport.reloadKey();
    if (fresh)
      log.info('key.reloaded', 'The key was read again and has changed; trying with the new one.');
    return fresh;
  }

  keyAccepted(): void {
    this.trouble('key', undefined);
  }
}

export type Trouble = 'key' | 'spool' | 'contract' | 'session';

/** Statuses that say "not with this key, not at this address": kept, never a verdict on an attempt. */
export function refusesKey(status: number): boolean {
  return status === 401 || status === 403 || status === 404 || status === 426;
}
