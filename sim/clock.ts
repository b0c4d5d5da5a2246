import type { Clock, Timer } from '../src/ports/clock.ts';
import { SimulatedTime } from './time.ts';

export interface SimulatedClockOptions {
  /** The world's time; a fresh one by default. */
  readonly time?: SimulatedTime;
  /** Wall time at the beginning. Default 2026-01-01. */
  readonly wallMs?: number;
  /** How fast this machine's clock runs against the world's. Default 1. */
  readonly rate?: number;
  /** What `now()` begins with; its zero means nothing, and code that thinks otherwise is found out. */
  readonly startMs?: number;
}

/** The clock of one machine: drifts (`rate`), sleeps (`suspend`), and its wall time can be set. */
export class SimulatedClock implements Clock {
  readonly time: SimulatedTime;
  readonly #rate: number;
  readonly #startMs: number;
  readonly #bornMs: number;
  #wallAheadMs: number;
  /** World time until which this machine is suspended. */
  #awakeAtMs = 0;

  constructor(options: SimulatedClockOptions = {}) {
    this.time = options.time ?? new SimulatedTime();
    this.#rate = options.rate ?? 1;
    this.#startMs = options.startMs ?? 5_000;
    this.#bornMs = this.time.nowMs;
    this.#wallAheadMs = (options.wallMs ?? Date.UTC(2026, 0, 1)) - this.#startMs;
  }

  now(): number {
    return this.#startMs + (this.time.nowMs - this.#bornMs) * this.#rate;
  }

  wall(): number {
    return Math.round(this.#wallAheadMs + this.now());
  }

  sleep(ms: number, signal?: AbortSignal): Promise<boolean> {
    if (signal?.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const aborted = () => {
        timer.cancel();
        resolve(false);
      };
      const timer = this.timer(ms, () => {
        signal?.removeEventListener('abort', aborted);
        resolve(true);
      });
      signal?.addEventListener('abort', aborted, { once: true });
    });
  }

  timer(ms: number, fire: () => void): Timer {
    let waiting: { cancel(): void };
    const due = () => {
      // Suspended: nothing runs here until it wakes.
      if (this.time.nowMs < this.#awakeAtMs) waiting = this.time.at(this.#awakeAtMs, due);
      else fire();
    };
    // What is left of a rounding would otherwise add up to no time at all, for ever.
    const atLeast = ms > 0 ? SHORTEST_MS : 0;
    waiting = this.time.at(this.time.nowMs + Math.max(atLeast, ms || 0) / this.#rate, due);
    return { cancel: () => waiting.cancel() };
  }

  /** Moves the world on by `ms`. */
  advance(ms: number): Promise<void> {
    return this.time.advance(ms);
  }

  /** This machine sleeps for `ms` of the world's time: its timers rest, `now()` goes on. Advance to wake it. */
  suspend(ms: number): void {
    this.#awakeAtMs = Math.max(this.#awakeAtMs, this.time.nowMs + ms);
  }

  get asleep(): boolean {
    return this.time.nowMs < this.#awakeAtMs;
  }

  /** Sets the wall clock forward (or back). `now()` does not notice. */
  jumpWall(ms: number): void {
    this.#wallAheadMs += ms;
  }
}

const SHORTEST_MS = 0.001;
