/**
 * Looks from time to time whether the reserve is still there with all its room: a person who frees space removes it, a
 * backup that is put back leaves a file with holes. It is made again at once, or else nothing is claimed until it can be.
 * Woken once a minute; sends nothing; ends when told to.
 */
import { spoolDefaults } from '../core/defaults.ts';
import type { Clock, Timer } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { Health } from './health.ts';
import type { Layout } from './layout.ts';
import type { Reserve } from './reserve.ts';
import { shortInWords } from './writing.ts';

export class ReserveWatch {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #layout: Layout;
  readonly #reserve: Reserve;
  readonly #health: Health;
  #timer: Timer | undefined;
  #looking: Promise<void> | undefined;
  #stopped = false;

  constructor(
    ports: { readonly clock: Clock; readonly log: Log },
    layout: Layout,
    reserve: Reserve,
    health: Health,
  ) {
    this.#clock = ports.clock;
    this.#log = ports.log;
    this.#layout = layout;
    this.#reserve = reserve;
    this.#health = health;
  }

  /** Twice is once. */
  start(): void {
    if (this.#stopped) return;
    const due = () => {
      this.#looking = this.#look().finally(() => {
        this.#looking = undefined;
        this.#timer = undefined;
        this.start();
      });
    };
    this.#timer ??= this.#clock.timer(spoolDefaults.reserveLookMs, due, 'patient');
  }

  /** Resolves when it does not look just now. */
  async idle(): Promise<void> {
    await this.#looking;
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    // What the disk does not tell now says nothing about the reserve.
    const why = await this.#reserve.lookAgain().catch(() => undefined);
    if (why === undefined || this.#stopped) return;
    const { folder, reserve } = this.#layout;
    const short = await this.#reserve.prove().then(
      () => undefined,
      (cause: unknown) => shortInWords(folder, cause),
    );
    if (this.#stopped) return;
    this.#log.warn(
      'spool.reserve-altered',
      `${reserve}, the room that the spool keeps for a full disk, ${why}${short === undefined ? ': it was made again.' : '. Nothing is claimed until there is one.'}`,
    );
    if (short !== undefined) this.#health.short(short);
  }
}
