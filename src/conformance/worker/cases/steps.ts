/** What many cases do. */
import {
  canonical,
  type Fcp,
  type LoggedRequest,
  type Offer,
  type Report,
  type TaskHandle,
  type UntilOptions,
} from '../../../fcp/fcp.ts';
import { Broken } from '../../case.ts';
import { expect, same, shown } from '../../check.ts';

/** Long enough to see a worker do again what it must not; its quickest retries come within a second. */
export const QUIET_MS = 2_000;

export const echo = (input: unknown = null, more: Partial<Offer> = {}): Offer => ({
  type: 'conformance/echo',
  input,
  ...more,
});
export const sleep = (ms: number, more: Partial<Offer> = {}): Offer => ({
  type: 'conformance/sleep',
  input: { ms },
  ...more,
});
export const fail = (code = 'NO_INK', more: Partial<Offer> = {}): Offer => ({
  type: 'conformance/fail',
  input: { code, message: 'The printer has no ink.', retryable: true },
  ...more,
});
export const effect = (line: string, ms = 0, more: Partial<Offer> = {}): Offer => ({
  type: 'conformance/effect',
  input: { line, ms },
  ...more,
});
export const gated = (
  line: string,
  times: { beforeMs?: number; ms?: number } = {},
  more: Partial<Offer> = {},
): Offer => ({ type: 'conformance/gated', input: { line, ...times }, ...more });

/** Runs for so long and says so on the way: an accepted `progress` shows that its handler has begun. */
export const busyFor = (ms: number): Offer => ({
  type: 'conformance/progress',
  input: { steps: Math.ceil(ms / STEP_MS), everyMs: STEP_MS },
});
const STEP_MS = 200;

/** Requests that carry this report of this task. */
export function about(task: TaskHandle, op: string): (request: LoggedRequest) => boolean {
  return (request) => request.reports.some((one) => one.op === op && of(task, one));
}

/** This report of this task. */
export function reportOf(task: TaskHandle, op: string): (report: Report) => boolean {
  return (report) => report.op === op && of(task, report);
}

function of(task: TaskHandle, { attemptId }: Report): boolean {
  return task.attemptIds.includes(attemptId);
}

/** Waits until this report of the task has come so often; another outcome that ends it ends the wait. */
export async function came(
  fcp: Fcp,
  task: TaskHandle,
  op: string,
  times = 1,
  options: UntilOptions = {},
): Promise<Report[]> {
  const name = `${op} of ${taskWords(task)}`;
  const what = () =>
    times === 1
      ? `${name}; ${sentWords(task)}`
      : `${name} ${times} times: no answer before was one to it, so the worker owed it again; ${sentWords(task)}`;
  return fcp.until(
    () => {
      const reports = task.reports(op);
      if (reports.length >= times) return reports;
      const other = task.latest?.outcome;
      if (other && other.op !== op)
        throw new Broken(
          `The worker reported ${other.op} ${shown(outcomeOf(other))} where ${name} was expected.`,
        );
      return undefined;
    },
    { what, ...options },
  );
}

/** `the task conformance/echo with the input {"n":1}`. */
export function taskWords({ task: { offer } }: TaskHandle): string {
  const input = offer.input === undefined ? '' : ` with the input ${shown(offer.input)}`;
  return `the task ${offer.type}${input}`;
}

/** `of it came: start (#4, 200), complete (#7, no answer)`. */
export function sentWords(task: TaskHandle): string {
  if (task.attempts.length === 0) return 'no claim ever asked for it';
  const all = task.reports().filter(({ op }) => op !== 'renew');
  if (all.length === 0) return 'it was claimed, but nothing was reported of it';
  const told = all.slice(-SENT_TOLD).map(({ op, request }) => {
    return `${op} (#${request.n}, ${request.answered?.status ?? 'no answer'})`;
  });
  return `of it came: ${all.length > told.length ? '…, ' : ''}${told.join(', ')}`;
}
const SENT_TOLD = 6;

/** What a report says beside the four fields that each has. */
function outcomeOf({ body }: Report): unknown {
  const { taskId, attemptId, fence, leaseToken, sessionId, ...says } = body;
  return says;
}

/** All of them say the same, word for word: fields in any order. */
export function sameBody(reports: readonly Report[]): void {
  const [first, ...others] = reports.map(canonical);
  for (const other of others) {
    if (other === first) continue;
    throw new Broken(
      `A report came again with another body (it has to be the same, byte for byte or field for field): first ${tokenless(first)}, then ${tokenless(other)}.`,
    );
  }
}

function tokenless(text = ''): string {
  return text.replace(/("leaseToken":")[^"]*/g, '$1…');
}

/** The task was run once, in one attempt, and its report never changed. */
export function oneAttempt(task: TaskHandle, op = 'complete'): void {
  const count = task.attempts.length;
  expect(count === 1, `${taskWords(task)} took ${count} attempts; expected is one.`);
  sameBody(task.reports(op));
}

/** Waits for its end: its result, delivered in one attempt with one body. */
export async function completed(task: TaskHandle): Promise<Report> {
  const report = await task.ended();
  same(report.op, 'complete', `the report that ended ${taskWords(task)}`);
  oneAttempt(task);
  return report;
}

/** Nothing of this op comes for the task for a while. */
export function silence(fcp: Fcp, task: TaskHandle, op: string, ms = QUIET_MS): Promise<void> {
  return fcp.quiet(about(task, op), ms);
}
