import type { AttemptState, TaskState } from '../core/task.ts';
import { type WorkerFacts, waitingFor } from '../core/waiting-for.ts';
import type { Reads, TaskRow } from '../ports/store.ts';
import { labelsText, member, policyText, quoted, rawMember, textMember } from './json-text.ts';
import type { Services } from './services.ts';

export interface ViewParts {
  readonly input?: boolean;
  readonly result?: boolean;
}

/** The JSON text of a TaskView. Payloads are put in as they are stored. */
export async function taskViewText(
  { store, facts }: Pick<Services, 'store' | 'facts'>,
  row: TaskRow,
  parts: ViewParts,
): Promise<string> {
  return viewText(store, row, parts, await store.nowMs(), await facts.of(row.task.project));
}

/** The same within a transaction, for answers that are stored with what they tell. */
export async function viewText(
  reads: Reads,
  row: TaskRow,
  parts: ViewParts,
  nowMs: number,
  facts: readonly WorkerFacts[] | undefined,
): Promise<string> {
  const { task } = row;
  const silent = task.status === 'running' ? await reads.latestAttempt(row) : undefined;
  const result =
    parts.result && task.status === 'succeeded'
      ? (task.resultJson ?? (await reads.payload(row.ref, 'result')))
      : undefined;
  const input = parts.input
    ? (row.inputJson ?? (await reads.payload(row.ref, 'input')))
    : undefined;
  const text = plainViewText(nowMs, task, silent?.attempt, facts);
  if (result === undefined && input === undefined) return text;
  return `${text.slice(0, -1)}${rawMember('result', result)}${rawMember('input', input)}}`;
}

/**
 * Without payloads, of what is at hand.
 * @param attempt its latest one, where it runs. @param facts without them it is not told what the task waits for.
 */
export function plainViewText(
  nowMs: number,
  task: TaskState,
  attempt: AttemptState | undefined,
  facts: readonly WorkerFacts[] | undefined,
): string {
  const { progress, lateReport } = task;
  return (
    `{"id":${quoted(task.id)},"type":${quoted(task.type)},"schemaVersion":${task.schemaVersion}` +
    `,"status":"${task.status}","pool":${quoted(task.pool)},"priority":${task.priority}` +
    `,"labels":${labelsText(task.labels)},"effectKey":${quoted(task.effectKey)}` +
    textMember('idempotencyKey', task.idempotencyKey) +
    textMember('traceparent', task.traceparent) +
    `,"policy":${policyText(task.policy)},"attempts":${task.attempts}` +
    `,"undelivered":${task.undelivered},"seq":${task.seq}` +
    `,"createdAt":"${instantText(task.createdAtMs)}"` +
    textMember('notBeforeAt', instantText(task.notBeforeMs)) +
    textMember('startedAt', instantText(task.startedAtMs)) +
    textMember('finishedAt', instantText(task.finishedAtMs)) +
    textMember('worker', task.workerId) +
    (progress === undefined ? '' : member('progress', progressView(progress))) +
    (task.cancelRequested ? ',"cancelRequested":true' : '') +
    member('error', task.error) +
    (lateReport === undefined
      ? ''
      : member('lateReport', { op: lateReport.op, at: instantText(lateReport.atMs) })) +
    textMember('waitingFor', facts && waiting(nowMs, task, attempt, facts)) +
    '}'
  );
}

const progressView = ({ percent, message, atMs }: NonNullable<TaskState['progress']>) => ({
  percent,
  message,
  at: instantText(atMs),
});

/** Tasks that may be claimed wait for the same where they are alike: a flood of them is looked at once. */
function waiting(
  nowMs: number,
  task: TaskState,
  attempt: AttemptState | undefined,
  facts: readonly WorkerFacts[],
): string | undefined {
  if (task.status !== 'queued' || task.availableAtMs > nowMs)
    return waitingFor(nowMs, task, attempt, facts);
  const { type, schemaVersion, pool } = task;
  if (facts === last.facts && type === last.type && pool === last.pool)
    if (schemaVersion === last.schemaVersion) return last.said;
  const said = saidOf(nowMs, task, attempt, facts);
  last = { facts, type, schemaVersion, pool, said };
  return said;
}

/** A flood is most often of one type. */
let last: {
  facts?: readonly WorkerFacts[];
  type?: string;
  schemaVersion?: number;
  pool?: string;
  said?: string | undefined;
} = {};

function saidOf(
  nowMs: number,
  task: TaskState,
  attempt: AttemptState | undefined,
  facts: readonly WorkerFacts[],
): string | undefined {
  const words = WORDS.get(facts) ?? new Map<string, string | undefined>();
  WORDS.set(facts, words);
  const alike = `${task.type}@${task.schemaVersion} ${task.pool}`;
  if (words.has(alike)) return words.get(alike);
  const said = waitingFor(nowMs, task, attempt, facts);
  if (words.size < WORDS_KEPT) words.set(alike, said);
  return said;
}

/** They live as long as the facts do: some seconds. */
const WORDS = new WeakMap<readonly WorkerFacts[], Map<string, string | undefined>>();
const WORDS_KEPT = 1_000;

export function instantText(ms: number): string;
export function instantText(ms: number | undefined): string | undefined;
export function instantText(ms: number | undefined): string | undefined {
  if (ms === undefined) return undefined;
  if (ms !== latest.ms) latest = { ms, text: new Date(ms).toISOString() };
  return latest.text;
}

/** Instants of one commit are the same, and most views tell one of them more than once. */
let latest = { ms: 0, text: new Date(0).toISOString() };
