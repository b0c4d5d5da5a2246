import type { ControlPlaneWorld } from '../control-plane/world.ts';

/** The chance by which a load does what it does. */
export class Dice {
  readonly #world: ControlPlaneWorld;

  constructor(world: ControlPlaneWorld) {
    this.#world = world;
  }

  chance(share: number): boolean {
    return this.#world.random.fraction() < share;
  }

  /** `undefined` only of an empty list. */
  one<T>(list: readonly T[]): T {
    return list[Math.floor(this.#world.random.fraction() * list.length)] as T;
  }

  pause(leastMs: number, mostMs: number): Promise<void> {
    return this.#world.pause(leastMs + this.#world.random.fraction() * (mostMs - leastMs));
  }

  /** After how long a call is broken off; most are not. */
  cut(share = 0.05): number | undefined {
    return this.chance(share) ? this.#world.random.fraction() * 20 : undefined;
  }
}
