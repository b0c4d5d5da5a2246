/**
 * Time. Decisions use `now()` only: it is monotonic and goes on while the machine is suspended, so a
 * lease is never believed longer than it is. `wall()` is for people and for the `…At` fields of the wire.
 */
export interface Clock {
  /** Milliseconds, monotonic, suspended time included. Its zero means nothing. */
  now(): number;
  /** Milliseconds since 1970 UTC. May jump either way: never an input of a decision in the worker. */
  wall(): number;
  /** Resolves `true` after `ms`, or `false` as soon as `signal` aborts. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<boolean>;
  /** Calls `fire` once after `ms` (safe above 2³¹ ms). Cancelling twice, or after the call, does nothing. */
  timer(ms: number, fire: () => void, patience?: Patience): Timer;
}

/**
 * How late a timer may be where the machine has slept meanwhile: about a second, or `patient`, a few. Whoever waits for less work, as a poll does,
 * is patient: to look for sleep every second is a third of what an idle worker costs.
 */
export type Patience = 'patient';

export interface Timer {
  cancel(): void;
}
