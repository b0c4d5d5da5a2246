/**
 * Adds the time that the machine slept to a clock that stops meanwhile. `awake` is exact and stands still during
 * suspend; `uptime` goes on, but moves in steps of 10 ms (on some systems of 1 s). So time is measured with the
 * first, and suspend is noticed by the second running away from it.
 *
 * Uptime is a file that the kernel writes anew for each reading, so it is read only where sleep may have been: when the
 * wall clock, which goes on too and costs next to nothing, has moved against `awake`, and else once a second. A wall clock
 * that somebody sets costs one such reading and moves nothing.
 */
export class SuspendMeter {
  readonly #machine: Machine;
  #apart: number | undefined;
  #suspendedMs = 0;
  #inSeconds = true;
  /** At the last look at uptime. */
  #lookedAt = Number.NEGATIVE_INFINITY;
  #wallApart = 0;

  constructor(machine: Machine) {
    this.#machine = machine;
  }

  /** How long the machine has slept since the first reading, as far as was noticed. */
  get suspendedMs(): number {
    return this.#suspendedMs;
  }

  /** Monotonic milliseconds, suspended time included. */
  now(): number {
    const awakeMs = this.#machine.awakeMs();
    const wallApart = this.#machine.wallMs() - awakeMs;
    const moved = Math.abs(wallApart - this.#wallApart) > WALL_MOVED_MS;
    if (!moved && awakeMs - this.#lookedAt < LOOK_MS) return awakeMs + this.#suspendedMs;
    this.#lookedAt = awakeMs;
    this.#wallApart = wallApart;
    return this.#look(awakeMs);
  }

  #look(before: number): number {
    const uptimeSeconds = this.#machine.uptimeSeconds();
    // A process that had to wait for the processor between two readings has not slept: both ends count.
    const after = this.#machine.awakeMs();
    if (!Number.isInteger(uptimeSeconds)) this.#inSeconds = false;
    const uptimeMs = uptimeSeconds * 1_000;
    this.#apart ??= uptimeMs - before;
    const noticed = this.#inSeconds ? NOTICED_SECONDS_MS : NOTICED_MS;
    const known = this.#apart + this.#suspendedMs;
    if (uptimeMs - after - known > noticed) this.#suspendedMs += uptimeMs - after - known;
    // An uptime that was set back must not hide the next suspend.
    else if (uptimeMs - before - known < -noticed) {
      this.#apart = uptimeMs - before - this.#suspendedMs;
    }
    return after + this.#suspendedMs;
  }
}

/** What the machine tells. */
export interface Machine {
  /** Monotonic, exact, stands still while the machine sleeps. */
  readonly awakeMs: () => number;
  readonly wallMs: () => number;
  /** Goes on while the machine sleeps; moves in steps. */
  readonly uptimeSeconds: () => number;
}

/** Ten steps of a usual uptime: below that it is a step, above it was sleep. */
const NOTICED_MS = 100;
/** Where uptime is told in whole seconds, two readings differ by up to one without any sleep. */
const NOTICED_SECONDS_MS = 2_000;
/** Sleep that counts moves the wall clock further; a clock that is slewed moves by half a millisecond in a second. */
const WALL_MOVED_MS = 50;
/** However the wall clock looks: it may have been set back by as much as the machine had slept. */
const LOOK_MS = 1_000;
