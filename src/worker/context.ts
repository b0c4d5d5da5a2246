import { cutText, TaskError } from '../contract/errors.ts';
import type { HandlerInfo, Problem, ServiceInfo, UnservedHandler } from '../contract/index.ts';
import { bounds, CONTRACT_VERSION, limits } from '../contract/limits.ts';
import { workerDefaults } from '../core/defaults.ts';
import { type DrainState, working } from '../core/drain.ts';
import type { Carrier, HandlerCode } from '../ports/carrier.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import { type Meter, noMeter } from '../ports/meter.ts';
import type { OldHosts } from '../ports/old-hosts.ts';
import type { Random } from '../ports/random.ts';
import type { Transport } from '../ports/transport.ts';
import type { Spool } from '../spool/index.ts';
import { ContactBook } from './contact.ts';
import { Deadlines } from './deadlines.ts';
import { Durations } from './durations.ts';
import { refusedKeyWords } from './refused-key.ts';
import { Served } from './served.ts';
import { TypePauses } from './type-pauses.ts';
import { Wakeup } from './wakeup.ts';

/** What the loops share: the ports, the settings, and what the worker knows of itself and its control plane. */

export interface WorkerPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly transport: Transport;
  readonly carrier: Carrier;
  readonly spool: Spool;
  /** Default: nobody reads the numbers. */
  readonly meter?: Meter;
}

/** A handler that this worker serves. */
export interface ServedHandler extends HandlerInfo {
  /** Where the carrier `process` finds it. */
  readonly file?: string;
  /** Its attempts may share a process; absent: each has one of its own. */
  readonly host?: 'shared';
  /** From the handler's start; the smaller of this and the policy's `attemptTimeoutMs` counts. */
  readonly timeoutMs?: number;
  /** Its code at this time; `hash` (SHA-256, hex) goes into the journals of its attempts. */
  readonly code?: HandlerCode & { readonly hash?: string };
}

/** Settings that may change while the worker runs. */
export type LiveSettings = Pick<
  WorkerSettings,
  'pools' | 'maxConcurrent' | 'drainTimeoutMs' | 'stopGraceMs' | 'pollMaxMs'
>;

export interface WorkerSettings {
  readonly workerId: string;
  /** Fresh for each process start. */
  readonly sessionId: string;
  readonly pools: readonly string[];
  /** Slots: how many handlers run at once. */
  readonly maxConcurrent: number;
  readonly handlers: readonly ServedHandler[];
  /** Files of the handlers folder that cannot be served, as the start found them. Default: none. */
  readonly unservedHandlers?: readonly UnservedHandler[];
  /** Default 10 min; the grace of a stop lies inside it. */
  readonly drainTimeoutMs: number;
  /** Default 10 s. */
  readonly stopGraceMs: number;
  /** Longest pause between two polls while hints work. Default 15 s. */
  readonly pollMaxMs: number;
  /** Shown by `interlock tasks workers`: versions of the agent, its runtime and system. */
  readonly versions: Readonly<Record<string, string>>;
  /** Ends handler processes that earlier sessions left behind; resolves when they are gone, or with those that do not go. */
  readonly endOldHosts?: (() => Promise<OldHosts>) | (() => Promise<void>);
}

export class WorkerContext {
  readonly ports: WorkerPorts;
  settings: WorkerSettings;
  served: Served;
  readonly meter: Meter;
  readonly contact: ContactBook;
  /** Of handlers that run, and what they say. */
  readonly deadlines: Deadlines;
  readonly durations = new Durations();
  readonly wake: {
    readonly claim: Wakeup;
    readonly renew: Wakeup;
    readonly reports: Wakeup;
    readonly presence: Wakeup;
    readonly discovery: Wakeup;
    readonly settled: Wakeup;
  };

  drain: DrainState = working;
  /** When a drain must be over, by the clock: a stop's grace lies inside it. */
  drainUntil: number | undefined;
  /** Aborted once: the loops end, and nobody waits any more. */
  readonly stopping = new AbortController();
  /** Another process has our spool: nothing may be written there any more. */
  spoolGone = false;
  /** Learnt from the answer to a presence; a refused report is judged by it. */
  project: string | undefined;
  limits: Readonly<Record<'batch' | 'batchBytes' | 'claimMax', number>> = limits;
  /** Optional ops and abilities that the last discovery listed. */
  features: readonly string[] = [];
  /** Discoveries so far: whoever waits for news compares. */
  discoveries = 0;
  /** A call was refused for its version of the contract (426): discovery tells whether that is so. */
  contractDoubted = false;
  /** A batch, or a claim, was refused whole: discovery tells whether the limits are others by now. */
  limitsDoubted = false;
  #limitsSureUntil = Number.NEGATIVE_INFINITY;
  /** There is no version that both sides speak: nothing is claimed any more, and no report can be answered. */
  otherContract = false;
  hintsWork = false;
  /** Hint streams that were opened after one that was lost. */
  hintsReopened = 0;
  /** Something may be there to be claimed: asked for at once, not at the next poll. Set again while a claim is under way. */
  workWanted = false;
  /** A slot that was freed is the only reason for that: since when, by the clock. */
  freedAt: number | undefined;
  #claimsSoon = false;
  /** Types whose handlers cannot be started here. */
  readonly pauses: TypePauses;
  /** In words: why nothing is claimed, by its source. Shown by presence, `workers` and doctor. */
  readonly #troubles = new Map<Trouble, string>();
  onAnswered: () => void = () => {};
  /** A claim is about to be sent. */
  onClaim: () => void = () => {};
  onSuperseded: (why: string) => void = () => {};
  onOtherContract: (theirs: readonly number[]) => void = () => {};
  onDrainWish: () => void = () => {};
  /** By `typeKey`, or `everyType`. */
  onTypePaused: (type: string) => void = () => {};
  onSpoolLost: (why: string) => void = () => {};

  constructor(ports: WorkerPorts, settings: WorkerSettings) {
    this.ports = ports;
    this.settings = settings;
    this.served = new Served(settings.handlers, [], settings.unservedHandlers);
    this.meter = ports.meter ?? noMeter;
    this.contact = new ContactBook(ports.clock);
    this.pauses = new TypePauses(this);
    this.deadlines = new Deadlines(ports.clock);
    const wakeup = () => new Wakeup(ports.clock);
    this.wake = {
      // While nothing is held, only these two wait for long; what they are woken for does not wait.
      claim: new Wakeup(ports.clock, 'patient'),
      renew: wakeup(),
      reports: wakeup(),
      presence: new Wakeup(ports.clock, 'patient'),
      discovery: wakeup(),
      settled: wakeup(),
    };
  }

  /** A hint, a full answer, the end of a trouble: claim now. */
  askForWork(): void {
    this.workWanted = true;
    this.freedAt = undefined;
    this.wake.claim.wake();
  }

  /** A slot is free: claim now, or, where there was nothing left to be claimed, together with the report of what had it. */
  slotFreed(): void {
    if (!this.workWanted) this.freedAt = this.ports.clock.now();
    this.workWanted = true;
    this.claimSoon();
  }

  /** Looks whether to claim when all is on its way that this moment has to write: reports go first. */
  claimSoon(): void {
    if (this.#claimsSoon) return;
    this.#claimsSoon = true;
    process.nextTick(() => {
      this.#claimsSoon = false;
      this.wake.claim.wake();
    });
  }

  /** A call with reports is on its way: first its bytes, then a claim. */
  reportsGo(): void {
    if (this.freedAt === undefined) return;
    // Behind all that still has to be done until the call is written: a claim that is made up now would be in between.
    process.nextTick(() => {
      this.freedAt = undefined;
      this.wake.claim.wake();
    });
  }

  /** Other handlers from now on. What is claimed already goes on with what it was claimed for. */
  serve(next: Served): void {
    const changed = this.served.changedIn(next);
    this.pauses.lift(changed);
    for (const type of changed) this.durations.forgetTurns(type);
    this.served = next;
    this.settings = { ...this.settings, handlers: next.handlers };
    this.askForWork();
    this.wake.presence.wake();
  }

  /** How long a handler that is stopped now may take; less than the setting near the end of a drain. */
  stopGraceMs(): number {
    const { stopGraceMs } = this.settings;
    if (this.drainUntil === undefined) return stopGraceMs;
    return Math.min(stopGraceMs, Math.max(0, this.drainUntil - this.ports.clock.now()));
  }

  get stopped(): boolean {
    return this.stopping.signal.aborted;
  }

  /** Waits, but not beyond the end of the worker: a timer left behind would keep the process. */
  pause(ms: number): Promise<unknown> {
    return this.ports.clock.sleep(ms, this.stopping.signal);
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
      this.askForWork();
    } else {
      if (!this.#troubles.has(source))
        this.ports.log.warn('claim.paused', `Nothing is claimed: ${why}`, { source });
      this.#troubles.set(source, why);
      this.wake.claim.wake();
    }
    if (source === 'key') this.ports.spool.refusal.tell(why);
    this.wake.presence.wake();
  }

  /** The spool tells of its trouble itself; that it belongs to another process is acted on wherever it shows. */
  spoolFailed(cause: unknown): void {
    if (cause instanceof TaskError && cause.code === 'SPOOL_LOST') this.onSpoolLost(cause.message);
  }

  /** Something holds back every claim. */
  get heldBack(): boolean {
    return this.#troubles.size > 0;
  }

  /** Why nothing at all is claimed now, in words. */
  get notClaiming(): string | undefined {
    const { words } = this.pauses;
    const all = [...this.#troubles.values(), ...(words === undefined ? [] : [words])];
    if (all.length === 0) return undefined;
    return cutText(all.join('; '), bounds.reasonChars / 2);
  }

  id(kind: 'req' | 'ses'): string {
    // 128 bits of chance: a request id must never meet another one.
    return `${kind}_${Buffer.from(this.ports.random.bytes(16)).toString('hex')}`;
  }

  /** Doubted once, and not again for a while: where the limits are as before, it was something in the batch. */
  batchRefused(): void {
    const now = this.ports.clock.now();
    if (now < this.#limitsSureUntil) return;
    this.#limitsSureUntil = now + workerDefaults.limitsDoubtGapMs;
    this.limitsDoubted = true;
    this.wake.discovery.wake();
  }

  /** No claim asks for more than the contract's own, nor than was told, until it is told anew. `true` if that one did. */
  claimRefused(max: number): boolean {
    this.batchRefused();
    const claimMax = Math.min(this.limits.claimMax, limits.claimMax);
    if (max <= claimMax) return false;
    this.limits = { ...this.limits, claimMax };
    return true;
  }

  learn(info: ServiceInfo): void {
    this.contractDoubted = false;
    this.limitsDoubted = false;
    if (!info.contracts.includes(CONTRACT_VERSION)) {
      this.onOtherContract(info.contracts);
      return;
    }
    this.limits = {
      batch: Math.max(1, Math.min(info.limits.batch, workerDefaults.reportsMost)),
      batchBytes: Math.max(1_024, Math.min(info.limits.batchBytes, limits.batchBytes)),
      claimMax: Math.max(1, Math.min(info.limits.claimMax, workerDefaults.claimMost)),
    };
    this.features = info.features;
    this.discoveries++;
    this.wake.reports.wake();
  }

  #keyReadAt = Number.NEGATIVE_INFINITY;
  #keyChangedAt = Number.NEGATIVE_INFINITY;

  /**
   * The control plane refuses the key or the address (`refusesKey`): claiming pauses and the key is read again.
   * `true` if there is a new key: ask again at once. @param sentAt of the call that was refused.
   */
  keyRefused(status: number, problem: Problem, sentAt: number): Promise<boolean> {
    if (status === 426 && !this.contractDoubted) {
      this.contractDoubted = true;
      this.wake.discovery.wake();
    }
    this.trouble('key', refusedKeyWords(status, problem));
    return this.readKeyAgain(sentAt);
  }

  /** From its source, at most once a second. `true` if the key is another than the one that was sent then. */
  async readKeyAgain(sentAt: number): Promise<boolean> {
    const { clock, log, transport } = this.ports;
    if (this.#keyChangedAt > sentAt) return true;
    if (clock.now() - this.#keyReadAt < workerDefaults.keyReadGapMs) return false;
    this.#keyReadAt = clock.now();
    if (!(await transport.reloadKey())) return false;
    this.#keyChangedAt = clock.now();
    log.info('key.reloaded', 'The key was read again and has changed; trying with the new one.');
    return true;
  }

  /** The control plane answered one of our calls: the key is good, and whoever waits for the line need wait no longer. */
  keyAccepted(): void {
    this.trouble('key', undefined);
    // Also what an earlier process has noted.
    this.ports.spool.refusal.tell(undefined);
    this.onAnswered();
  }
}

/** `reports`: a kept report belongs to another project or address. */
export type Trouble = 'key' | 'spool' | 'reports' | 'handlers';
