import type {
  AttemptEffect,
  AttemptEvent,
  AttemptState,
  Phase,
  ReportVerdict,
  Step,
} from './attempt-state.ts';
import { becomeStale, freed, reportOf } from './attempt-steps.ts';

/** Phases `ending` and `spooled`: the report is made durable, sent, and answered. */
export function whileEnding(state: AttemptState, event: AttemptEvent): Step {
  switch (event.kind) {
    case 'report-written': {
      const written: AttemptState = { ...state, phase: 'spooled', slot: false };
      if (state.staleSeen)
        return [
          { ...written, phase: 'stale' },
          [{ do: 'set-aside', as: 'stale', recorded: false }, ...freed(state), { do: 'forget' }],
        ];
      return [written, [...freed(state), { do: 'send-report', report: reportOf(state) }]];
    }
    case 'report-not-written':
      return state.staleSeen ? becomeStale(state) : [state, []];
    case 'report-answered':
      return answered(state, event.verdict);
    case 'stale':
      return [{ ...state, staleSeen: true }, []];
    case 'gate-answered':
      // Late: the handler has gone. Only that the attempt is not ours any more still matters.
      return [event.answer === 'stale' ? { ...state, staleSeen: true } : state, []];
    default:
      return [state, []];
  }
}

export function whileSpooled(state: AttemptState, event: AttemptEvent): Step {
  return event.kind === 'report-answered' ? answered(state, event.verdict) : [state, []];
}

function answered(state: AttemptState, verdict: ReportVerdict): Step {
  const { op } = reportOf(state);
  const over = (phase: Phase, before: readonly AttemptEffect[] = []): Step => [
    { ...state, phase, slot: false },
    [...before, ...freed(state), { do: 'forget' }],
  ];
  switch (verdict.kind) {
    case 'done':
      return over(op === 'lost' ? 'lost' : op === 'release' ? 'released' : 'acknowledged');
    case 'stale':
      return over('stale', [{ do: 'set-aside', as: 'stale', recorded: verdict.recorded }]);
    case 'refused': {
      const aside: AttemptEffect = { do: 'set-aside', as: 'refused', recorded: false };
      if (!verdict.followUp || state.staleSeen) return over('refused', [aside]);
      const next: AttemptState = {
        ...state,
        phase: 'ending',
        report: verdict.followUp,
        followUp: true,
      };
      return [next, [aside, { do: 'write-report', report: verdict.followUp }]];
    }
  }
}
