import {
  type Answer,
  type AttemptNow,
  type AttemptThen,
  afterLoss,
  type End,
  endAttempt,
  pastGate,
  type ReportAsked,
  type TaskNow,
  type TaskOp,
} from './task-state.ts';

/** Reports on an attempt, in the order that 1.10 gives: identity, replay, the current one, one that is over. */
export function applyReport(task: TaskNow, op: TaskOp, asked: ReportAsked): readonly TaskNow[] {
  const { answer } = op;
  const after = (verdict: string, next: TaskNow = task) =>
    answer === undefined || sameVerdict(asked, answer.verdict, verdict) ? [next] : [];
  const current = task.current?.id === asked.attemptId ? task.current : undefined;
  const then = task.ended.find(({ id }) => id === asked.attemptId);
  // Nobody can report an attempt before it was given.
  if (!current && !then) return [];
  if (!asked.identity) return after('409 STALE_ATTEMPT');
  if (then?.body === asked.body) return after('200 replayed');
  if (then?.late === asked.body) return after('409 STALE_ATTEMPT recorded replayed');
  if (then) return over(task, then, asked, after);
  return running(task, current as AttemptNow, asked, answer, op.returnMs, after);
}

type After = (verdict: string, next?: TaskNow) => readonly TaskNow[];

/** A `progress` or `log` that is old may or may not be called a replay; nothing else may. */
function sameVerdict({ op }: ReportAsked, actual: string, expected: string): boolean {
  const free = op === 'progress' || op === 'log';
  return (free ? actual.replace(/^200 replayed$/, '200') : actual) === expected;
}

function over(
  task: TaskNow,
  then: AttemptThen,
  { op, body }: ReportAsked,
  after: After,
): readonly TaskNow[] {
  const latest = then.fence === task.fence && task.current === undefined;
  const open = then.lost && latest && then.fence > task.operatorFence && then.late === undefined;
  if (open && ['complete', 'fail', 'unknown'].includes(op))
    return after('409 STALE_ATTEMPT recorded', {
      ...task,
      ended: task.ended.map((one) => (one === then ? { ...one, late: body, lateOp: op } : one)),
      journal: [...task.journal, `late-report ${then.id}`],
    });
  if (open) return after('409 LEASE_EXPIRED');
  const said = !then.lost || then.late !== undefined;
  return after(op === 'renew' && said ? '409 LEASE_EXPIRED' : '409 STALE_ATTEMPT');
}

function running(
  task: TaskNow,
  current: AttemptNow,
  asked: ReportAsked,
  answer: Answer | undefined,
  returnMs: number,
  after: After,
): readonly TaskNow[] {
  const { op } = asked;
  if (op === 'cancelled' && !task.cancel) return after('409 NOT_CANCELLING');
  if (op === 'release' && pastGate(current)) return after('409 NOT_RELEASABLE');
  const end = endOf(asked, current);
  if (end) return after('200', endAttempt(task, end));
  if (answer?.cancelRequested !== undefined && answer.cancelRequested !== task.cancel) return [];
  const isStart = op === 'start' && current.gate === 'start';
  const gate = op === 'effect' || (isStart && current.safety === 'non-idempotent');
  const renewed = { ...current, leaseEndMs: task.nowMs + current.leaseMs };
  const known = op === 'start' ? current.startAccepted : current.effectAccepted;
  const found: TaskNow[] = [];
  // The lease ran out and nobody has ended the attempt yet: no gate opens (1.29).
  if (gate && current.leaseEndMs <= returnMs)
    if (answer === undefined || answer.verdict === '409 LEASE_EXPIRED')
      found.push({ ...task, nowMs: Math.max(task.nowMs, current.leaseEndMs) });
  if (op === 'start' || op === 'effect')
    found.push(
      ...after(known ? '200 replayed' : '200', {
        ...counted(task, current),
        current: {
          ...renewed,
          counted: true,
          startAccepted: true,
          effectAccepted: current.effectAccepted || op === 'effect',
        },
      }),
    );
  else if (op === 'renew') found.push(...after('200', { ...task, current: renewed }));
  else
    found.push(
      ...after('200', { ...counted(task, current), current: { ...renewed, counted: true } }),
    );
  return found;
}

const counted = (task: TaskNow, { counted: already }: AttemptNow): TaskNow =>
  already ? task : { ...task, attempts: task.attempts + 1 };

/** The row of the table, and how the attempt counts (4.28, 4.29). */
function endOf(asked: ReportAsked, current: AttemptNow): End | undefined {
  const { body } = asked;
  const outcome = { counts: true, undelivered: false, body };
  switch (asked.op) {
    case 'complete':
      return { ...outcome, kind: 'succeeded', status: both('succeeded') };
    case 'fail': {
      const status = asked.retryable ? { left: 'again', right: 'failed' } : both('failed');
      return { ...outcome, kind: 'failed', status };
    }
    case 'unknown':
      return { ...outcome, kind: 'unknown', status: both('outcome-unknown') };
    case 'cancelled': {
      const status = { left: 'cancelled', right: 'outcome-unknown' };
      return { kind: 'cancelled', status, counts: false, undelivered: false, body };
    }
    case 'lost': {
      const counts = asked.begun === true;
      const undelivered = asked.reason === 'drain' || (!counts && !current.counted);
      return { kind: 'lost', status: afterLoss, counts, undelivered, body };
    }
    case 'release': {
      const status = { left: 'again', right: 'again' };
      return { kind: 'released', status, counts: false, undelivered: true, body };
    }
    default:
      return undefined;
  }
}

const both = (status: string) => ({ left: status, right: status });
