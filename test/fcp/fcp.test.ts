import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Fcp, type FcpOptions, startFcp } from '../../src/fcp/fcp.ts';
import { HandWorker } from './hand-worker.ts';

let fcp: Fcp;
let worker: HandWorker;

async function begin(options?: FcpOptions): Promise<void> {
  await fcp?.stop();
  fcp = await startFcp(options);
  worker = new HandWorker(fcp);
}

beforeEach(() => begin());
afterEach(() => fcp.stop());

const hello = { type: 'demo/hello', input: { name: 'Ada' } };

describe('discovery and doors', () => {
  it('tells its limits to anyone and logs the request', async () => {
    const told = await fetch(`${fcp.url}/api/tasks/v1/`, {
      headers: { 'interlock-contract': '1' },
    });
    expect(await told.json()).toMatchObject({ contracts: [1], limits: { batch: 100 } });
    expect(told.headers.get('interlock-contract')).toBe('1');
    expect(fcp.log).toMatchObject([
      { n: 1, method: 'GET', route: 'discovery', answered: { status: 200 }, socketId: 1 },
    ]);
  });

  it('refuses a missing key, an unknown key and a key that was rejected later', async () => {
    await begin({ keys: ['il_hand'] });
    expect((await worker.claim()).status).toBe(200);
    fcp.keys.reject('il_hand');
    expect(await worker.claim()).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
    fcp.keys.accept('il_new');
    worker.key = 'il_new';
    expect((await worker.claim()).status).toBe(200);
    worker.key = 'il_other';
    expect((await worker.claim()).status).toBe(401);
  });

  it('refuses another contract version with what it supports', async () => {
    const told = await worker.call('GET', '/doctor', undefined, { 'interlock-contract': '2' });
    expect(told).toMatchObject({ status: 426, body: { supported: [1] } });
  });

  it('takes addresses below any prefix, but no doubled slashes', async () => {
    const at = (path: string) =>
      fetch(`${fcp.url}${path}`, { headers: { 'interlock-contract': '1' } }).then((r) => r.status);
    expect(await at('/deep/down/api/tasks/v1/')).toBe(200);
    expect(await at('//api/tasks/v1/')).toBe(401);
    expect(fcp.log.at(-1)?.route).toBe('other');
  });
});

describe('claims', () => {
  it('gives what was asked for, never more than the slots and max', async () => {
    for (let i = 0; i < 3; i++) fcp.offer(hello);
    fcp.offer({ ...hello, type: 'demo/other' });
    fcp.offer({ ...hello, pool: 'gpu' });
    fcp.offer({ ...hello, schemaVersion: 2 });
    const want = [{ type: 'demo/hello', schemaVersion: 1, slots: 1 }];
    expect(await worker.take({ want, max: 5 })).toHaveLength(1);
    expect(await worker.take({ max: 1 })).toHaveLength(1);
    expect(await worker.take()).toHaveLength(1);
    expect(await worker.take()).toHaveLength(0);
  });

  it('pins what the claim declares and tells the shorter lease', async () => {
    fcp.offer({ ...hello, leaseMs: 2_000 });
    const attempt = await worker.takeOne({ leaseMs: 2_500 });
    expect(attempt).toMatchObject({
      fence: 1,
      attempt: 1,
      leaseMs: 2_000,
      effectSafety: 'pure',
      effectGate: 'start',
      input: { name: 'Ada' },
      effectKey: attempt.taskId,
      cancelRequested: false,
    });
    expect(attempt.attemptId).toMatch(/^att_[0-9a-z]{26}$/);
  });

  it('answers a repeated requestId with the same attempts while they live, then with none', async () => {
    const task = fcp.offer(hello);
    const requestId = randomUUID();
    const [first] = await worker.take({ requestId });
    expect(first).toBeDefined();
    fcp.offer(hello);
    expect(await worker.take({ requestId })).toEqual([first]);
    await worker.report('complete', first!, { result: 1 });
    expect(await worker.take({ requestId })).toEqual([]);
    expect(task.attempts).toHaveLength(1);
  });

  it('supersedes the older session and those that the newer one names', async () => {
    const next = new HandWorker(fcp);
    fcp.offer(hello);
    const attempt = await worker.takeOne();
    await next.claim({ earlierSessions: ['never-seen'] });
    expect(await worker.claim()).toMatchObject({
      status: 409,
      body: { code: 'SESSION_SUPERSEDED' },
    });
    expect((await worker.present('ready')).body.code).toBe('SESSION_SUPERSEDED');
    expect((await worker.report('start', attempt)).body.code).toBe('SESSION_SUPERSEDED');
    expect((await new HandWorker(fcp, 'hand', 'never-seen').claim()).status).toBe(409);
    expect((await next.report('complete', attempt, { result: 1 })).status).toBe(200);
    expect(fcp.workers.get('hand')?.sessions).toEqual([worker.sessionId, next.sessionId]);
  });

  it('can give what nobody asked for, and what cannot be decoded', async () => {
    fcp.offer({ type: 'never/asked', unasked: true });
    fcp.offer({ ...hello, unasked: true });
    fcp.offer({ ...hello, unasked: true, wire: (attempt) => ({ ...attempt, fence: 'one' }) });
    const attempts = await worker.take({ max: 1 });
    expect(attempts.map(({ type, fence }) => [type, fence])).toEqual([
      ['never/asked', 1],
      ['demo/hello', 1],
      ['demo/hello', 'one'],
    ]);
  });
});

describe('reports', () => {
  it('takes an attempt from start to complete and tells the test', async () => {
    const task = fcp.offer(hello);
    const attempt = await worker.takeOne();
    expect((await worker.report('start', attempt)).body).toEqual({
      accepted: true,
      attemptId: attempt.attemptId,
      fence: 1,
      op: 'start',
      leaseMs: 3_000,
    });
    const ended = task.ended();
    await worker.batch(
      worker.reportBody('renew', attempt),
      worker.reportBody('complete', attempt, { result: 'Hello Ada' }),
    );
    expect(await ended).toMatchObject({
      op: 'complete',
      via: 'batch',
      index: 1,
      body: { result: 'Hello Ada' },
      answer: { status: 200, body: { accepted: true } },
    });
    expect(task.reports().map((report) => [report.op, report.via])).toEqual([
      ['start', 'single'],
      ['renew', 'batch'],
      ['complete', 'batch'],
    ]);
    expect(task.latest?.state).toBe('succeeded');
    expect(fcp.violations).toEqual([]);
  });

  it('answers the same terminal report again as replayed, on both routes, another one as stale', async () => {
    fcp.offer(hello);
    const attempt = await worker.takeOne();
    await worker.report('complete', attempt, { result: { b: 1, a: 2 } });
    const again = await worker.batch(
      worker.reportBody('complete', attempt, { result: { a: 2, b: 1 } }),
    );
    expect(again.body.results).toMatchObject([
      { status: 200, body: { accepted: true, replayed: true } },
    ]);
    const other = await worker.report('complete', attempt, { result: 'another' });
    expect(other).toMatchObject({ status: 409, body: { code: 'STALE_ATTEMPT', status: 409 } });
    expect(other.headers.get('content-type')).toBe('application/problem+json');
    expect((await worker.report('renew', attempt)).body.code).toBe('LEASE_EXPIRED');
    expect((await worker.report('start', attempt)).body.code).toBe('STALE_ATTEMPT');
    expect(fcp.violations[0]?.kind).toBe('second-outcome');
  });

  it('knows attempts by id, fence and token', async () => {
    fcp.offer(hello);
    const attempt = await worker.takeOne();
    const unknown = await worker.report('renew', { ...attempt, attemptId: 'att_none' });
    expect(unknown).toMatchObject({ status: 404, body: { kind: 'attempt', project: 'default' } });
    expect((await worker.report('renew', { ...attempt, fence: 2 })).body.code).toBe(
      'STALE_ATTEMPT',
    );
    const forged = { ...attempt, leaseToken: 'forged' };
    expect((await worker.report('renew', forged)).body.code).toBe('STALE_ATTEMPT');
  });

  it('makes the old attempt stale once a new one was given out', async () => {
    const task = fcp.offer(hello);
    const old = await worker.takeOne();
    fcp.expire(old.attemptId);
    task.reoffer();
    const next = await worker.takeOne();
    expect(next).toMatchObject({ taskId: old.taskId, fence: 2 });
    expect((await worker.report('complete', old, { result: 1 })).body).toMatchObject({
      code: 'STALE_ATTEMPT',
    });
    expect((await worker.report('complete', next, { result: 1 })).status).toBe(200);
    expect(task.attemptIds).toEqual([old.attemptId, next.attemptId]);
  });

  it('records the first outcome of a lost attempt that is still the latest', async () => {
    const task = fcp.offer(hello);
    const attempt = await worker.takeOne();
    fcp.expire(attempt.attemptId);
    expect((await worker.report('renew', attempt)).body.code).toBe('LEASE_EXPIRED');
    expect((await worker.report('start', attempt)).body.code).toBe('LEASE_EXPIRED');
    const late = { code: 'STALE_ATTEMPT', recorded: true };
    expect((await worker.report('complete', attempt, { result: 1 })).body).toMatchObject(late);
    const again = await worker.report('complete', attempt, { result: 1 });
    expect(again).toMatchObject({ status: 409, body: { ...late, replayed: true } });
    expect((await worker.report('complete', attempt, { result: 2 })).body.recorded).toBeUndefined();
    expect((await worker.report('renew', attempt)).body.code).toBe('LEASE_EXPIRED');
    expect((await task.ended()).body.result).toBe(1);
  });

  it('opens no gate on a lease that is over, until it was renewed', async () => {
    fcp.offer({ ...hello, effectSafety: 'non-idempotent' });
    const attempt = await worker.takeOne();
    fcp.expire(attempt.attemptId, { ended: false });
    expect((await worker.report('start', attempt)).body.code).toBe('LEASE_EXPIRED');
    expect((await worker.report('renew', attempt)).status).toBe(200);
    expect((await worker.report('start', attempt)).status).toBe(200);
    expect((await worker.report('start', attempt)).body.replayed).toBe(true);
    expect((await worker.report('release', attempt, { reason: 'drain' })).body).toMatchObject({
      code: 'NOT_RELEASABLE',
    });
  });

  it('tells a cancel in answers and takes `cancelled` only after it', async () => {
    const task = fcp.offer(hello);
    const attempt = await worker.takeOne();
    expect((await worker.report('cancelled', attempt)).body.code).toBe('NOT_CANCELLING');
    fcp.cancel(task.taskId);
    expect((await worker.report('renew', attempt)).body.cancelRequested).toBe(true);
    expect((await worker.report('cancelled', attempt)).status).toBe(200);
    expect(task.latest?.state).toBe('cancelled');
  });

  it('counts progress up and gives the last checkpoint to the next attempt', async () => {
    const task = fcp.offer({ ...hello, requeue: true });
    const attempt = await worker.takeOne();
    await worker.report('progress', attempt, { n: 2, percent: 50, checkpoint: { at: 2 } });
    expect((await worker.report('progress', attempt, { n: 1, checkpoint: 'old' })).status).toBe(
      200,
    );
    await worker.report('lost', attempt, { reason: 'host-died', begun: true });
    expect(await worker.takeOne()).toMatchObject({ fence: 2, checkpoint: { at: 2 } });
    expect(task.attempts[0]?.state).toBe('lost');
  });

  it('refuses a result that is too large, and a batch that is', async () => {
    await begin({ inlineBytes: 100, batch: 2, batchBytes: 2_000 });
    fcp.offer(hello);
    const attempt = await worker.takeOne();
    const large = { result: 'x'.repeat(100) };
    expect((await worker.report('complete', attempt, large)).body.code).toBe('PAYLOAD_TOO_LARGE');
    const renew = worker.reportBody('renew', attempt);
    expect((await worker.batch(renew, renew, renew)).status).toBe(400);
    expect((await worker.batch({ ...renew, pad: 'x'.repeat(2_000) })).status).toBe(413);
    expect((await worker.batch(renew, renew)).body.results).toHaveLength(2);
  });

  it('knows `stream` only as a feature', async () => {
    fcp.offer(hello);
    const attempt = await worker.takeOne();
    const chunks = { chunks: [{ seq: 1, data: 'x' }] };
    expect((await worker.report('stream', attempt, chunks)).body.code).toBe(
      'UNSUPPORTED_OPERATION',
    );
  });

  it('measures for how long a lease had run out', async () => {
    const kept = fcp.offer({ ...hello, leaseMs: 60_000 });
    const lapsed = fcp.offer({ ...hello, leaseMs: 30 });
    const attempts = await worker.take();
    await fcp.quiet('reports', 60);
    for (const attempt of attempts) await worker.report('complete', attempt, { result: 1 });
    expect(kept.lapsedMs()).toBe(0);
    expect(lapsed.lapsedMs()).toBeGreaterThan(20);
  });
});

describe('presence', () => {
  it('asks for handlers until it has them, and tells an operator’s drain', async () => {
    expect((await worker.present('ready')).body).toMatchObject({
      needHandlers: true,
      drain: false,
    });
    const handlers = [{ type: 'demo/hello', schemaVersion: 1 }];
    expect((await worker.present('ready', { handlers })).body.needHandlers).toBe(false);
    fcp.drain('hand');
    expect((await worker.claim()).body.drain).toBe(true);
    await worker.present('draining');
    expect((await worker.present('offline')).body.drain).toBe(true);
    expect(fcp.workers.get('hand')?.states).toEqual(['ready', 'draining', 'offline']);
    const doctor = await worker.call('GET', '/doctor');
    expect(doctor.body).toMatchObject({ queueDepth: 0, workers: { offline: 1 } });
  });
});
