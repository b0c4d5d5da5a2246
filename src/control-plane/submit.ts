import { canonical } from '../contract/canonical.ts';
import { makeId } from '../contract/ids.ts';
import { defaultPolicy } from '../contract/policy.ts';
import { type SubmitRequest, submitRequest } from '../contract/tasks.ts';
import { claimRank, submitTask } from '../core/task.ts';
import type { KeyRow, TaskRow } from '../ports/store.ts';
import { type Answer, answerText, isRefusal, type Refusal, refusal } from './answer.ts';
import { beyondKey } from './auth.ts';
import { keepNewTask } from './change.ts';
import { sha256 } from './lease-token.ts';
import type { Services } from './services.ts';
import { viewText } from './task-view.ts';
import { check } from './validate.ts';

/** One task into the queue, effectively once per idempotency key. */
export async function submit(
  services: Services,
  key: KeyRow,
  raw: unknown,
  inputBytes: number,
): Promise<Answer | Refusal> {
  const { limits } = services;
  const checked = check(submitRequest, raw);
  if (!checked.ok) return checked.refusal;
  if (inputBytes > limits.inlineBytes) {
    return refusal(
      'PAYLOAD_TOO_LARGE',
      `input has ${inputBytes} bytes; at most ${limits.inlineBytes} are taken inline.`,
      { path: 'input', limitBytes: limits.inlineBytes },
    );
  }
  const { pool, type, schemaVersion } = checked.value;
  const beyond = beyondKey(key, {
    pools: [['pool', pool ?? 'default']],
    types: [['type', type, schemaVersion]],
  });
  if (beyond) return beyond;
  const done = await keep(services, key, checked.value);
  if (isRefusal(done)) return done;
  const facts = await services.facts.of(key.project);
  const text = await viewText(
    services.store,
    done.row,
    { result: done.replayed },
    done.nowMs,
    facts,
  );
  return done.replayed
    ? answerText(text, 200, { 'Idempotency-Replayed': 'true' })
    : answerText(text, 201);
}

function keep(
  { store, random, limits }: Services,
  key: KeyRow,
  request: SubmitRequest,
): Promise<{ row: TaskRow; replayed: boolean; nowMs: number } | Refusal> {
  const { project } = key;
  const inputJson = JSON.stringify(request.input);
  const requestHash = request.idempotencyKey === undefined ? undefined : hashOf(request);
  const defaults = { ...defaultPolicy, leaseMs: limits.leaseMs.default };
  return store.write(async (tx) => {
    const { nowMs } = tx;
    if (request.idempotencyKey !== undefined) {
      const before = await tx.taskByKey(project, request.idempotencyKey);
      if (before && before.requestHash === requestHash)
        return { row: before.row, replayed: true, nowMs };
      if (before) {
        return refusal(
          'IDEMPOTENCY_CONFLICT',
          `The idempotency key was used for task ${before.row.task.id} with another request.`,
          { taskId: before.row.task.id },
        );
      }
    }
    const made = submitTask(nowMs, request, {
      id: makeId('tsk', nowMs, random.bytes(10)),
      project,
      by: `key:${key.id}`,
      defaults,
    });
    const rank = claimRank(made.task);
    const row = await keepNewTask(tx, made, { rank, inputJson, requestHash });
    return { row, replayed: false, nowMs };
  });
}

/** The request as it was sent: before defaults, without the key. */
function hashOf(request: SubmitRequest): string {
  const { idempotencyKey: _, ...rest } = request;
  return sha256(canonical(rest));
}
