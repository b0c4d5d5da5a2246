import {
  type CancelRequest,
  cancelRequest,
  type ResolveRequest,
  type RetryRequest,
  resolveRequest,
  retryRequest,
} from '../contract/tasks.ts';
import type { Change, NewEvent, TaskState } from '../core/task.ts';
import { cancelTask, resolveTask, retryTask } from '../core/task-operator.ts';
import { type Answer, answerText, type Refusal, refusal } from './answer.ts';
import { beyondKey } from './auth.ts';
import type { KeyedCall } from './call.ts';
import { keepChange } from './change.ts';
import { memberBytes } from './spans.ts';
import { noTask } from './task-of.ts';
import { viewText } from './task-view.ts';
import { check } from './validate.ts';

/** What people do to a task: cancel, retry, resolve. The same `actionId` again gets the first answer. */

type Kind = 'cancel' | 'retry' | 'resolve';

export async function cancel(call: KeyedCall): Promise<Answer | Refusal> {
  const checked = check(cancelRequest, call.body.value);
  if (!checked.ok) return checked.refusal;
  const request: CancelRequest = checked.value;
  return act(call, 'cancel', request.actionId, (nowMs, task, by) =>
    cancelTask(nowMs, task, request, by),
  );
}

export async function retry(call: KeyedCall): Promise<Answer | Refusal> {
  const checked = check(retryRequest, call.body.value);
  if (!checked.ok) return checked.refusal;
  const request: RetryRequest = checked.value;
  return act(call, 'retry', request.actionId, (nowMs, task, by) =>
    retryTask(nowMs, task, request, by),
  );
}

export async function resolve(call: KeyedCall): Promise<Answer | Refusal> {
  const checked = check(resolveRequest, call.body.value);
  if (!checked.ok) return checked.refusal;
  const request: ResolveRequest = checked.value;
  const { inlineBytes } = call.services.limits;
  const { text, bytes } = call.body;
  if (bytes > inlineBytes && memberBytes(text, 'result') > inlineBytes) {
    return refusal('PAYLOAD_TOO_LARGE', `result has more than ${inlineBytes} bytes.`, {
      path: 'result',
      limitBytes: inlineBytes,
    });
  }
  const resultJson = JSON.stringify(request.result ?? null);
  return act(call, 'resolve', request.actionId, (nowMs, task, by) =>
    resolveTask(nowMs, task, request, by, resultJson),
  );
}

async function act(
  { services, key, params }: KeyedCall,
  kind: Kind,
  actionId: string | undefined,
  decide: (nowMs: number, task: TaskState, by: string) => Change,
): Promise<Answer | Refusal> {
  const { project } = key;
  const id = params.id ?? '';
  const facts = await services.facts.of(project);
  return services.store.write(async (tx) => {
    const row = await tx.task(project, id);
    if (!row) return noTask(id, project);
    const { pool, type, schemaVersion } = row.task;
    const beyond = beyondKey(key, {
      pools: [['the pool of the task', pool]],
      types: [['the type of the task', type, schemaVersion]],
    });
    if (beyond) return beyond;
    const before = actionId === undefined ? undefined : await tx.action(row.ref, actionId);
    if (before && before.kind !== kind) {
      return refusal('CONFLICT', `The action id was used for a ${before.kind} of this task.`, {
        seq: row.task.seq,
      });
    }
    if (before) return answerText(before.body, before.status);
    const attempt = row.task.status === 'running' ? await tx.latestAttempt(row) : undefined;
    const change = named(decide(tx.nowMs, row.task, `key:${key.id}`), key.name);
    if (!change.verdict.ok)
      return refusal(change.verdict.code, change.verdict.detail, change.verdict.more);
    const kept = await keepChange(tx, row, attempt, change);
    const body = await viewText(tx, kept, { result: true }, tx.nowMs, facts);
    if (actionId !== undefined) await tx.addAction(row.ref, actionId, { kind, status: 200, body });
    return answerText(body);
  });
}

/** `by` tells the key's id, which readers compare; its name goes beside it, for people. */
function named(change: Change, keyName: string): Change {
  const events = change.events.map(
    (event): NewEvent => ({
      ...event,
      data: { ...event.data, keyName },
    }),
  );
  return { ...change, events };
}
