import type { z } from 'zod';
import { workerId as workerIdSchema } from '../../contract/names.ts';
import { plainClaim } from '../../contract/plain-calls.ts';
import {
  claimRequest,
  type hintsQuery,
  presenceRequest,
  reportBatchRequest,
} from '../../contract/worker-calls.ts';
import { answer, answerText, isRefusal, type Refusal, refusal } from '../answer.ts';
import { carryOut, itemsText, prepareEach } from '../batch.ts';
import { invalid } from '../body.ts';
import type { KeyedCall, Route } from '../call.ts';
import { claim } from '../claim.ts';
import { claimOrWait } from '../claim-wait.ts';
import { present } from '../presence.ts';
import { apply, prepare, report, storedMember } from '../report.ts';
import { elements, memberBytes } from '../spans.ts';
import { openWorkerStream } from '../streams.ts';
import { instantText } from '../task-view.ts';
import { check, checkPlain } from '../validate.ts';

export const workerRoutes = {
  async present({ services, key, params, body }: KeyedCall) {
    const id = check(workerIdSchema, params.workerId);
    if (!id.ok) return invalid([{ path: 'workerId', message: 'is not the name of a worker' }]);
    const checked = check(presenceRequest, body.value);
    if (!checked.ok) return checked.refusal;
    const said = checked.value;
    const done = await present(services, key, id.value, said);
    if (isRefusal(done)) return done;
    const { worker, needHandlers, nowMs } = done;
    const drain = worker.drainSessionId === worker.sessionId;
    return answer({
      serverTime: instantText(nowMs),
      project: key.project,
      presentAfterMs: services.timing.presentAfterMs,
      offlineAfterMs: services.timing.offlineAfterMs,
      needHandlers,
      drain,
    });
  },

  async claim(call: KeyedCall) {
    const { services, key, body } = call;
    const checked = checkPlain(plainClaim, claimRequest, body.value);
    if (!checked.ok) return checked.refusal;
    const asked = checked.value;
    const { claimMax } = services.limits;
    if (asked.max > claimMax)
      return invalid([{ path: 'max', message: `must be at most ${claimMax}` }]);
    const waits = (asked.waitMs ?? 0) > 0 && asked.max > 0 && asked.want.length > 0;
    const granted = await (waits ? claimOrWait(call, asked) : claim(services, key, asked));
    if (isRefusal(granted)) return granted;
    const rest = {
      pollAfterMs: services.timing.pollAfterMs,
      serverTime: instantText(granted.nowMs),
      drain: granted.drain,
      ...(granted.waitedMs === undefined ? {} : { waitedMs: granted.waitedMs }),
    };
    return answerText(
      `{"attempts":[${granted.attempts.join(',')}],${JSON.stringify(rest).slice(1)}`,
    );
  },

  async report({ services, key, params, body }: KeyedCall) {
    const merged = withAddress(body.value, params);
    if (isRefusal(merged)) return merged;
    const name = storedMember(merged.op);
    // Smaller than the smallest limit, it need not be measured.
    const valueBytes =
      name !== undefined && body.bytes > services.limits.checkpointBytes
        ? memberBytes(body.text, name)
        : 0;
    return report(services, key, { raw: merged, valueBytes });
  },

  async reportBatch(call: KeyedCall) {
    const { services, key, body } = call;
    const checked = check(reportBatchRequest, body.value);
    if (!checked.ok) return checked.refusal;
    const { reports } = checked.value;
    const { batch, checkpointBytes } = services.limits;
    if (reports.length > batch)
      return refusal(
        'PAYLOAD_TOO_LARGE',
        `${reports.length} reports in one call; at most ${batch}.`,
        {
          limit: batch,
        },
      );
    const spans = body.bytes > checkpointBytes ? elements(body.text, 'reports') : [];
    const prepared = prepareEach(call, reports, (item, index) => {
      if (!isObject(item))
        return invalid([{ path: `reports[${index}]`, message: 'must be an object' }]);
      if (typeof item.attemptId !== 'string')
        return invalid([{ path: 'attemptId', message: 'must be a string' }]);
      const span = spans[index];
      const name = storedMember(item.op);
      const valueBytes =
        span && name !== undefined && span.to - span.from > checkpointBytes / 3
          ? memberBytes(body.text, name, span.from)
          : 0;
      return prepare(services, { raw: item, valueBytes });
    });
    const answers = await carryOut(
      call,
      prepared,
      (tx, all) => apply(tx, services, key, all),
      (done) => done,
    );
    return answerText(`{"results":${itemsText(answers, call.requestId)}}`);
  },

  async workerHints({ services, key, keySeen, query }: KeyedCall) {
    const { workerId, sessionId } = query as z.infer<typeof hintsQuery>;
    return openWorkerStream(services, key, keySeen, workerId, sessionId);
  },
} satisfies Record<string, Route>;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** `op` and `attemptId` stand in the address and may stand in the body: the same report on both routes. */
function withAddress(
  value: unknown,
  params: Readonly<Record<string, string>>,
): Record<string, unknown> | Refusal {
  if (!isObject(value)) return invalid([{ path: '', message: 'must be an object' }]);
  for (const name of ['op', 'attemptId'] as const) {
    if (value[name] !== undefined && value[name] !== params[name])
      return invalid([{ path: name, message: 'differs from the address' }]);
  }
  return { ...value, op: params.op, attemptId: params.attemptId };
}
