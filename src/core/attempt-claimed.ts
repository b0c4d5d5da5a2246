import type { AttemptEvent, AttemptState, GateAnswer, Step } from './attempt-state.ts';
import { becomeStale, giveUp, release, unexpected } from './attempt-steps.ts';

/** Phase `claimed`: it waits for a slot, then (a start gate) for the answer to `start`. */
export function whileClaimed(state: AttemptState, event: AttemptEvent): Step {
  const asking = state.gate === 'asking';
  switch (event.kind) {
    case 'slot-granted':
      if (state.slot) return unexpected(state, event);
      if (state.cancelRequested) return giveUp({ ...state, slot: true });
      if (state.draining) return release({ ...state, slot: true }, 'drain');
      if (guardedByStart(state)) {
        return [
          { ...state, slot: true, gate: 'asking' },
          [{ do: 'ask-gate', op: 'start', after: 'nothing' }],
        ];
      }
      return [
        { ...state, slot: true, phase: 'running' },
        [{ do: 'start-handler' }, { do: 'send-start-soon' }],
      ];
    case 'gate-answered':
      return asking ? startAnswered(state, event.answer) : unexpected(state, event);
    case 'cancel-requested':
      return asking
        ? [{ ...state, cancelRequested: true }, []]
        : giveUp({ ...state, cancelRequested: true });
    case 'drain':
      // An unanswered start may have passed the gate: it is asked on, and run if it was accepted.
      return asking
        ? [{ ...state, draining: true }, []]
        : release({ ...state, draining: true }, 'drain');
    case 'drain-deadline':
      return release({ ...state, draining: true }, 'drain');
    case 'lease-ran-out':
      // A start gate keeps the handler from beginning on a lease that is gone, and a pure one harms nobody: both wait
      // on, since our clock alone proves nothing (a network may be down). Else another worker may now run the task.
      return asking || state.effectSafety === 'pure' || guardedByStart(state)
        ? [state, []]
        : release(state, 'lease');
    case 'stale':
      return becomeStale(state);
    default:
      return unexpected(state, event);
  }
}

/** Its handler begins only after the control plane has accepted `start`. */
function guardedByStart(state: AttemptState): boolean {
  return state.gate === 'shut' && state.effectGate === 'start';
}

function startAnswered(state: AttemptState, answer: GateAnswer): Step {
  switch (answer) {
    case 'accepted':
      if (state.cancelRequested) return giveUp({ ...state, gate: 'open' });
      return [{ ...state, gate: 'open', phase: 'running' }, [{ do: 'start-handler' }]];
    case 'lease-expired':
      if (state.cancelRequested) return giveUp({ ...state, gate: 'shut' });
      if (state.askedAgain || state.draining)
        return release({ ...state, gate: 'shut' }, state.draining ? 'drain' : 'lease');
      return [{ ...state, askedAgain: true }, [{ do: 'ask-gate', op: 'start', after: 'renewal' }]];
    case 'no-answer':
      // Asking again would pass the gate for nothing.
      if (state.cancelRequested) return giveUp({ ...state, gate: 'shut' });
      return [state, [{ do: 'ask-gate', op: 'start', after: 'pause' }]];
    case 'stale':
      return becomeStale(state);
    case 'superseded':
      return release({ ...state, gate: 'refused' }, 'superseded');
    case 'refused':
      return release({ ...state, gate: 'refused' }, 'gate-refused');
  }
}
