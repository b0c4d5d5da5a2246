import type { JobEnd, StopReason } from '../ports/carrier.ts';
import { reportOfEnd, type TimeLimit } from './attempt-report.ts';
import type {
  AttemptEffect,
  AttemptEvent,
  AttemptState,
  GateAnswer,
  Step,
} from './attempt-state.ts';
import { becomeStale, finish, unexpected } from './attempt-steps.ts';

/** Phase `running`: the handler is at work, perhaps asks for its gate, is perhaps told to stop. */
export function whileRunning(state: AttemptState, event: AttemptEvent): Step {
  switch (event.kind) {
    case 'begun':
      return [{ ...state, begun: true }, [{ do: 'mark-begun' }]];
    case 'effect-requested':
      return effectRequested(state);
    case 'gate-answered':
      return effectAnswered(state, event.answer);
    case 'cancel-requested':
      return stop({ ...state, cancelRequested: true }, 'cancel');
    case 'timed-out':
      return stop(state, 'timeout');
    case 'stale':
      return stop(state, 'stale');
    case 'drain':
      return [{ ...state, draining: true }, []];
    case 'drain-deadline':
      return stop({ ...state, draining: true }, 'drain');
    case 'lease-ran-out':
      // Pure handlers harm nobody, and past the gate nobody else may run the task: both go on.
      return state.effectSafety === 'pure' || state.gate === 'open'
        ? [state, []]
        : stop(state, 'lease');
    case 'handler-stuck':
      return [{ ...state, stuck: true }, []];
    case 'handler-ended':
      return handlerEnded({ ...state, stuck: false }, event.end, event.limit);
    default:
      return unexpected(state, event);
  }
}

function effectRequested(state: AttemptState): Step {
  if (state.gate === 'none' || state.gate === 'open') return [state, [{ do: 'open-gate' }]];
  if (state.stop !== undefined)
    return [{ ...state, gate: 'refused' }, [{ do: 'refuse-gate', why: gateWhy[state.stop] }]];
  if (state.gate !== 'shut') return unexpected(state, { kind: 'effect-requested' });
  return [{ ...state, gate: 'asking' }, [{ do: 'ask-gate', op: 'effect', after: 'nothing' }]];
}

/** An answer that comes when the gate was already refused opens nothing: the handler was told no. */
function effectAnswered(state: AttemptState, answer: GateAnswer): Step {
  if (answer === 'stale') return stop(state, 'stale');
  if (state.gate !== 'asking') return [state, []];
  const refuseIt = (why: string): Step => [
    { ...state, gate: 'refused' },
    [{ do: 'refuse-gate', why }],
  ];
  switch (answer) {
    case 'accepted':
      return [{ ...state, gate: 'open' }, [{ do: 'open-gate' }]];
    case 'lease-expired':
      if (state.askedAgain)
        return refuseIt(
          'The lease of this attempt ran out, so another worker may have the task. Do not begin the effect.',
        );
      return [{ ...state, askedAgain: true }, [{ do: 'ask-gate', op: 'effect', after: 'renewal' }]];
    case 'no-answer':
      return [state, [{ do: 'ask-gate', op: 'effect', after: 'pause' }]];
    case 'superseded':
      return refuseIt('Another worker has taken over this worker id. Do not begin the effect.');
    case 'refused':
      return refuseIt('The control plane refused to open the gate. Do not begin the effect.');
  }
}

const gateWhy: Readonly<Record<StopReason, string>> = {
  timeout: 'The attempt has used up its time. Do not begin the effect.',
  cancel: 'The task is being cancelled. Do not begin the effect.',
  stale: 'The attempt was given to somebody else. Do not begin the effect.',
  lease:
    'The lease of this attempt ran out, so another worker may have the task. Do not begin the effect.',
  drain: 'The worker is stopping. Do not begin the effect.',
};

/** Signals the handler once; a pending gate is refused with the reason. */
function stop(state: AttemptState, reason: StopReason): Step {
  if (state.stop !== undefined) {
    // The first reason wins for the handler; that nothing may be reported any more is never forgotten.
    return [reason === 'stale' ? { ...state, staleSeen: true } : state, []];
  }
  const stopped: AttemptState = {
    ...state,
    stop: reason,
    staleSeen: state.staleSeen || reason === 'stale',
  };
  const effects: AttemptEffect[] = [{ do: 'stop-handler', reason }];
  if (state.gate !== 'asking') return [stopped, effects];
  return [
    { ...stopped, gate: 'refused' },
    [{ do: 'refuse-gate', why: gateWhy[reason] }, ...effects],
  ];
}

function handlerEnded(state: AttemptState, end: JobEnd, limit: TimeLimit | undefined): Step {
  if (state.staleSeen) return becomeStale(state);
  return finish(
    state,
    reportOfEnd(state.identity, end, {
      stop: state.stop,
      begun: state.begun,
      pastGate: state.gate === 'open',
      limit,
    }),
  );
}
