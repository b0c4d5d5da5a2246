import { type TaskView, taskView } from '../contract/index.ts';
import { plainTaskView } from '../contract/plain-answers.ts';
import { type HttpAnswer, judgeItem } from '../wire/judge.ts';

export type BatchItems = readonly { readonly status: number; readonly body: unknown }[];

/** What a submission's answer counts as, alone or in a batch. */
export const submitted = { statuses: [200, 201], schema: taskView, plain: plainTaskView } as const;

/**
 * One item of a batch's answer, judged as the single call's answer would be; a task that names another submission's key is
 * no answer to this one. @param at who answered, as people write it.
 */
export function judgeSubmitted(
  item: BatchItems[number] | undefined,
  idempotencyKey: string | undefined,
  at: string,
  sentAt: number,
): HttpAnswer<TaskView> {
  const answer = judgeItem(item, submitted, at, sentAt);
  if (answer.kind !== 'ok' || idempotencyKey === undefined) return answer;
  const said = answer.value.idempotencyKey;
  if (said === undefined || said === idempotencyKey) return answer;
  return {
    kind: 'no-answer',
    cause: 'not-the-contract',
    why: `${at} answered one item of a batch with the task of another submission (its idempotencyKey is not the one that was sent).`,
    sentAt,
  };
}

/** Statuses of a batch that was refused as a whole: no JSON, too many items, too many bytes. */
export function refusesWhole(status: number): boolean {
  return status === 400 || status === 413;
}
