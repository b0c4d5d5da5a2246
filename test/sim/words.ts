import { noFaults } from '../../sim/faults.ts';
import { History, type HttpCall, type JobRun, type ProcessLife } from '../../sim/history.ts';
import type { Finished, JournalEvent, TaskAtEnd, WorldPlan } from '../../sim/simulation.ts';

/** Histories by hand, for checkers: a world in which nothing happened, and words for what did. */
export function finished(more: Partial<Finished> = {}): Finished {
  const plan: WorldPlan = {
    workers: [{ maxConcurrent: 1, latencyMs: 1, handlers: [] }],
    tasks: [],
    durationMs: 1,
    drainTimeoutMs: 10_000,
    stopGraceMs: 1_000,
  };
  return {
    history: new History(),
    plan,
    rates: noFaults,
    struck: new Map(),
    tasks: [],
    nodes: [],
    logs: [],
    settled: true,
    unsettled: '',
    calmAt: 0,
    left: { planeTimers: 0, streams: 0 },
    ...more,
  };
}

export function job(more: Partial<JobRun> = {}): JobRun {
  return {
    taskId: 'tsk_1',
    attemptId: 'att_1',
    type: 'sim/once',
    effectSafety: 'non-idempotent',
    effectGate: 'start',
    session: 'ses_1',
    workerId: 'worker-1',
    machine: 'w1',
    startedAt: 1_000,
    ...more,
  };
}

export function process(more: Partial<ProcessLife> = {}): ProcessLife {
  return {
    name: 'w1#1',
    machine: 'w1',
    workerId: 'worker-1',
    session: 'ses_1',
    maxConcurrent: 1,
    drainTimeoutMs: 10_000,
    startedAt: 0,
    ...more,
  };
}

export function call(path: string, more: Partial<HttpCall> = {}): HttpCall {
  return {
    n: 0,
    by: 'w1#1',
    session: 'ses_1',
    method: 'POST',
    path,
    body: {},
    sentAt: 0,
    arrivals: [],
    ...more,
  };
}

/** A report on `att_1`, answered at once. */
export function report(op: string, at: number, more: Partial<HttpCall> = {}): HttpCall {
  const answer = { accepted: true, attemptId: 'att_1', fence: 1, op };
  return call(`/attempts/att_1/${op}`, {
    body: { op, attemptId: 'att_1' },
    sentAt: at,
    arrivals: [{ at, status: 200, answer }],
    deliveredAt: at,
    ...more,
  });
}

/** A claim that brought `att_1`. */
export function claim(at: number, leaseMs: number): HttpCall {
  return call('/claims', {
    body: { sessionId: 'ses_1' },
    sentAt: at,
    arrivals: [{ at, status: 200, answer: { attempts: [{ attemptId: 'att_1', leaseMs }] } }],
    deliveredAt: at,
  });
}

type Entry = Partial<Omit<JournalEvent, 'seq' | 'kind' | 'data'>> & {
  readonly seq?: number;
  readonly data?: Record<string, unknown>;
};

/** A journal, entry by entry; those of an attempt are of `att_1`, fence 1, unless they say otherwise. */
export function journal(
  ...entries: readonly (readonly [kind: string, entry?: Entry])[]
): JournalEvent[] {
  return entries.map(([kind, entry = {}], i) => ({
    seq: i + 1,
    at: new Date(0).toISOString(),
    by: 'worker:worker-1',
    kind,
    ...(NO_ATTEMPT.has(kind) ? {} : { attemptId: 'att_1', fence: 1 }),
    ...entry,
    data: entry.data ?? {},
  }));
}

const NO_ATTEMPT = new Set(['submitted', 'retried', 'resolved', 'cancel-requested', 'expired']);

export const leased: [string, Entry] = [
  'leased',
  { data: { effectSafety: 'non-idempotent', effectGate: 'start', leaseMs: 5_000 } },
];

export function task(events: JournalEvent[], view: Record<string, unknown> = {}): TaskAtEnd {
  return {
    events,
    view: {
      id: 'tsk_1',
      type: 'sim/once',
      status: 'queued',
      attempts: 0,
      undelivered: 0,
      seq: events.length,
      policy: { maxAttempts: 3, lostGraceMs: 10_000 },
      ...view,
    },
  };
}
