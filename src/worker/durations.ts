import { LastRuns } from '../core/claim-ahead.ts';
import { workerDefaults } from '../core/defaults.ts';

/** How long handlers of a type usually take here: a mean in which the last ones weigh most. */
export class Durations {
  readonly #typical = new Map<string, number>();
  readonly #turns = new Map<string, LastRuns>();

  /** @param type as `typeKey` writes it: only those that are served here ever run. */
  ended(type: string, ms: number): void {
    const before = this.#typical.get(type);
    const { durationWeight: weight } = workerDefaults;
    this.#typical.set(type, before === undefined ? ms : before + (ms - before) * weight);
  }

  /** A slot was taken so long by a handler of the type, its host's start included. */
  turned(type: string, ms: number): void {
    let turns = this.#turns.get(type);
    if (turns === undefined) {
      turns = new LastRuns();
      this.#turns.set(type, turns);
    }
    turns.add(ms);
  }

  /** The longest of the last such times; `undefined` where there were too few. */
  longestMs(type: string): number | undefined {
    return this.#turns.get(type)?.longestMs;
  }

  /** The mean of the same. */
  meanMs(type: string): number | undefined {
    return this.#turns.get(type)?.meanMs;
  }

  /** What is known of the type is no more: its code is another. */
  forgetTurns(type: string): void {
    this.#turns.delete(type);
  }

  typicalMs(type: string): number | undefined {
    return this.#typical.get(type);
  }
}
