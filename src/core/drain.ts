import { workerDefaults } from './defaults.ts';

/**
 * Signals to a worker. `working` → (first signal) `draining`: claims nothing, gives back what has no handler yet,
 * finishes the rest until the deadline → (second signal, or the deadline) `stopping`: handlers are aborted and
 * what they say is spooled → (third signal) `leaving`: exit now. Two signals within a second are one.
 */
export type DrainPhase = 'working' | 'draining' | 'stopping' | 'leaving';

export interface DrainState {
  readonly phase: DrainPhase;
  readonly signalledAt?: number;
}

export const working: DrainState = { phase: 'working' };

const next: Readonly<Record<DrainPhase, DrainPhase>> = {
  working: 'draining',
  draining: 'stopping',
  stopping: 'leaving',
  leaving: 'leaving',
};

/** A signal, by the clock. */
export function onSignal(state: DrainState, now: number): DrainState {
  if (state.signalledAt !== undefined && now - state.signalledAt < workerDefaults.signalGapMs)
    return state;
  return { phase: next[state.phase], signalledAt: now };
}

/** Asked to drain by the control plane or a program: never goes further than draining. */
export function onDrainWish(state: DrainState): DrainState {
  return state.phase === 'working' ? { ...state, phase: 'draining' } : state;
}

/** The drain deadline has come. */
export function onDeadline(state: DrainState): DrainState {
  return state.phase === 'draining' ? { ...state, phase: 'stopping' } : state;
}
