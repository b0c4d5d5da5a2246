import type { Specification } from './linearizability.ts';
import { StateKeys } from './state-keys.ts';
import { applyReport } from './task-reports.ts';
import {
  type Answer,
  type Asked,
  afterLoss,
  endAttempt,
  pastGate,
  type TaskNow,
  type TaskOp,
  type View,
} from './task-state.ts';

/**
 * One task as sections 1 to 4 and 6 of the contract tell it, call by call: written from the text alone, nothing of it comes
 * from the code of our control plane. Time is known only by its bounds: a lease that an accepted call gave cannot be over
 * before the sending of that call plus its length.
 */

export interface TaskSpecOptions {
  readonly maxAttempts: number;
  readonly lostGraceMs: number;
  /** The journal as it was read at the end, where it was: what does not agree with it is not walked. */
  readonly journal?: readonly string[];
  /** For each `seq` from 0 to the last entry's: how many of `journal` are up to it. */
  readonly upTo?: readonly number[];
  /** Requests and actions that nothing answered can tell from others: one call each, or no answer at all. */
  readonly once?: ReadonlySet<string>;
}

export function taskSpec(options: TaskSpecOptions): Specification<TaskNow, Asked, Answer> {
  const keys = new StateKeys();
  const { journal, once } = options;
  const agrees = (task: TaskNow) =>
    journal === undefined ||
    (task.journal.length <= journal.length &&
      task.journal.every((entry, i) => entry === journal[i]));
  return {
    initial: {
      taskId: undefined,
      status: 'absent',
      fence: 0,
      attempts: 0,
      undelivered: 0,
      permitted: options.maxAttempts,
      cancel: false,
      current: undefined,
      ended: [],
      operatorFence: 0,
      actions: [],
      claims: [],
      result: undefined,
      seq: 0,
      journal: [],
      nowMs: Number.NEGATIVE_INFINITY,
    },
    next(before, op) {
      const found: TaskNow[] = [];
      for (const task of [before, ...leaseOver(before, options)]) {
        const nowMs = Math.max(task.nowMs, op.callMs);
        // It was answered before this could have been.
        if (task.nowMs > op.returnMs) continue;
        const after = apply({ ...task, nowMs }, op, options).filter(agrees);
        // What nobody heard of and only prolonged a lease forbids more than if it had never come.
        found.push(...(op.answer ? after : after.filter((one) => !keys.isSameButLater(task, one))));
      }
      return found;
    },
    key: (task) => keys.of(task),
    alike: ({ asked }) => {
      const name = asked.what === 'claim' ? asked.request : 'action' in asked ? asked.action : '';
      const plain = once?.has(name)
        ? { ...asked, worker: '', request: '', action: '', ifSeq: 0 }
        : asked;
      return JSON.stringify(plain);
    },
  };
}

/** Inside the control plane: the lease of the current attempt is over and it is ended as lost. */
function leaseOver(task: TaskNow, { lostGraceMs }: TaskSpecOptions): TaskNow[] {
  const { current } = task;
  if (!current) return [];
  const last = current.counted && task.attempts >= task.permitted && !task.cancel;
  const dueMs = current.leaseEndMs + (pastGate(current) || last ? lostGraceMs : 0);
  const end = { kind: 'lost', status: afterLoss, counts: false, undelivered: !current.counted };
  return [endAttempt({ ...task, nowMs: Math.max(task.nowMs, dueMs) }, end)];
}

function apply(task: TaskNow, op: TaskOp, options: TaskSpecOptions): readonly TaskNow[] {
  const { asked, answer } = op;
  const fits = (verdict: string) => answer === undefined || answer.verdict === verdict;
  switch (asked.what) {
    case 'submit': {
      if (task.status === 'absent')
        return fits('201') ? [{ ...task, status: 'queued', taskId: answer?.taskId }] : [];
      const same = answer?.taskId === undefined || (task.taskId ?? answer.taskId) === answer.taskId;
      return fits('200 replayed') && same
        ? [{ ...task, taskId: task.taskId ?? answer?.taskId }]
        : [];
    }
    case 'claim':
      return claim(task, op, asked, options);
    case 'report':
      return applyReport(task, op, asked);
    case 'cancel':
      if (task.status === 'absent') return [];
      if (task.status === 'queued')
        return fits('200') ? [{ ...task, status: 'cancelled', cancel: true }] : [];
      if (task.status === 'running') return fits('200') ? [{ ...task, cancel: true }] : [];
      return fits('409 TASK_TERMINAL') ? [task] : [];
    case 'retry':
    case 'resolve':
      return operator(task, asked, answer, options);
    case 'read':
      return answer?.view === undefined || shows(task, answer.view, options)
        ? [{ ...task, seq: Math.max(task.seq, answer?.view?.seq ?? 0) }]
        : [];
    case 'journal':
      return JSON.stringify(answer?.journal ?? task.journal) === JSON.stringify(task.journal)
        ? [task]
        : [];
  }
}

function shows(task: TaskNow, view: View, options: TaskSpecOptions): boolean {
  return (
    maybeAt(task, view.seq, options) &&
    view.status === task.status &&
    view.attempts === task.attempts &&
    view.undelivered === task.undelivered &&
    view.seq >= task.seq &&
    // Only what has succeeded has a result, and that is given back as it was (6.20).
    view.result === (task.status === 'succeeded' ? task.result : undefined)
  );
}

/** The task may have had this `seq`: an entry has it, and those of attempts up to it are the ones that there are. */
function maybeAt({ journal }: TaskNow, seq: number, { upTo }: TaskSpecOptions): boolean {
  return upTo === undefined || upTo[seq] === journal.length;
}

/** A claim gives this task or does not; the same request again gets its attempt as long as that lives (2.12, 2.13). */
function claim(
  task: TaskNow,
  op: TaskOp,
  asked: Extract<Asked, { what: 'claim' }>,
  { journal, once }: TaskSpecOptions,
): readonly TaskNow[] {
  const { answer } = op;
  // One that never comes again need not be told from others of its kind.
  const { worker, request } = once?.has(asked.request) ? { worker: '', request: '' } : asked;
  const name = `${worker} ${request}`;
  const { current } = task;
  const mine = (attempt: { request: string; worker: string }) =>
    request !== '' && attempt.request === request && attempt.worker === worker;
  const leaseEndMs = task.nowMs + asked.leaseMs;
  if (current && mine(current)) {
    if (answer !== undefined && answer.attempt?.id !== current.id) return [];
    if (answer?.cancelRequested !== undefined && answer.cancelRequested !== task.cancel) return [];
    return [{ ...task, current: { ...current, leaseEndMs } }];
  }
  if (answer !== undefined && answer.attempt === undefined)
    return asked.atRest && task.status === 'queued' ? [] : [task];
  // It had its attempt of this task, which is over: never new work (2.13).
  if (task.claims.includes(name)) return [];
  if (task.status !== 'queued' || (answer?.cancelRequested ?? false)) return [];
  const fence = task.fence + 1;
  // Nobody was told which it is: the journal knows.
  const id = answer?.attempt?.id ?? journal?.[task.journal.length]?.replace(/^leased /, '');
  if (id === undefined || task.ended.some((one) => one.id === id)) return [];
  if (answer?.attempt && answer.attempt.fence !== fence) return [];
  if (answer?.attempt && answer.attempt.number !== task.attempts + 1) return [];
  const { safety, gate, leaseMs } = asked;
  const fresh = { counted: false, startAccepted: false, effectAccepted: false };
  return [
    {
      ...task,
      status: 'running',
      fence,
      claims: request === '' ? task.claims : [...task.claims, name],
      current: { id, worker, request, safety, gate, leaseMs, leaseEndMs, ...fresh },
      journal: [...task.journal, `leased ${id}`],
    },
  ];
}

type OperatorAsked = Extract<Asked, { what: 'retry' | 'resolve' }>;

/** Retry and resolve. A refusal is wrong only where the task can have had no other `seq` than the one that was named. */
function operator(
  task: TaskNow,
  asked: OperatorAsked,
  answer: Answer | undefined,
  options: TaskSpecOptions,
): readonly TaskNow[] {
  if (task.actions.includes(asked.action)) return answer?.verdict === '409 CONFLICT' ? [] : [task];
  const done = decided(task, asked, options);
  const { ifSeq } = asked;
  if (answer?.verdict === '409 CONFLICT') {
    const all = options.upTo?.keys() ?? [];
    const maybe = [...all].filter((seq) => seq >= task.seq && maybeAt(task, seq, options));
    const right = ifSeq !== undefined && maybe.length === 1 && maybe[0] === ifSeq;
    return right && done.length > 0 ? [] : [task];
  }
  if (answer !== undefined && answer.verdict !== '200') return [];
  return ifSeq === undefined || maybeAt(task, ifSeq, options) ? done : [];
}

function decided(
  task: TaskNow,
  asked: OperatorAsked,
  { once }: TaskSpecOptions,
): readonly TaskNow[] {
  const acted = {
    ...task,
    actions: once?.has(asked.action) ? task.actions : [...task.actions, asked.action],
    cancel: false,
    operatorFence: task.fence,
  };
  const again = { ...acted, status: 'queued', undelivered: 0, permitted: task.permitted + 1 };
  const late = task.ended.at(-1)?.lateOp;
  if (asked.what === 'retry')
    return ['failed', 'expired', 'cancelled'].includes(task.status) ? [again] : [];
  if (asked.resolution === 'late-report') {
    const open = ['outcome-unknown', 'failed', 'queued', 'expired'].includes(task.status);
    if (!open || late === undefined || task.fence <= task.operatorFence) return [];
    const status = { complete: 'succeeded', fail: 'failed' }[late] ?? 'outcome-unknown';
    return [{ ...acted, status, result: task.ended.at(-1)?.late }];
  }
  if (task.status !== 'outcome-unknown') return [];
  if (asked.resolution === 'retry') return [again];
  const result = asked.resolution === 'succeeded' ? asked.result : undefined;
  return [{ ...acted, status: asked.resolution, result }];
}
