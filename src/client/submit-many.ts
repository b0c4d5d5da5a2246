/**
 * Submits many tasks in batches within the control plane's limits. Each task stands for itself: what was
 * answered is settled, only what got no answer (or was told to come later) goes again. A batch that is
 * refused whole, or whose answer is too large to be read, says nothing about its tasks: it goes again in halves, and the
 * last one by itself.
 */
import { limits, type SubmitRequest, TaskError, type TaskView } from '../contract/index.ts';
import { afterRefusedBatch, type BatchLimits, batches } from '../core/batches.ts';
import type { HttpAnswer } from '../wire/judge.ts';
import { clientClosed } from './closed.ts';
import { toTaskError, worthAgain } from './errors.ts';
import type { CallOptions, ServiceClient } from './service-client.ts';
import { judgeSubmitted, refusesWhole } from './submitted.ts';

/** What became of one of many tasks. */
export type SubmitOutcome =
  | {
      readonly ok: true;
      readonly task: TaskView;
      readonly replayed: boolean;
      readonly stored?: undefined;
    }
  | { readonly ok: false; readonly error: TaskError };

interface Item {
  /** Its body. */
  readonly text: string;
  readonly idempotencyKey: string | undefined;
  readonly index: number;
  /** What a batch said in place of its answer: from then on it goes by itself. */
  strange?: TaskError;
}

/** Never rejects for a single task; `outcomes` are in the order of `requests`. */
export async function submitMany(
  client: ServiceClient,
  requests: readonly (SubmitRequest | TaskError)[],
  how: CallOptions = {},
): Promise<SubmitOutcome[]> {
  const outcomes: (SubmitOutcome | undefined)[] = requests.map((request) =>
    request instanceof TaskError ? { ok: false, error: request } : undefined,
  );
  let waiting = requests.flatMap((request, index) => {
    if (request instanceof TaskError) return [];
    const { idempotencyKey } = request;
    return [{ text: JSON.stringify(request), idempotencyKey, index } as Item];
  });
  if (waiting.length === 0) return outcomes as SubmitOutcome[];
  const patience = client.patience(how);
  if (patience.closed)
    return outcomes.map((one) => one ?? { ok: false, error: clientClosed(false) });
  const sizes = await limitsOf(client, how);
  for (;;) {
    const again: { item: Item; error: TaskError }[] = [];
    let retryAfterMs = 0;
    const settle = (item: Item, outcome: SubmitOutcome, wait?: number) => {
      if (outcome.ok || !outcome.error.retryable) outcomes[item.index] = outcome;
      else {
        again.push({ item, error: outcome.error });
        retryAfterMs = Math.max(retryAfterMs, wait ?? 0);
      }
    };
    const bytesOf = ({ text }: Item) => Buffer.byteLength(text);
    const alone = waiting.filter(({ strange }) => strange);
    const together = waiting.filter(({ strange }) => !strange);
    for (const group of batches(together, bytesOf, sizes))
      await sendGroup(client, group, how, settle);
    for (const item of alone)
      if (patience.left > 0) await sendSingle(client, item, how, settle);
      else settle(item, { ok: false, error: item.strange as TaskError });
    if (again.length === 0) return outcomes as SubmitOutcome[];
    // Some went well: the peer is there, so the next wait is a short one.
    if (again.length < waiting.length) patience.renewed();
    if (!(await patience.wait(retryAfterMs))) {
      const closed = patience.closed ? clientClosed(true) : undefined;
      for (const { item, error } of again)
        outcomes[item.index] = { ok: false, error: closed ?? error };
      return outcomes as SubmitOutcome[];
    }
    waiting = again.map(({ item }) => item);
  }
}

type Settle = (item: Item, outcome: SubmitOutcome, retryAfterMs?: number) => void;

async function sendGroup(
  client: ServiceClient,
  group: readonly Item[],
  how: CallOptions,
  settle: Settle,
): Promise<void> {
  const answer = await client.submitBatch(
    group.map(({ text }) => text),
    { signal: how.signal },
  );
  if (answer.kind === 'ok') {
    for (const [i, item] of group.entries()) {
      const one = judgeSubmitted(answer.value[i], item.idempotencyKey, client.shown, answer.sentAt);
      if (one.kind === 'ok') {
        settle(item, { ok: true, task: one.value, replayed: one.status === 200 });
        continue;
      }
      const error = toTaskError(one);
      if (one.kind === 'no-answer') item.strange = error;
      settle(item, { ok: false, error }, one.retryAfterMs);
    }
    return;
  }
  const next = saysNothing(answer) ? afterRefusedBatch(group) : undefined;
  if (next?.send === 'halves') {
    for (const half of next.halves) await sendGroup(client, half, how, settle);
  } else if (next?.send === 'single') {
    await sendSingle(client, next.item, how, settle);
  } else {
    const error = toTaskError(answer);
    for (const item of group)
      settle(item, { ok: false, error }, worthAgain(answer) ? answer.retryAfterMs : 0);
  }
}

async function sendSingle(
  client: ServiceClient,
  item: Item,
  how: CallOptions,
  settle: Settle,
): Promise<void> {
  const one = await client.submitOnce(item.text, { signal: how.signal });
  if (one.kind === 'ok') settle(item, { ok: true, task: one.value, replayed: one.status === 200 });
  else settle(item, { ok: false, error: toTaskError(one) }, one.retryAfterMs);
}

/** `too-large`: its tasks were there already, and come with their results. */
function saysNothing(answer: Exclude<HttpAnswer<unknown>, { kind: 'ok' }>): boolean {
  return answer.kind === 'refused' ? refusesWhole(answer.status) : answer.cause === 'too-large';
}

/** The peer's limits, or those of the contract where it does not tell them now. */
async function limitsOf(client: ServiceClient, how: CallOptions): Promise<BatchLimits> {
  try {
    return (await client.discover({ ...how, timeoutMs: 0 })).limits;
  } catch {
    return limits;
  }
}
