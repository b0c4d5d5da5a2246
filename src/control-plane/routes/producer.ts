import type { z } from 'zod';
import { makeId } from '../../contract/ids.ts';
import {
  type eventsQuery,
  type ListQuery,
  type logsQuery,
  type TaskStatus,
  taskStatuses,
} from '../../contract/tasks.ts';
import { controlPlaneDefaults } from '../../core/defaults.ts';
import type { TaskQuery } from '../../ports/store.ts';
import { cancel } from '../act.ts';
import { type Answer, answer, answerText, isRefusal, type Refusal, refusal } from '../answer.ts';
import { endedKey } from '../auth.ts';
import { carryOut, itemFailure, itemsText, prepareEach } from '../batch.ts';
import { invalid } from '../body.ts';
import type { KeyedCall, Route } from '../call.ts';
import { elements, memberBytes } from '../spans.ts';
import { openProducerStream } from '../streams.ts';
import { type Kept, keepAll, prepare, submit, toldLater, toldNow } from '../submit.ts';
import { taskOf } from '../task-of.ts';
import { instantText, taskViewText } from '../task-view.ts';
import { GONE } from '../turns.ts';

export const producerRoutes = {
  async submit(call: KeyedCall) {
    const { services, key, body, request } = call;
    const header = request.header('idempotency-key');
    const raw = withHeaderKey(body.value, header);
    if (isRefusal(raw)) return raw;
    const large = body.bytes > services.limits.inlineBytes;
    return submit(services, key, raw, large ? memberBytes(body.text, 'input') : 0);
  },

  async submitBatch(call: KeyedCall) {
    const { services, key, body } = call;
    const items = body.value;
    if (!Array.isArray(items))
      return invalid([{ path: '', message: 'must be an array of requests' }]);
    const { batch, inlineBytes } = services.limits;
    if (items.length > batch)
      return refusal('PAYLOAD_TOO_LARGE', `${items.length} tasks in one call; at most ${batch}.`, {
        limit: batch,
      });
    const spans = body.bytes > inlineBytes ? elements(body.text) : [];
    const prepared = prepareEach(call, items, (item, index) => {
      const span = spans[index];
      const large = span !== undefined && span.to - span.from > inlineBytes / MAX_BYTES_PER_CHAR;
      return prepare(services, key, item, large ? memberBytes(body.text, 'input', span.from) : 0);
    });
    const done = await carryOut(
      call,
      prepared,
      (tx, all) => keepAll(tx, services, key, all),
      (kept: Kept) => toldNow(services, key, kept),
    );
    const answers: (Answer | Refusal)[] = [];
    for (const one of done) {
      try {
        answers.push('row' in one ? await toldLater(services, key, one) : one);
      } catch (error) {
        answers.push(itemFailure(call, error));
      }
    }
    return answerText(itemsText(answers, call.requestId));
  },

  async listTasks({ services, key, query, request, turn }: KeyedCall) {
    const asked = query as ListQuery;
    const found = taskQuery(key.project, asked);
    if (isRefusal(found)) return found;
    const page = await services.store.tasks(found);
    const include = words(asked.include);
    const parts = { input: include.includes('input'), result: include.includes('result') };
    const views: string[] = [];
    let { next } = page;
    let bytes = 0;
    let breathed = 0;
    for (const row of page.rows) {
      if (bytes - breathed > BREATH_CHARS) {
        breathed = bytes;
        await turn.breathe();
        if (request.signal.aborted) return GONE;
      }
      const view = await taskViewText(services, row, parts);
      bytes += view.length;
      // A page of large results ends sooner; it holds one task at least.
      if (views.length > 0 && bytes > controlPlaneDefaults.pageChars) {
        next = page.rows[views.length - 1]?.task.id;
        break;
      }
      views.push(view);
    }
    const cursor = next === undefined ? '' : `,"cursor":${JSON.stringify(next)}`;
    return answerText(`{"tasks":[${views.join(',')}]${cursor}}`);
  },

  async getTask(call: KeyedCall) {
    const row = await taskOf(call);
    if (isRefusal(row)) return row;
    return answerText(await taskViewText(call.services, row, { input: true, result: true }));
  },

  async taskEvents(call: KeyedCall) {
    const { services, query, key, keySeen } = call;
    const { waitMs } = query as z.infer<typeof eventsQuery>;
    const keyEnd = new AbortController();
    const unwatch =
      waitMs > 0 ? services.keyWatch.watch(key, keySeen, () => keyEnd.abort()) : undefined;
    try {
      return await journal(call, keyEnd.signal);
    } finally {
      unwatch?.();
    }
  },

  async taskLogs(call: KeyedCall) {
    const { after, limit } = call.query as z.infer<typeof logsQuery>;
    const n = after === undefined ? 0 : Number(after);
    if (!Number.isSafeInteger(n) || n < 0)
      return invalid([{ path: 'after', message: 'is no cursor of this call' }]);
    const row = await taskOf(call);
    if (isRefusal(row)) return row;
    const lines = await call.services.store.logs(row.ref, n, limit);
    return answer({
      lines: lines.map(({ n: number, ...line }) => ({ ...line, cursor: String(number) })),
      cursor: String(lines.at(-1)?.n ?? n),
    });
  },

  cancelTask: cancel,

  async taskHints({ services, key, keySeen }: KeyedCall) {
    return openProducerStream(services, key, keySeen);
  },
} satisfies Record<string, Route>;

/** Entries after `after`; waits for some as long as it was asked to and the key is one. */
async function journal(call: KeyedCall, keyEnd: AbortSignal): Promise<Answer | Refusal> {
  const { services, request, query, key } = call;
  const { store, clock, hub } = services;
  const { after, waitMs, limit } = query as z.infer<typeof eventsQuery>;
  const until = clock.now() + waitMs;
  const gone = () => request.signal.aborted || keyEnd.aborted;
  for (;;) {
    const ended = keyEnd.aborted && endedKey(await store.nowMs(), await store.keyById(key.id));
    if (ended) return ended;
    const row = await taskOf(call);
    if (isRefusal(row)) return row;
    const left = until - clock.now();
    // Listening begins before reading, so that no news is missed between the two; where entries are there it is for nothing.
    const waits = left > 0 && row.task.seq <= after;
    const news = waits ? hub.news(row.task.id, left, [request.signal, keyEnd]) : undefined;
    const events = await store.events(row.ref, after, limit);
    if (news === undefined || events.length > 0 || hub.stopped || gone()) {
      news?.stop();
      const seq = Math.max(row.task.seq, events.at(-1)?.seq ?? 0);
      return answer({
        events: events.map(({ atMs, ...event }) => ({ ...event, at: instantText(atMs) })),
        seq,
      });
    }
    await call.turn.outside(news.over);
  }
}

/** A page that is built lets others in after so much of it. */
const BREATH_CHARS = 524_288;

/** A UTF-16 unit is at most three bytes of UTF-8. */
const MAX_BYTES_PER_CHAR = 3;

/** The header and the field mean the same; two that differ are a mistake that must not pass. */
function withHeaderKey(raw: unknown, header: string | null): unknown | Refusal {
  if (header === null || raw === null || typeof raw !== 'object' || Array.isArray(raw)) return raw;
  const given = (raw as { idempotencyKey?: unknown }).idempotencyKey;
  if (given === undefined) return { ...raw, idempotencyKey: header };
  if (given === header) return raw;
  return invalid([
    {
      path: 'idempotencyKey',
      message: 'differs from the Idempotency-Key header: send one of them',
    },
  ]);
}

const words = (given: string | readonly string[] | undefined): readonly string[] =>
  (typeof given === 'string' ? [given] : (given ?? [])).flatMap((text) => text.split(','));

function taskQuery(project: string, asked: ListQuery): TaskQuery | Refusal {
  const statuses = words(asked.status);
  const unknown = statuses.find((s) => !taskStatuses.includes(s as TaskStatus));
  if (unknown !== undefined) {
    return invalid([
      {
        path: 'status',
        message: `holds ${JSON.stringify(unknown.slice(0, 100))}; statuses are ${taskStatuses.join(', ')}`,
      },
    ]);
  }
  const included = words(asked.include).find((part) => part !== 'input' && part !== 'result');
  if (included !== undefined)
    return invalid([{ path: 'include', message: 'may hold input and result' }]);
  const labels = (typeof asked.label === 'string' ? [asked.label] : (asked.label ?? [])).map(
    (text) => {
      const at = text.indexOf('=');
      return at < 0 ? { name: text } : { name: text.slice(0, at), value: text.slice(at + 1) };
    },
  );
  // Ids grow with time, so bounds on time are bounds on ids.
  const since = asked.since === undefined ? undefined : lowestId(asked.since);
  const until = asked.until === undefined ? undefined : lowestId(asked.until);
  const belowId =
    asked.cursor === undefined || (until !== undefined && until < asked.cursor)
      ? until
      : asked.cursor;
  return {
    project,
    ...(statuses.length > 0 ? { statuses: statuses as TaskStatus[] } : {}),
    type: asked.type,
    schemaVersion: asked.schemaVersion,
    pool: asked.pool,
    labels,
    aboveId: since,
    belowId,
    attention: asked.needs === 'attention',
    limit: asked.limit,
  };
}

/** Just below every id that is made from this instant on. */
function lowestId(instant: string): string {
  return makeId('tsk', Math.max(0, Date.parse(instant)), new Uint8Array(10));
}
