import { cutText } from '../contract/errors.ts';
import type { EventKind, TaskErrorView, TaskStatus } from '../contract/index.ts';
import { backoffMs } from './backoff.ts';
import { taskDefaults } from './defaults.ts';
import { consequence, effectMayBe, gatePassed, type Happened } from './effect-safety.ts';
import { EFFECT_MAY_BE } from './failures.ts';
import { boundedProgress } from './lost-evidence.ts';
import {
  type AttemptPhase,
  type AttemptState,
  deadlinePassed,
  type NewEvent,
  type TaskState,
} from './task.ts';

/** How an attempt ended, as its report (or the sweeper) tells it. */
export interface Ending {
  readonly happened: Happened;
  readonly state: AttemptPhase;
  readonly kind: EventKind;
  readonly by: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** `counts`: an outcome, or lost after it began · `undelivered`: for drain, released · `as-recorded`: counts if anything counted before. */
  readonly counting: 'counts' | 'undelivered' | 'as-recorded';
  readonly resultJson?: string;
  readonly error?: TaskErrorView;
  readonly retryAfterMs?: number;
  /** A release for drain is queued again at once. */
  readonly atOnce?: boolean;
  readonly report?: { readonly op: string; readonly hash: string };
  /** The handler was never called (`effect-safety`): as before its gate, wherever the attempt was. */
  readonly notCalled?: boolean;
  /** In [0, 1), for the jitter of the delay. */
  readonly chance: number;
}

export interface Ended {
  readonly task: TaskState;
  readonly attempt: AttemptState;
  readonly events: readonly NewEvent[];
}

/** Ends the current attempt: counts it, then does what the effect-safety table says. */
export function endAttempt(
  nowMs: number,
  before: TaskState,
  attempt: AttemptState,
  told: Ending,
): Ended {
  const ending = told.state === 'lost' ? withProgress(before, told) : told;
  const counted = count(before, attempt, ending);
  const past = gatePassed(attempt) && ending.notCalled !== true;
  const what = consequence(ending.happened, past);
  const lost = ending.state === 'lost';
  const next = decide(nowMs, counted.task, counted.undelivered, what, ending);
  const earlier = effectMayBe(before.error);
  const kept = earlier && next.status !== 'succeeded' ? before.error : undefined;
  const error = next.error
    ? { ...next.error, ...(past || earlier ? { effect: 'begun' } : {}), attempt: attempt.number }
    : kept;
  const terminal = next.status !== 'queued';
  const task: TaskState = {
    ...counted.task,
    status: next.status,
    losses: before.losses + (lost ? 1 : 0),
    error,
    resultJson: next.status === 'succeeded' ? ending.resultJson : undefined,
    finishedAtMs: terminal ? nowMs : undefined,
    queuedAtMs: terminal ? before.queuedAtMs : nowMs,
    availableAtMs: terminal ? before.availableAtMs : nowMs + delay(before, counted.task, ending),
  };
  const identity = { attemptId: attempt.id, fence: attempt.fence, by: ending.by };
  const events: NewEvent[] = [
    {
      ...identity,
      kind: ending.kind,
      data: { ...ending.data, status: task.status, ...(past ? { gatePassed: true } : {}) },
    },
  ];
  if (next.status === 'queued')
    events.push({
      ...identity,
      kind: 'requeued',
      data: { availableAt: new Date(task.availableAtMs).toISOString() },
    });
  else if (next.status === 'expired')
    events.push({ ...identity, kind: 'expired', data: { code: error?.code, status: 'expired' } });
  else if (next.status === 'cancelled' && ending.kind !== 'cancelled')
    events.push({ ...identity, kind: 'cancelled', data: { status: 'cancelled' } });
  return {
    task,
    attempt: {
      ...attempt,
      state: ending.state,
      countedAtMs: counted.undelivered
        ? undefined
        : (attempt.countedAtMs ?? (ending.counting === 'counts' ? nowMs : undefined)),
      endedAtMs: nowMs,
      end: ending.report,
    },
    events,
  };
}

/** What the handler said last is evidence, whoever tells that it is lost; the later word of worker and our own record. */
function withProgress({ progress }: TaskState, ending: Ending): Ending {
  if (progress === undefined) return ending;
  const { atMs, ...said } = progress;
  const given = details(ending);
  const theirs = given.lastProgress as { at?: unknown } | undefined;
  if (typeof theirs?.at === 'string' && Date.parse(theirs.at) >= atMs) return ending;
  const lastProgress = boundedProgress({ ...said, at: new Date(atMs).toISOString() });
  const all = (ending.data.details ?? {}) as Record<string, unknown>;
  return { ...ending, data: { ...ending.data, details: { ...all, lastProgress } } };
}

/** An attempt counts once, from its first report that counts; one that was not delivered counts as that instead. */
function count(
  task: TaskState,
  attempt: AttemptState,
  ending: Ending,
): { task: TaskState; undelivered: boolean } {
  const already = attempt.countedAtMs !== undefined;
  const undelivered =
    ending.counting === 'undelivered' ||
    (ending.counting === 'as-recorded' && !already && ending.state === 'lost');
  if (undelivered) {
    return {
      task: {
        ...task,
        attempts: task.attempts - (already ? 1 : 0),
        undelivered: task.undelivered + 1,
      },
      undelivered,
    };
  }
  const add = !already && ending.counting === 'counts' ? 1 : 0;
  return { task: { ...task, attempts: task.attempts + add }, undelivered };
}

type Next = {
  readonly status: TaskStatus;
  readonly error?: TaskErrorView | undefined;
};

function decide(
  nowMs: number,
  task: TaskState,
  undelivered: boolean,
  what: ReturnType<typeof consequence>,
  ending: Ending,
): Next {
  switch (what) {
    case 'succeeded':
      return { status: 'succeeded' };
    case 'failed':
      return { status: 'failed', error: ending.error };
    case 'outcome-unknown':
      return { status: 'outcome-unknown', error: ending.error ?? unknownOutcome(ending) };
    case 'cancelled':
      return task.cancelRequested
        ? { status: 'cancelled' }
        : { status: 'expired', error: deadlineError(task) };
    case 'again':
    case 'again-undelivered':
      return again(nowMs, task, undelivered, ending);
    default:
      throw new Error(
        `endAttempt: '${what}' must be refused before the attempt is ended (task ${task.id})`,
      );
  }
}

function again(nowMs: number, task: TaskState, undelivered: boolean, ending: Ending): Next {
  if (task.cancelRequested) return { status: 'cancelled' };
  if (undelivered && task.undelivered >= taskDefaults.undeliveredMax) {
    return {
      status: 'failed',
      error: {
        code: 'UNDELIVERABLE',
        message: `Workers took the task ${task.undelivered} times and gave it back, lost it before it began, or stopped it to drain; the last time: ${reasonOf(ending)}.`,
        retryable: false,
        details: { ...details(ending), reason: reasonOf(ending) },
      },
    };
  }
  if (task.attempts >= task.permitted) {
    return {
      status: 'failed',
      error: ending.error ?? {
        code: 'ATTEMPTS_EXHAUSTED',
        message: `${task.permitted === 1 ? 'The one permitted attempt was' : `All ${task.permitted} permitted attempts were used; the last was`} lost: ${reasonOf(ending)}.${saidOf(ending)}`,
        retryable: false,
        details: { ...details(ending), reason: reasonOf(ending) },
      },
    };
  }
  if (deadlinePassed(nowMs, task)) return { status: 'expired', error: deadlineError(task) };
  return { status: 'queued', error: ending.error };
}

export function deadlineError(task: TaskState): TaskErrorView {
  return {
    code: 'DEADLINE_PASSED',
    message: `The deadline ${task.policy.deadlineAt} passed before the task was done.`,
    retryable: false,
  };
}

function unknownOutcome(ending: Ending): TaskErrorView {
  const how =
    ending.happened === 'obeyed'
      ? 'the handler was stopped'
      : `there was no word from the handler (${reasonOf(ending)})`;
  return {
    code: 'OUTCOME_UNKNOWN',
    message: `${EFFECT_MAY_BE}: ${how} after the attempt had passed its gate.${saidOf(ending)} Look at the outside world, then resolve the task.`,
    retryable: false,
    details: { ...details(ending), reason: reasonOf(ending) },
  };
}

/** The evidence that came with a `lost`: exit code, signal, out of memory. */
function details(ending: Ending): Record<string, unknown> {
  const given = ending.data.details;
  return {
    ...(given !== null && typeof given === 'object' ? (given as Record<string, unknown>) : {}),
    ...(ending.data.killed === true ? { killed: true } : {}),
  };
}

/** The sentence that came with it. */
function saidOf({ data }: Ending): string {
  return typeof data.message === 'string' ? ` ${cutText(data.message, SAID_CHARS)}` : '';
}

const SAID_CHARS = 1_000;

function reasonOf(ending: Ending): string {
  return typeof ending.data.reason === 'string' ? ending.data.reason : ending.kind;
}

/** The first loss and a release for drain wait for nothing; all else backs off, a handler's wish is a lower bound. */
function delay(before: TaskState, after: TaskState, ending: Ending): number {
  if (ending.atOnce || (ending.state === 'lost' && before.losses === 0)) return 0;
  const { backoff } = after.policy;
  const grown = backoffMs(backoff, after.attempts + after.undelivered, ending.chance);
  const wished = Math.min(ending.retryAfterMs ?? 0, taskDefaults.retryAfterFactor * backoff.maxMs);
  return Math.round(Math.max(grown, wished));
}
