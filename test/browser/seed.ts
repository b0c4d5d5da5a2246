import { type Api, PlayedWorker } from './api.ts';
import {
  EMOJI,
  INJECTION,
  LONG,
  LONG_POOL,
  LONG_TYPE,
  LONG_WORKER,
  RIGHT_TO_LEFT,
  UNBROKEN,
  WORST,
} from './texts.ts';

/** What the seed left behind, by what is the matter with it: ids of tasks. */
export interface Seeded {
  readonly running: string;
  readonly unknown: string;
  readonly failed: string;
  readonly begun: string;
  readonly losing: string;
  readonly refused: string;
  readonly lateReport: string;
  readonly succeeded: string;
  readonly cancelled: string;
  readonly expired: string;
  readonly retrying: string;
  readonly unserved: string;
  readonly queued: string;
}

const HANDLERS = [
  { type: 'demo/hello', schemaVersion: 1, effectSafety: 'pure', effectGate: 'start' },
  { type: 'mail/send', schemaVersion: 1, effectSafety: 'non-idempotent', effectGate: 'start' },
  { type: 'mail/send', schemaVersion: 2, effectSafety: 'idempotent', effectGate: 'start' },
  { type: LONG_TYPE, schemaVersion: 7, effectSafety: 'pure', effectGate: 'start' },
];
const SCHEMA = {
  type: 'object',
  title: INJECTION,
  required: ['name'],
  properties: {
    name: { type: 'string', title: 'Name', description: LONG, minLength: 1 },
    [INJECTION]: { type: 'string', description: INJECTION, default: INJECTION },
    count: { type: 'integer', minimum: 0, maximum: 10, default: 1 },
    colour: { enum: ['red', RIGHT_TO_LEFT, INJECTION] },
    loud: { type: 'boolean' },
    [UNBROKEN]: { type: 'array', items: { type: 'string' } },
  },
};
const pile = {
  [INJECTION.slice(0, 200)]: INJECTION,
  [RIGHT_TO_LEFT]: EMOJI,
  [UNBROKEN.slice(0, 200)]: LONG,
};
/** No delay between attempts. */
const AT_ONCE = { backoff: { initialMs: 0, factor: 1, maxMs: 0, jitter: 0 } };

/** Every status, every state of workers, and the worst in every field that somebody can write. */
export async function seed(api: Api): Promise<Seeded> {
  const submit = async (type: string, more: Record<string, unknown> = {}): Promise<string> => {
    const { schemaVersion = 1, ...rest } = more;
    const body = { type, schemaVersion, input: { name: INJECTION }, ...rest };
    return (await api.call('producer', 'POST', '/tasks', body)).id;
  };
  const worst = (more: Record<string, unknown> = {}) => ({
    labels: pile,
    input: { words: WORST, nested: { [INJECTION]: { [UNBROKEN]: [LONG, null, true, 1e300] } } },
    idempotencyKey: `${INJECTION.slice(0, 400)} ${Math.random()}`,
    effectKey: INJECTION.slice(0, 500),
    traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    ...more,
  });
  const error = (code: string, more = {}) => ({
    error: { code, message: `${INJECTION} ${LONG}`, details: { [INJECTION]: WORST }, ...more },
  });
  const act = { actionId: 'seed', reason: `${RIGHT_TO_LEFT} ${INJECTION}` };

  const worker = new PlayedWorker(api, 'garage-1');
  await worker.present({
    handlers: HANDLERS.map((one, at) => (at === 0 ? { ...one, inputSchema: SCHEMA } : one)),
    pools: ['default', LONG_POOL],
    state: 'full',
    slots: { max: 4, busy: 4 },
    versions: { agent: INJECTION.slice(0, 150), [INJECTION.slice(0, 90)]: UNBROKEN.slice(0, 190) },
    spool: { pending: 3, bytes: 123_456_789, oldestMs: 4_000_000, ok: false },
    notClaiming: LONG,
    pausedTypes: [
      { type: 'mail/send', schemaVersion: 1, why: LONG, forMs: 90_000, failures: 3 },
      { type: LONG_TYPE, schemaVersion: 7, why: INJECTION, forMs: 0, failures: 99 },
    ],
    keptHandlers: [
      { type: 'demo/hello', schemaVersion: 1, why: INJECTION, since: new Date(0).toISOString() },
    ],
    sentAt: new Date(Date.now() + 7_200_000).toISOString(),
  });
  await new PlayedWorker(api, LONG_WORKER).present({
    state: 'draining',
    pools: [LONG_POOL],
    // Another one declares the same type otherwise: the page has to warn.
    handlers: [{ ...HANDLERS[1], effectSafety: 'idempotent' }, HANDLERS[3]],
  });
  await new PlayedWorker(api, 'ready-1').present({ handlers: [HANDLERS[0]] });
  const gone = new PlayedWorker(api, 'gone-1');
  await gone.present({ handlers: [{ ...HANDLERS[0], type: 'Demo/Hello' }] });
  await gone.present({ state: 'offline', handlersHash: 'h1', handlers: undefined });

  /** Claims one task, of a type that is nobody else's, and starts it. */
  const begin = async (type: string, more: Record<string, unknown> = {}) => {
    const id = await submit(type, worst(more.task as Record<string, unknown>));
    const [attempt] = await worker.claim(type, 1, more.claim);
    await worker.report(attempt, 'start');
    return { id, attempt };
  };

  const succeeded = await begin('ends/well');
  for (let n = 1; n <= 4; n++)
    await worker.report(succeeded.attempt, 'log', {
      n,
      lines: [...WORST, 'plain', ''].map((text, at) => ({
        at: new Date().toISOString(),
        level: ['debug', 'info', 'warn', 'error'][at % 4],
        text: `${text}`.slice(0, 8_000),
      })),
    });
  await worker.report(succeeded.attempt, 'complete', {
    result: { [INJECTION]: WORST, large: UNBROKEN.repeat(200) },
  });

  const failed = await begin('ends/badly', { task: { policy: { maxAttempts: 1 } } });
  await worker.report(failed.attempt, 'fail', error('HANDLER_ERROR'));
  const refused = await begin('ends/refused');
  await worker.report(
    refused.attempt,
    'fail',
    error('RESULT_REFUSED', { details: { handlerReturned: true, why: INJECTION } }),
  );

  const gate = { claim: { effectSafety: 'non-idempotent', effectGate: 'start' } };
  const unknown = await begin('mail/send', gate);
  await worker.report(unknown.attempt, 'unknown', error('SMTP_SILENT'));
  const begun = await begin('mail/send', gate);
  await worker.report(begun.attempt, 'fail', error('SMTP_REFUSED'));

  // Lost again and again, and an outcome that came too late.
  const losing = await submit('ends/losing', worst({ policy: { maxAttempts: 60, ...AT_ONCE } }));
  for (let time = 0; time < 12; time++) {
    const [attempt] = await worker.claim('ends/losing', 1);
    await worker.report(attempt, 'start');
    const lost = {
      reason: 'host-died',
      begun: true,
      message: LONG,
      details: { [INJECTION]: LONG },
    };
    await worker.report(attempt, 'lost', lost);
  }
  const late = await begin('ends/late', { task: { policy: { maxAttempts: 3, ...AT_ONCE } } });
  await worker.report(late.attempt, 'lost', { reason: 'lease', begun: true, message: INJECTION });
  await worker.report(late.attempt, 'complete', { result: INJECTION }).catch(() => undefined);

  const cancelled = await submit('never/served', worst());
  await api.call('producer', 'POST', `/tasks/${cancelled}/cancel`, { reason: act.reason });
  const expired = await submit(
    'never/served',
    worst({ policy: { deadlineAt: new Date(0).toISOString() } }),
  );

  // An operator's entries in the journal.
  const resolved = await begin('mail/send', gate);
  await worker.report(resolved.attempt, 'unknown', error('SMTP_SILENT'));
  const { seq } = await api.call('operator', 'GET', `/tasks/${resolved.id}`);
  await api.call('operator', 'POST', `/tasks/${resolved.id}/resolve`, {
    ...act,
    ifSeq: seq,
    resolution: 'succeeded',
    result: INJECTION,
  });
  const retrying = await begin('ends/retried', { task: { policy: { maxAttempts: 1 } } });
  await worker.report(retrying.attempt, 'fail', error('HANDLER_ERROR'));
  const view = await api.call('operator', 'GET', `/tasks/${retrying.id}`);
  await api.call('operator', 'POST', `/tasks/${retrying.id}/retry`, {
    ...act,
    ifSeq: view.seq,
    attempts: 2,
  });

  // Nobody serves these: another case, another version, another pool.
  const unserved = await submit('DEMO/hello', worst());
  await submit('demo/hello', worst({ schemaVersion: 99 }));
  await submit('demo/hello', worst({ pool: LONG_POOL }));
  await submit(LONG_TYPE, worst({ schemaVersion: 7, pool: LONG_POOL }));
  const queued = await submit('demo/hello', worst({ priority: -100 }));
  await submit(
    'demo/hello',
    worst({ notBeforeAt: new Date(Date.now() + 86_400_000).toISOString() }),
  );

  const running = await begin('long/running');
  await worker.report(running.attempt, 'log', {
    n: 1,
    lines: WORST.map((text) => ({ at: new Date().toISOString(), level: 'warn', text })),
  });
  await worker.report(running.attempt, 'progress', {
    n: 1,
    percent: 42,
    message: `${INJECTION} ${LONG}`,
    checkpoint: { [INJECTION]: LONG },
  });
  const asked = await begin('long/running');
  await worker.report(asked.attempt, 'progress', {
    n: 1,
    percent: 99.9999,
    message: RIGHT_TO_LEFT,
  });
  await api.call('producer', 'POST', `/tasks/${asked.id}/cancel`, { reason: LONG });

  // More than one page of a list.
  await Promise.all(
    Array.from({ length: 60 }, (_, at) => submit('ends/many', { labels: { customer: `${at}` } })),
  );

  return {
    running: running.id,
    unknown: unknown.id,
    failed: failed.id,
    begun: begun.id,
    losing,
    refused: refused.id,
    lateReport: late.id,
    succeeded: succeeded.id,
    cancelled,
    expired,
    retrying: retrying.id,
    unserved,
    queued,
  };
}
