import { canonical } from '../contract/canonical.ts';
import { makeId } from '../contract/ids.ts';
import { plainSubmit } from '../contract/plain-calls.ts';
import { type SubmitRequest, submitRequest } from '../contract/tasks.ts';
import { claimRank, submitTask } from '../core/task.ts';
import type { WorkerFacts } from '../core/waiting-for.ts';
import type { KeyRow, Soon, TaskRow, Transaction } from '../ports/store.ts';
import { type Answer, answerText, isRefusal, type Refusal, refusal } from './answer.ts';
import { beyondKey } from './auth.ts';
import { keepNewTask } from './change.ts';
import { sha256 } from './lease-token.ts';
import type { Services } from './services.ts';
import { plainViewText, viewText } from './task-view.ts';
import { checkPlain } from './validate.ts';

/** A submission that is as it should be, not kept yet. */
export interface Prepared {
  readonly request: SubmitRequest;
  readonly inputJson: string;
  readonly requestHash: string | undefined;
}

export interface Kept {
  readonly row: TaskRow;
  readonly replayed: boolean;
  readonly nowMs: number;
}

/** One task into the queue, effectively once per idempotency key. */
export async function submit(
  services: Services,
  key: KeyRow,
  raw: unknown,
  inputBytes: number,
): Promise<Answer | Refusal> {
  const prepared = prepare(services, key, raw, inputBytes);
  if (isRefusal(prepared)) return prepared;
  const done = await services.store.write(
    (tx) => keep(tx, services, key, prepared),
    1,
    (kept) => (isRefusal(kept) ? kept : toldNow(services, key, kept)),
  );
  return 'row' in done ? toldLater(services, key, done) : done;
}

/** Everything that needs no look into the store. */
export function prepare(
  { limits }: Services,
  key: KeyRow,
  raw: unknown,
  inputBytes: number,
): Prepared | Refusal {
  const checked = checkPlain(plainSubmit, submitRequest, raw);
  if (!checked.ok) return checked.refusal;
  if (inputBytes > limits.inlineBytes) {
    return refusal(
      'PAYLOAD_TOO_LARGE',
      `input has ${inputBytes} bytes; at most ${limits.inlineBytes} are taken inline.`,
      { path: 'input', limitBytes: limits.inlineBytes },
    );
  }
  const request = checked.value;
  if (key.limits !== undefined) {
    const { pool, type, schemaVersion } = request;
    const beyond = beyondKey(key, {
      pools: [['pool', pool ?? 'default']],
      types: [['type', type, schemaVersion]],
    });
    if (beyond) return beyond;
  }
  return {
    request,
    inputJson: JSON.stringify(request.input),
    requestHash: request.idempotencyKey === undefined ? undefined : hashOf(request),
  };
}

/** Those of a batch, one after the other. */
export async function keepAll(
  tx: Transaction,
  services: Services,
  key: KeyRow,
  all: readonly (Prepared | Refusal)[],
): Promise<(Kept | Refusal)[]> {
  const kept: (Kept | Refusal)[] = [];
  for (const one of all) {
    const now = isRefusal(one) ? one : keep(tx, services, key, one);
    kept.push(now instanceof Promise ? await now : now);
  }
  return kept;
}

function keep(
  tx: Transaction,
  services: Services,
  key: KeyRow,
  prepared: Prepared,
): Soon<Kept | Refusal> {
  const row = keepNew(tx, services, key, prepared);
  return row instanceof Promise
    ? row.then((there) => keptOf(tx, key, prepared, there))
    : keptOf(tx, key, prepared, row);
}

function keepNew(
  tx: Transaction,
  { random, policy }: Services,
  { id, project }: KeyRow,
  { request, inputJson, requestHash }: Prepared,
): Soon<TaskRow | undefined> {
  const made = submitTask(tx.nowMs, request, {
    id: makeId('tsk', tx.nowMs, random.bytes(10)),
    project,
    by: `key:${id}`,
    defaults: policy,
  });
  return keepNewTask(tx, made, { rank: claimRank(made.task), inputJson, requestHash });
}

/** @param row `undefined`: there is one with its idempotency key. */
function keptOf(
  tx: Transaction,
  key: KeyRow,
  prepared: Prepared,
  row: TaskRow | undefined,
): Soon<Kept | Refusal> {
  return row ? { row, replayed: false, nowMs: tx.nowMs } : keptBefore(tx, key, prepared);
}

async function keptBefore(
  tx: Transaction,
  { project }: KeyRow,
  { request, requestHash }: Prepared,
): Promise<Kept | Refusal> {
  const before = await tx.taskByKey(project, request.idempotencyKey ?? '');
  if (before === undefined) throw new Error('A task was neither kept nor there before.');
  if (before.requestHash === requestHash)
    return { row: before.row, replayed: true, nowMs: tx.nowMs };
  return refusal(
    'IDEMPOTENCY_CONFLICT',
    `The idempotency key was used for task ${before.row.task.id} with another request.`,
    { taskId: before.row.task.id },
  );
}

/** The answer to a new task, as of its own commit. What needs a look into the store for it comes back as it is. */
export function toldNow({ facts }: Services, { project }: KeyRow, kept: Kept): Answer | Kept {
  const known = kept.replayed ? undefined : facts.known(project);
  return known === undefined ? kept : toldNew(kept, known);
}

/** The answer where there is none yet. One that was there before may have come far since. */
export async function toldLater(services: Services, key: KeyRow, kept: Kept): Promise<Answer> {
  const facts = await factsAfter(services, key.project);
  if (!kept.replayed) return toldNew(kept, facts);
  const text = await viewText(services.store, kept.row, { result: true }, kept.nowMs, facts);
  return answerText(text, 200, { 'Idempotency-Replayed': 'true' });
}

function toldNew({ row, nowMs }: Kept, facts: readonly WorkerFacts[] | undefined): Answer {
  return answerText(plainViewText(nowMs, row.task, undefined, facts), 201);
}

/**
 * For an answer that tells of what is kept already: it must not fail by what is only put beside it.
 * @returns `undefined`: nothing can be said of the workers now.
 */
async function factsAfter(
  { facts, store, log }: Services,
  project: string,
): Promise<readonly WorkerFacts[] | undefined> {
  try {
    return await facts.of(project);
  } catch (error) {
    if (store.lost) throw error;
    log.warn('workers.unknown', 'Tasks were kept; what they wait for could not be told.', {
      project,
      error,
    });
    return undefined;
  }
}

/** The request as it was sent: before defaults, without the key. */
function hashOf(request: SubmitRequest): string {
  const { idempotencyKey: _, ...rest } = request;
  return sha256(canonical(rest));
}
