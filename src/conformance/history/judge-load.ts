import type { Clock } from '../../ports/clock.ts';
import { Broken } from '../case.ts';
import { shown } from '../check.ts';
import { judge, type Search, shortestImpossible } from './linearizability.ts';
import type { TaskRecord } from './record.ts';
import { type TaskSpecOptions, taskSpec } from './task-spec.ts';
import type { TaskOp } from './task-state.ts';

export interface JudgeOptions extends Pick<TaskSpecOptions, 'maxAttempts' | 'lostGraceMs'> {
  readonly clock: Clock;
  /** Ends the work: `judgeLoad` rejects. */
  readonly signal: AbortSignal;
}

/** How much was judged; a history that is beyond the search is neither right nor wrong. */
export interface Judged {
  readonly tasks: number;
  readonly calls: number;
  readonly undecided: number;
  /** Calls that were answered, by what was asked (`submit`, `claim`, `report` …). */
  readonly answered: Readonly<Record<string, number>>;
}

/** @throws Broken for the first task whose calls have no order that the contract allows, with the shortest proof. */
export async function judgeLoad(
  records: readonly TaskRecord[],
  { clock, signal, ...options }: JudgeOptions,
): Promise<Judged> {
  const judged = { tasks: 0, calls: 0, undecided: 0 };
  const answered: Record<string, number> = {};
  const allByMs = clock.now() + ALL_MS;
  for (const { taskId, ops, journal, upTo } of records) {
    const told = ops.filter(({ answer }) => answer !== undefined);
    if (told.length === 0) continue;
    for (const { asked } of told) answered[asked.what] = (answered[asked.what] ?? 0) + 1;
    judged.tasks++;
    judged.calls += ops.length;
    const byMs = Math.min(clock.now() + TASK_MS, allByMs);
    const giveWay = async () => {
      if (!(await clock.sleep(0, signal))) throw new Error('The case is over.');
      return clock.now() < byMs;
    };
    const search: Search = { giveWay };
    const specification = taskSpec({
      ...options,
      once: onceOf(ops),
      ...(journal && upTo && { journal, upTo }),
    });
    const says = (await giveWay()) ? (await judge(ops, specification, search)).says : 'undecided';
    if (says === 'undecided') judged.undecided++;
    if (says !== 'impossible') continue;
    // The proof may take as long again.
    const whole = { giveWay: async () => (await giveWay()) || clock.now() < byMs + TASK_MS };
    const shortest = await shortestImpossible(ops, specification, whole);
    const proof = await judge(shortest, specification, whole);
    const order = proof.says === 'impossible' ? proof.order : [];
    const stuck = proof.says === 'impossible' ? proof.stuck : shortest;
    const zeroMs = Math.min(...ops.map(({ callMs }) => callMs));
    throw new Broken(
      [
        `The calls about ${taskId === undefined ? 'a task that was never made' : `task ${taskId}`} have no order that the contract allows. These ${order.length} have one:`,
        ...order.map((op) => `  ${callInWords(op, zeroMs)}`),
        'and none of these can be next:',
        ...stuck.map((op) => `  ${callInWords(op, zeroMs)}`),
        `The journal at the end: ${journal?.join(', ') || 'empty'}.`,
      ].join('\n'),
    );
  }
  return { ...judged, answered };
}

/** What a load has to have judged to say anything: tasks, and answered calls by what they asked. */
export interface Least {
  readonly tasks: number;
  readonly answered: Readonly<Record<string, number>>;
}

/** @throws Broken where too little was answered, or too much of it is beyond the search. */
export function enough({ tasks, undecided, answered }: Judged, least: Least): void {
  const few = Object.entries({ ...least.answered, tasks: least.tasks }).filter(
    ([what, count]) => count > (what === 'tasks' ? tasks : (answered[what] ?? 0)),
  );
  const words = few.map(([what, count]) =>
    what === 'tasks'
      ? `${tasks} tasks (at least ${count})`
      : `${answered[what] ?? 0} answered calls of the kind ${what} (at least ${count})`,
  );
  if (few.length > 0) throw new Broken(`could not be judged: there are ${words.join(', ')}.`);
  if (undecided > tasks * UNDECIDED_SHARE)
    throw new Broken(
      `could not be judged: the histories of ${undecided} of ${tasks} tasks are beyond the search; too many of their calls got no answer.`,
    );
}

/** Requests and actions that one call alone names, or that nobody heard an answer to. */
function onceOf(ops: readonly TaskOp[]): ReadonlySet<string> {
  const [named, told] = [new Map<string, number>(), new Set<string>()];
  for (const { asked, answer } of ops) {
    const name = asked.what === 'claim' ? asked.request : 'action' in asked ? asked.action : '';
    named.set(name, (named.get(name) ?? 0) + 1);
    if (answer !== undefined) told.add(name);
  }
  return new Set([...named].flatMap(([name, n]) => (n === 1 || !told.has(name) ? [name] : [])));
}

/** For the history of one task, and for all of them. */
const TASK_MS = 5_000;
const ALL_MS = 40_000;
/** A few that are beyond the search hide nothing that the others do not show. */
const UNDECIDED_SHARE = 0.05;

/** `12–15 ms: complete att_1 → 200`. */
function callInWords({ asked, answer, callMs, returnMs }: TaskOp, zeroMs = 0): string {
  const from = Math.round(callMs - zeroMs);
  const to = Number.isFinite(returnMs) ? `${Math.round(returnMs - zeroMs)}` : '';
  const what =
    asked.what === 'report'
      ? `${asked.op} of ${asked.attemptId}${asked.identity ? '' : ' with a wrong fence'} (${asked.body})`
      : asked.what === 'claim'
        ? `claim ${asked.request} of ${asked.worker}`
        : asked.what === 'resolve'
          ? `resolve as ${asked.resolution}`
          : asked.what;
  if (answer === undefined) return `${from}– ms: ${what} → no answer`;
  const { verdict, attempt, view, journal, cancelRequested } = answer;
  const more = view ?? attempt ?? journal ?? (cancelRequested ? { cancelRequested } : undefined);
  return `${from}–${to} ms: ${what} → ${verdict}${more === undefined ? '' : ` ${shown(more)}`}`;
}
