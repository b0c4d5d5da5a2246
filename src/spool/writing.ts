import { causeCode, isNoRoom, spoolError, troubleInWords } from './errors.ts';
import type { Health } from './health.ts';
import type { Layout } from './layout.ts';
import { type Reserve, ReserveInTheWay } from './reserve.ts';

/**
 * Every write of a spool goes through here: on a full disk the reserve is given up and the write is tried once more;
 * what the disk refuses is told to the health and becomes an error of ours.
 */
export class Writing {
  readonly #layout: Layout;
  readonly #reserve: Reserve;
  readonly #health: Health;

  constructor(layout: Layout, reserve: Reserve, health: Health) {
    this.#layout = layout;
    this.#reserve = reserve;
    this.#health = health;
  }

  /**
   * Rejects with `SPOOL_WRITE_FAILED`.
   * @param room `free`: new work, for which the reserve is not given up.
   */
  async run<T>(
    what: string,
    work: () => Promise<T>,
    room: 'reserve' | 'free' = 'reserve',
    there = this.#reserve.there,
  ): Promise<T> {
    try {
      const made = room === 'free' ? await work() : await this.#withReserve(work, there);
      this.#health.worked();
      return made;
    } catch (cause) {
      const reason = causeCode(cause);
      // A mistake of ours (a value that is no JSON) is no trouble of the disk.
      if (reason === undefined) throw cause;
      const { folder } = this.#layout;
      this.#health.failed(troubleInWords(folder, cause));
      throw spoolError(
        'SPOOL_WRITE_FAILED',
        `${what} could not be written to the spool ${folder} (${reason}).`,
        { cause },
      );
    }
  }

  /** Something that could be given up is there: to be asked before what is handed to `after` begins. */
  get reserveThere(): boolean {
    return this.#reserve.there;
  }

  /** `run` of what was begun already. @param begun the first try @param there `reserveThere` of the moment before it */
  after<T>(begun: Promise<T>, what: string, work: () => Promise<T>, there: boolean): Promise<T> {
    let first = true;
    const tried = () => {
      if (!first) return work();
      first = false;
      return begun;
    };
    return this.run(what, tried, 'reserve', there);
  }

  /** @param there before the write: somebody else may give it up meanwhile */
  async #withReserve<T>(work: () => Promise<T>, there: boolean): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      if (!there || !isNoRoom(cause)) throw cause;
      await this.#reserve.giveUp();
      if (!this.#reserve.made) this.#health.short(shortInWords(this.#layout.folder, cause));
      return await work();
    }
  }
}

/** The reserve is gone. @param cause the disk's error that took it, or kept it from being made. */
export function shortInWords(folder: string, cause: unknown): string {
  if (isNoRoom(cause))
    return `the disk of the spool ${folder} is full (${causeCode(cause)}): its reserve is used up for what already runs. Free some space; the worker goes on by itself after that`;
  if (cause instanceof ReserveInTheWay)
    return `the reserve of the spool ${folder} cannot be made: ${cause.what}. Move it away; the worker goes on by itself after that`;
  return `the reserve of the spool ${folder} cannot be made: ${troubleInWords(folder, cause)}`;
}
