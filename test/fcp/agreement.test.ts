/** FCP was written from the contract's text, the product from its schemas: here they must agree. */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  type Attempt,
  attempt as attemptSchema,
  presenceRequest,
  problem,
  type Report,
} from '../../src/contract/index.ts';
import { carrying, type Fcp, startFcp } from '../../src/fcp/fcp.ts';
import type { Hint } from '../../src/ports/transport.ts';
import { systemClock } from '../../src/system/clock.ts';
import { InterlockTransport } from '../../src/transports/interlock.ts';
import { constantKey } from '../../src/transports/key-source.ts';

const workerId = 'agreeing';
const sessionId = 'ses_1';
let fcp: Fcp;
let transport: InterlockTransport;

beforeEach(async () => {
  fcp = await startFcp();
  const key = constantKey('il_agreement');
  transport = new InterlockTransport({ serviceUrl: fcp.url, key, clock: systemClock() });
});
afterEach(async () => {
  await transport.close();
  await fcp.stop();
});

async function claimed(): Promise<Attempt> {
  const { value } = ok(
    await transport.claim({
      workerId,
      sessionId,
      requestId: randomUUID(),
      pools: ['default'],
      want: [
        {
          type: 'demo/hello',
          schemaVersion: 1,
          slots: 1,
          effectSafety: 'non-idempotent',
          effectGate: 'start',
        },
      ],
      max: 1,
    }),
  );
  return attemptSchema.parse(value.attempts[0]);
}

function reportOf(op: string, attempt: Attempt, extra: object = {}): Report {
  const { taskId, attemptId, fence, leaseToken } = attempt;
  return { op, taskId, attemptId, fence, leaseToken, ...extra } as Report;
}

function ok<T extends { kind: string }>(answer: T): Extract<T, { kind: 'ok' }> {
  expect(answer).toMatchObject({ kind: 'ok' });
  return answer as Extract<T, { kind: 'ok' }>;
}

it('the real transport reads discovery, presence, claims and reports, and breaks no rule', async () => {
  expect(ok(await transport.discover()).value.contracts).toEqual([1]);
  const presence = presenceRequest.parse({
    sessionId,
    state: 'ready',
    slots: { max: 1, busy: 0 },
    pools: ['default'],
    handlersHash: 'h',
    handlers: [{ type: 'demo/hello', schemaVersion: 1 }],
    versions: { worker: '0.1.0' },
    spool: { pending: 0, bytes: 0, oldestMs: null, ok: true },
  });
  expect(ok(await transport.present(workerId, presence)).value).toMatchObject({
    project: 'default',
    needHandlers: false,
  });
  const task = fcp.offer({ type: 'demo/hello', input: { name: 'Ada' } });
  const attempt = await claimed();
  expect(attempt).toMatchObject({ input: { name: 'Ada' }, leaseMs: 3_000, fence: 1 });
  const start = reportOf('start', attempt, { sessionId });
  expect(ok(await transport.report(start)).value).toMatchObject({ op: 'start', leaseMs: 3_000 });
  const batch = [
    reportOf('renew', attempt),
    reportOf('complete', attempt, { result: { hello: 'Ada' } }),
  ];
  for (const one of ok(await transport.reportBatch(batch)).value) ok(one);
  expect((await task.ended()).body.result).toEqual({ hello: 'Ada' });
  expect(fcp.violations).toEqual([]);
});

it('the real transport reads problems, and takes a cut connection and a page for no answer', async () => {
  fcp.offer({ type: 'demo/hello' });
  const attempt = await claimed();
  const complete = reportOf('complete', attempt, { result: 1 });
  // Twice: where a kept connection was cut, the call is sent once more over a fresh one.
  fcp.on(carrying('complete'), (_, ctl) => ctl.cutAfter('rst'), { times: 2 });
  expect(await transport.report(complete)).toMatchObject({ kind: 'no-answer' });
  fcp.on(carrying('complete'), (_, ctl) => ctl.html(200), { times: 1 });
  expect(await transport.report(complete)).toMatchObject({ kind: 'no-answer' });
  expect(ok(await transport.report(complete)).value.replayed).toBe(true);
  const stale = await transport.report(reportOf('start', attempt, { sessionId }));
  expect(stale).toMatchObject({ kind: 'refused', status: 409, problem: { code: 'STALE_ATTEMPT' } });
  expect(problem.parse(fcp.reports.at(-1)?.answer?.body).status).toBe(409);
});

it('the real transport hears hints', async () => {
  const heard: Hint[] = [];
  const abort = new AbortController();
  const stream = transport.hints(
    { workerId, sessionId },
    (hint) => {
      heard.push(hint);
      fcp.note(`heard ${hint.kind}`);
    },
    abort.signal,
  );
  await fcp.hints.opened();
  fcp.offer({ type: 'demo/hello' });
  await fcp.until(() => heard.some((hint) => hint.kind === 'wake'));
  expect(heard).toContainEqual({ kind: 'wake', types: ['demo/hello@1'] });
  fcp.hints.cut('rst');
  expect((await stream).kind).toBe('closed');
  abort.abort();
});
