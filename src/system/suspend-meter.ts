/**
 * Adds the time that the machine slept to a clock that stops meanwhile. `awake` (hrtime) is exact and
 * stands still during suspend; `uptime` goes on, but moves in steps of 10 ms (on some systems of 1 s).
 * So time is measured with the first, and suspend is noticed by the second running away from it.
 */
export class SuspendMeter {
  #apart: number | undefined;
  #suspendedMs = 0;
  #inSeconds = true;

  /** How long the machine has slept since the first reading, as far as was noticed. */
  get suspendedMs(): number {
    return this.#suspendedMs;
  }

  /** Monotonic milliseconds, suspended time included. */
  now(awakeMs: number, uptimeSeconds: number): number {
    if (!Number.isInteger(uptimeSeconds)) this.#inSeconds = false;
    const apart = uptimeSeconds * 1_000 - awakeMs;
    this.#apart ??= apart;
    const slept = apart - this.#apart - this.#suspendedMs;
    const noticed = this.#inSeconds ? NOTICED_SECONDS_MS : NOTICED_MS;
    if (slept > noticed) this.#suspendedMs += slept;
    // An uptime that was set back must not hide the next suspend.
    else if (slept < -noticed) this.#apart = apart - this.#suspendedMs;
    return awakeMs + this.#suspendedMs;
  }
}

/** Ten steps of a usual uptime: below that it is a step, above it was sleep. */
const NOTICED_MS = 100;
/** Where uptime is told in whole seconds, two readings differ by up to one without any sleep. */
const NOTICED_SECONDS_MS = 2_000;
