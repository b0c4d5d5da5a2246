import { workerDefaults } from '../core/defaults.ts';

/** How long handlers of a type usually take here: a mean in which the last ones weigh most. */
export class Durations {
  readonly #typical = new Map<string, number>();

  /** @param type as `typeKey` writes it: only those that are served here ever run. */
  ended(type: string, ms: number): void {
    const before = this.#typical.get(type);
    const { durationWeight: weight } = workerDefaults;
    this.#typical.set(type, before === undefined ? ms : before + (ms - before) * weight);
  }

  typicalMs(type: string): number | undefined {
    return this.#typical.get(type);
  }
}
