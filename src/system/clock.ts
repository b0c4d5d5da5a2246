import { uptime } from 'node:os';
import type { Clock, Patience, Timer } from '../ports/clock.ts';
import { type Machine, SuspendMeter } from './suspend-meter.ts';

/**
 * The machine's clock. Its timers keep the process alive (they are not unref'd): a daemon that waits for
 * its next poll must not end because nothing else is open. Whoever stops cancels his timers.
 */
export function systemClock(machine: Machine = thisMachine): Clock {
  return new SystemClock(machine);
}

const thisMachine: Machine = {
  awakeMs: () => Number(process.hrtime.bigint()) / 1e6,
  wallMs: () => Date.now(),
  uptimeSeconds: uptime,
};

class SystemClock implements Clock {
  readonly #meter: SuspendMeter;
  /** Armed ones: after a suspend they are due sooner than Node thinks. */
  readonly #near = new Set<SystemTimer>();
  #sleptMs = 0;
  /** Timers further away than their slice; looked at once per slice, all together. */
  readonly #far = new Set<SystemTimer>();
  #watch: NodeJS.Timeout | undefined;
  /** When the watch looks, while it is set. */
  #lookAt = Number.POSITIVE_INFINITY;
  /** How far away that was when it was set. */
  #lookMs = SLICE_MS;

  constructor(machine: Machine) {
    this.#meter = new SuspendMeter(machine);
  }

  now(): number {
    const now = this.#meter.now();
    if (this.#meter.suspendedMs !== this.#sleptMs) {
      this.#sleptMs = this.#meter.suspendedMs;
      // Whoever looks at the clock first after a suspend wakes all: leases and polls may be overdue.
      setImmediate(() => this.#placeAll());
    }
    return now;
  }

  wall(): number {
    return Date.now();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<boolean> {
    if (signal?.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const timer = this.timer(ms, () => {
        signal?.removeEventListener('abort', aborted);
        resolve(true);
      });
      const aborted = () => {
        timer.cancel();
        resolve(false);
      };
      signal?.addEventListener('abort', aborted, { once: true });
    });
  }

  timer(ms: number, fire: () => void, patience?: Patience): Timer {
    // Negative numbers and NaN mean now.
    const dueMs = this.now() + Math.max(0, ms || 0);
    const sliceMs = patience === 'patient' ? PATIENT_SLICE_MS : SLICE_MS;
    const timer: SystemTimer = { dueMs, sliceMs, fire, near: undefined };
    this.#place(timer);
    return {
      cancel: () => {
        this.#far.delete(timer);
        this.#near.delete(timer);
        clearTimeout(timer.near);
        if (this.#far.size === 0) this.#rest();
      },
    };
  }

  /** Near ones are armed; far ones wait in slices, so that neither 2³¹ ms nor a suspend hurts them. */
  #place(timer: SystemTimer): void {
    const now = this.now();
    const left = timer.dueMs - now;
    if (left > timer.sliceMs) {
      this.#far.add(timer);
      this.#lookWithin(timer.sliceMs, now);
      return;
    }
    this.#far.delete(timer);
    this.#near.add(timer);
    clearTimeout(timer.near);
    timer.near = setTimeout(
      () => {
        this.#near.delete(timer);
        const now = this.now();
        // Whoever wakes the process looks for the others too, unless they were looked for a moment ago: one wake for both.
        if (this.#lookAt - now < this.#lookMs * TOGETHER) this.#look();
        // Node may come up to a millisecond early.
        if (now < timer.dueMs) this.#place(timer);
        else timer.fire();
      },
      Math.max(0, Math.ceil(left)),
    );
  }

  #lookWithin(ms: number, now: number): void {
    if (this.#lookAt <= now + ms) return;
    this.#rest();
    this.#lookAt = now + ms;
    this.#lookMs = ms;
    this.#watch = setTimeout(() => this.#look(), ms);
  }

  #look(): void {
    this.#rest();
    for (const timer of this.#far) this.#place(timer);
  }

  #placeAll(): void {
    // It was set before the sleep, which its timer knows nothing of.
    this.#rest();
    for (const timer of [...this.#near, ...this.#far]) this.#place(timer);
  }

  #rest(): void {
    clearTimeout(this.#watch);
    this.#watch = undefined;
    this.#lookAt = Number.POSITIVE_INFINITY;
  }
}

interface SystemTimer {
  readonly dueMs: number;
  readonly sliceMs: number;
  readonly fire: () => void;
  near: NodeJS.Timeout | undefined;
}

/** How late a timer may be after a suspend, and how often a waiting process wakes. */
const SLICE_MS = 1_000;
/**
 * The same where nothing is waited for but what is patient: a little more than from one sign of life of a folder's lock to
 * the next, which so wakes an idle worker for both.
 */
export const PATIENT_SLICE_MS = 5_500;
/** A look comes along with whatever fires within this last share of its wait. */
const TOGETHER = 0.75;
