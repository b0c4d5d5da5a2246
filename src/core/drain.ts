import { workerDefaults } from './defaults.ts';

/**
 * Signals to a worker. `working` → (first signal, or a wish of the control plane) `draining`: claims nothing, gives back
 * what has no handler yet, finishes the rest until the deadline → (second signal, or the deadline) `stopping`: handlers
 * are aborted and what they say is spooled → (third signal) `leaving`: exit now. Two signals within a second are one.
 */
export type DrainPhase = 'working' | 'draining' | 'stopping' | 'leaving';

export interface DrainState {
  readonly phase: DrainPhase;
  /** Of the last signal that counted. */
  readonly signalledAt?: number;
  /** That counted. A wish and the deadline are none: the first signal never aborts a handler by itself. */
  readonly signals: number;
}

export const working: DrainState = { phase: 'working', signals: 0 };

const phases: readonly DrainPhase[] = ['working', 'draining', 'stopping', 'leaving'];

/** A signal, by the clock. */
export function onSignal(state: DrainState, now: number): DrainState {
  if (state.signalledAt !== undefined && now - state.signalledAt < workerDefaults.signalGapMs)
    return state;
  const signals = Math.min(state.signals + 1, 3);
  const phase = phases[Math.max(signals, phases.indexOf(state.phase))] ?? 'leaving';
  return { phase, signalledAt: now, signals };
}

/** Asked to drain by the control plane or a program: never goes further than draining. */
export function onDrainWish(state: DrainState): DrainState {
  return state.phase === 'working' ? { ...state, phase: 'draining' } : state;
}

/** The drain deadline has come. */
export function onDeadline(state: DrainState): DrainState {
  return state.phase === 'draining' ? { ...state, phase: 'stopping' } : state;
}
