/**
 * What an open spool does beside its work: keeps the set-asides within their bounds, and says when reports wait for
 * very long (its reserve has a watch of its own). Woken by the start, once an hour, and by a set-aside beyond the bounds. Ends when told to.
 */
import { spoolDefaults } from '../core/defaults.ts';
import type { Clock, Timer } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import { AgeJudge } from './age-judge.ts';
import type { ReserveWatch } from './reserve-watch.ts';
import type { AsideFolder } from './set-aside.ts';

export interface Waiting {
  readonly records: number;
  /** Age of the oldest, by the wall clock. */
  readonly oldestMs: number | null;
}

export class Upkeep {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #asides: readonly AsideFolder[];
  readonly #waiting: () => Waiting;
  readonly #ages: AgeJudge;
  readonly #reserve: ReserveWatch;
  #timer: Timer | undefined;
  #tidying: Promise<void> | undefined;
  #toldAt = Number.NEGATIVE_INFINITY;
  #stopped = false;

  constructor(
    ports: { readonly clock: Clock; readonly log: Log },
    asides: readonly AsideFolder[],
    waiting: () => Waiting,
    reserve: ReserveWatch,
  ) {
    this.#reserve = reserve;
    this.#clock = ports.clock;
    this.#log = ports.log;
    this.#asides = asides;
    this.#waiting = waiting;
    this.#ages = new AgeJudge(ports.clock);
  }

  /** Twice is once. */
  start(): void {
    if (this.#timer || this.#stopped) return;
    this.#tidy();
    this.#arm();
    this.#reserve.start();
  }

  /** One more was set aside. */
  setAside(): void {
    if (this.#asides.some(({ over }) => over)) this.#tidy();
  }

  /** Resolves when nothing is being tidied. */
  async idle(): Promise<void> {
    await this.#tidying;
    await this.#reserve.idle();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#reserve.stop();
  }

  #arm(): void {
    if (this.#stopped) return;
    const due = () => {
      this.#tidy();
      this.#tellOld();
      this.#arm();
    };
    this.#timer = this.#clock.timer(spoolDefaults.upkeepEveryMs, due, 'patient');
  }

  #tidy(): void {
    if (this.#stopped) return;
    this.#tidying ??= (async () => {
      const agesCount = this.#ages.agesCount();
      for (const folder of this.#asides) await folder.tidy(this.#clock, this.#log, agesCount);
    })().finally(() => {
      this.#tidying = undefined;
    });
  }

  /** They stay, however old: only their answer ends them. So somebody has to hear of it. */
  #tellOld(): void {
    const { pendingOldMs } = spoolDefaults;
    const { records, oldestMs } = this.#waiting();
    const now = this.#clock.now();
    if (oldestMs === null || oldestMs < pendingOldMs || now - this.#toldAt < pendingOldMs) return;
    this.#toldAt = now;
    const hours = Math.floor(oldestMs / 3_600_000);
    this.#log.warn(
      'spool.old',
      `A report has had no answer for ${hours} hours (${records} wait in all). It is kept and sent again; see \`interlock spool list\`, and whether the control plane, its address and the key are right.`,
      { records, oldestMs },
    );
  }
}
