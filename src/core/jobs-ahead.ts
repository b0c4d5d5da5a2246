import { aheadInHostDefaults } from './host-defaults.ts';

/**
 * How many jobs a handler host is given beyond the one that it runs, and what becomes of those that wait in it. Only where
 * calls are known to be short, and only of handlers that may be repeated: what waits is behind a millisecond of work, and
 * one write to a host, one look at what it says, do for all of them. Pure.
 */

/** How long the calls of one handler take in their host. */
export class CallTimes {
  readonly #last: number[] = [];
  #next = 0;
  #typical: number | undefined;
  #fresh = 0;
  #apart = false;

  add(ms: number): void {
    const { calls, reckonEvery } = aheadInHostDefaults;
    this.#last[this.#next] = ms;
    this.#next = (this.#next + 1) % calls;
    if (this.#last.length < calls || (this.#typical !== undefined && ++this.#fresh < reckonEvery))
      return;
    this.#fresh = 0;
    // The median: a pause of the machine in one call says nothing about the next.
    this.#typical = [...this.#last].sort((a, b) => a - b)[calls >> 1];
  }

  /** What it does beside its calls (processes that outlive one, output past its streams) is told apart only if they are alone. */
  apart(): void {
    this.#apart = true;
  }

  /** Of a call, where it is short and may have others behind it; `undefined`: long, or not known. */
  get shortMs(): number | undefined {
    const typical = this.#typical;
    return this.#apart || typical === undefined || typical > aheadInHostDefaults.workMs
      ? undefined
      : typical;
  }
}

/**
 * Among others in its host, where its handler is short: on disk it is marked if it is still at work a moment later. Not on a
 * second attempt: what ends its agent while it is unmarked comes back as not begun, and is to be marked before it begins from then on.
 * Nor where one attempt is all that is permitted: what ends its agent would be called a second time.
 */
export function mayBeginUnmarked(job: {
  readonly effectSafety: string;
  readonly fence: number;
  readonly lastPermitted?: true;
}): boolean {
  return job.effectSafety !== 'non-idempotent' && job.fence <= 1 && !job.lastPermitted;
}

export interface HostLoad {
  /** Jobs that are in it, the running one included. */
  readonly jobs: number;
  /** The first of them was seen at work a look ago, and still is. */
  readonly slow: boolean;
  /** Since it last had none. */
  readonly busyMs: number;
}

/** Whether it is given one more of these calls. */
export function takesMore({ jobs, slow, busyMs }: HostLoad, shortMs: number): boolean {
  const { workMs, most, leastMs, busyMs: longest } = aheadInHostDefaults;
  if (slow || jobs >= most || busyMs >= longest) return false;
  return (jobs + 1) * Math.max(shortMs, leastMs) <= workMs;
}

export interface SlowHead {
  /** Since the first job in the host is the first. */
  readonly headMs: number;
  /** Since it was seen to have begun; `undefined`: it has not. */
  readonly begunMs: number | undefined;
  /** Jobs behind it. */
  readonly waiting: number;
  /** Since they were asked back; `undefined`: they were not. */
  readonly recalledMs: number | undefined;
}

/**
 * - `look-again` later: nothing is known yet, or an answer is on its way
 * - `recall` what has not begun: the host answers when its loop turns
 * - `move` it: the loop is held; it is forbidden there first
 * - `kill` the host: something that an earlier call left keeps it from every job
 * - `rest`: the first has begun, and nobody waits behind it
 */
export type SlowStep = 'look-again' | 'recall' | 'move' | 'kill' | 'rest';

export function slowHead(head: SlowHead, takeMs: number): SlowStep {
  const { slowMs, heldMs, unreadMs } = aheadInHostDefaults;
  const { headMs, begunMs, waiting, recalledMs } = head;
  if (begunMs === undefined && headMs >= takeMs) return 'kill';
  if (waiting === 0) return begunMs === undefined ? 'look-again' : 'rest';
  if (recalledMs !== undefined) return recalledMs >= heldMs ? 'move' : 'look-again';
  // One that has not begun mostly waits for a core, as it would in another host.
  const slow = begunMs === undefined ? headMs >= unreadMs : begunMs >= slowMs;
  return slow ? 'recall' : 'look-again';
}
