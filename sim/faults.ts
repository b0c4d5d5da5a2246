import type { SimulatedRandom } from './random.ts';

/**
 * Everything that may go wrong. `max` is the highest rate that a world draws; what it counts is in `per`. Each fault has
 * a generator of its own, so that turning one off does not change when the others strike.
 */
export const FAULTS = {
  // The network.
  slow: { per: 'call', max: 0.15, what: 'a call takes seconds' },
  dropRequest: { per: 'call', max: 0.12, what: 'a request never arrives' },
  dropAnswer: { per: 'call', max: 0.12, what: 'the answer is lost after the effect' },
  cutAnswer: { per: 'call', max: 0.08, what: 'the connection breaks after the effect' },
  repeatRequest: { per: 'call', max: 0.08, what: 'a request arrives twice, the second time later' },
  refuseConnection: { per: 'call', max: 0.08, what: 'the connection is refused' },
  html502: { per: 'call', max: 0.08, what: 'a proxy answers with an HTML page, 502' },
  html200: { per: 'call', max: 0.04, what: 'a captive portal answers with an HTML page, 200' },
  tooMany: { per: 'call', max: 0.06, what: '429 with Retry-After' },
  redirect: { per: 'call', max: 0.03, what: 'a redirect to another origin' },
  lineDown: { per: 'minute', max: 0.6, what: 'nothing passes for a while' },
  cutStream: { per: 'minute', max: 3, what: 'an event stream is cut' },
  muteStream: { per: 'stream', max: 0.3, what: 'an event stream stays open and says nothing more' },
  // Workers and their machines.
  killWorker: { per: 'minute', max: 1, what: 'kill -9 of the agent' },
  killAtDisk: { per: 'start', max: 0.5, what: 'the agent dies between two steps of the disk' },
  killAtCall: {
    per: 'call',
    max: 0.01,
    what: 'the agent dies as it sends, or as the answer comes',
  },
  powerCut: { per: 'minute', max: 0.5, what: 'the power goes: what was not synced may be lost' },
  suspend: { per: 'minute', max: 0.4, what: 'the machine sleeps' },
  wallJump: { per: 'minute', max: 0.6, what: 'the wall clock is set' },
  drift: { per: 'machine', max: 0.02, what: 'the clock runs fast or slow by this share' },
  sigterm: { per: 'minute', max: 0.5, what: 'SIGTERM, and another start later' },
  twin: { per: 'minute', max: 0.15, what: 'a second machine takes the worker id' },
  keyRefused: {
    per: 'minute',
    max: 0.25,
    what: 'the key is revoked; a new one lies in its file later',
  },
  // Disks.
  diskFull: { per: 'minute', max: 0.4, what: 'the disk is full for a while' },
  diskError: {
    per: 'minute',
    max: 0.4,
    what: 'writing fails with EIO, EROFS or EMFILE for a while',
  },
  slowDisk: { per: 'minute', max: 0.5, what: 'a sync takes seconds' },
  // The control plane.
  killPlane: { per: 'minute', max: 0.6, what: 'kill -9 of the control plane' },
  killPlaneAtWrite: { per: 'write', max: 0.004, what: 'it dies before or after a commit' },
  stopPlane: { per: 'minute', max: 0.3, what: 'the control plane is stopped and started' },
  planeClockSet: {
    per: 'minute',
    max: 0.3,
    what: "the control plane's wall clock is set, an hour either way",
  },
  suspendPlane: { per: 'minute', max: 0.2, what: "the control plane's machine sleeps" },
  // Handlers.
  throws: { per: 'job', max: 0.15, what: 'an exception' },
  retryable: { per: 'job', max: 0.2, what: 'a failure that says it may be repeated' },
  unknown: { per: 'job', max: 0.06, what: 'the handler does not know what it did' },
  dies: { per: 'job', max: 0.12, what: 'the host exits, is killed or runs out of memory' },
  hangs: { per: 'job', max: 0.08, what: 'it never returns by itself' },
  ignoresStop: { per: 'job', max: 0.2, what: 'it goes on after it was told to stop' },
  stuck: { per: 'job', max: 0.05, what: 'it is not gone for a while after SIGKILL' },
  outlives: { per: 'job', max: 0.4, what: 'it goes on when its agent is gone' },
  // People and their programs.
  killProducer: { per: 'minute', max: 1.5, what: 'kill -9 of an application with an outbox' },
  cancels: { per: 'task', max: 0.15, what: 'the producer cancels' },
  // Added later, at the end, so that the seeds of before go on meaning what they meant.
  shortStream: {
    per: 'stream',
    max: 0.9,
    what: 'something in between ends an event stream as soon as it has begun',
  },
  oldAnswer: {
    per: 'claim',
    max: 0.1,
    what: 'something in between gives the answer of an earlier claim again',
  },
  inputRefused: {
    per: 'job',
    max: 0.15,
    what: "the handler's schema refuses the input, so it is never called",
  },
  olderPlane: {
    per: 'discovery',
    max: 0.8,
    what: 'a control plane of before answers: it lists none of the newer features',
  },
} as const;

export type FaultName = keyof typeof FAULTS;
export type FaultRates = Readonly<Record<FaultName, number>>;

export const faultNames = Object.keys(FAULTS) as FaultName[];

export const noFaults = Object.fromEntries(faultNames.map((name) => [name, 0])) as FaultRates;

/** Each fault is absent in half of the seeds, so that what one hides the others show. */
export function drawRates(random: SimulatedRandom, only?: readonly FaultName[]): FaultRates {
  const rates: Record<string, number> = { ...noFaults };
  for (const name of faultNames) {
    const drawn = random.fork(name);
    const on = drawn.chance(0.5);
    const rate = FAULTS[name].max * (0.1 + 0.9 * drawn.fraction());
    if (on && (only === undefined || only.includes(name))) rates[name] = rate;
  }
  return rates as FaultRates;
}

/** Decides when faults strike: between `begin` and `stop`. */
export class Faults {
  readonly rates: FaultRates;
  readonly #random: Map<FaultName, SimulatedRandom>;
  /** How often each struck. */
  readonly struck = new Map<FaultName, number>();
  #calm = true;

  constructor(rates: FaultRates, random: SimulatedRandom) {
    this.rates = rates;
    this.#random = new Map(faultNames.map((name) => [name, random.fork(name)]));
  }

  get calm(): boolean {
    return this.#calm;
  }

  begin(): void {
    this.#calm = false;
  }

  stop(): void {
    this.#calm = true;
  }

  /** For what is counted per call, job, task … */
  strikes(name: FaultName): boolean {
    const hit = this.of(name).chance(this.rates[name]) && !this.#calm;
    if (hit) this.struck.set(name, (this.struck.get(name) ?? 0) + 1);
    return hit;
  }

  /** For what is counted per minute: milliseconds until the next one; Infinity if it never comes. */
  nextMs(name: FaultName): number {
    const fraction = this.of(name).fraction();
    return this.rates[name] === 0
      ? Number.POSITIVE_INFINITY
      : (-Math.log(1 - fraction) / this.rates[name]) * 60_000;
  }

  count(name: FaultName): void {
    this.struck.set(name, (this.struck.get(name) ?? 0) + 1);
  }

  /** A milliseconds value between the two, of this fault's own generator. */
  between(name: FaultName, least: number, most: number): number {
    return least + this.of(name).fraction() * (most - least);
  }

  of(name: FaultName): SimulatedRandom {
    return this.#random.get(name) as SimulatedRandom;
  }
}
