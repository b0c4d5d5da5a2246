import { randomUUID } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { carrying, type Fcp, startFcp, toldAbout } from '../../src/fcp/fcp.ts';
import { type GrantedAttempt, HandWorker } from './hand-worker.ts';

let fcp: Fcp;
let worker: HandWorker;

beforeEach(async () => {
  fcp = await startFcp({ keepAliveTimeoutMs: 60_000 });
  worker = new HandWorker(fcp);
});
afterEach(() => fcp.stop().catch(() => {}));

const hello = { type: 'demo/hello', input: { name: 'Ada' } };
const failure = (call: Promise<unknown>) =>
  call.then(
    () => 'answered',
    (error: { cause?: { code?: string; message?: string } }) =>
      error.cause?.code ?? error.cause?.message,
  );

async function taken(): Promise<GrantedAttempt> {
  fcp.offer(hello);
  return worker.takeOne();
}

describe('rules for requests', () => {
  it('apply in the order in which they were made, each as often as it says', async () => {
    const first = fcp.on('claim', (_, ctl) => ctl.html(), { times: 1 });
    const second = fcp.on('claim', (_, ctl) =>
      ctl.problem(503, 'UNAVAILABLE', { 'retry-after': 7 }),
    );
    const page = await worker.claim();
    expect(page).toMatchObject({ status: 502, body: { text: expect.stringContaining('<html>') } });
    const busy = await worker.claim();
    expect(busy).toMatchObject({ status: 503, body: { code: 'UNAVAILABLE' } });
    expect(busy.headers.get('retry-after')).toBe('7');
    second.off();
    expect((await worker.claim()).status).toBe(200);
    expect([first.seen.length, second.seen.length]).toEqual([1, 1]);
  });

  it('let the default happen where they only look', async () => {
    const seen: string[] = [];
    fcp.on('any', (request) => seen.push(request.route));
    expect((await worker.claim()).status).toBe(200);
    expect(seen).toEqual(['claim']);
  });

  it('may change the answer after it was applied', async () => {
    fcp.on('claim', (_, ctl) =>
      ctl.pass((answer) => ({ ...answer, body: { ...(answer.body as object), pollAfterMs: 5 } })),
    );
    expect((await worker.claim()).body).toMatchObject({ attempts: [], pollAfterMs: 5 });
  });

  it('redirect and answer with anything', async () => {
    fcp.on('claim', (_, ctl) => ctl.redirect(307, 'http://elsewhere.invalid/'), { times: 1 });
    fcp.on('claim', (_, ctl) => ctl.answer(200, {}), { times: 1 });
    fcp.on('claim', (_, ctl) => ctl.answer(304), { times: 1 });
    fcp.on('claim', (_, ctl) => ctl.answer(200), { times: 1 });
    const moved = await worker.claim();
    expect([moved.status, moved.headers.get('location')]).toEqual([
      307,
      'http://elsewhere.invalid/',
    ]);
    expect((await worker.claim()).body).toEqual({});
    expect((await worker.claim()).status).toBe(304);
    expect((await worker.claim()).body).toEqual({ text: '' });
  });

  it('answer late, by the clock or when the test says so; applied at once', async () => {
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const task = fcp.offer(hello);
    fcp.on('claim', (_, ctl) => ctl.later(gate), { times: 1 });
    fcp.on('claim', (_, ctl) => ctl.later(50), { times: 1 });
    const held = worker.take();
    await task.granted();
    expect(fcp.log[0]?.answered).toBeUndefined();
    release();
    expect(await held).toHaveLength(1);
    await worker.claim();
    const late = fcp.log[1]!;
    expect(late.answered!.t - late.t).toBeGreaterThan(45);
  });

  it('never answer, applied or not', async () => {
    const task = fcp.offer(hello);
    fcp.on('claim', (_, ctl) => ctl.never(), { times: 1 });
    fcp.on('claim', (_, ctl) => ctl.never({ applied: true }), { times: 1 });
    const first = failure(worker.claim());
    await fcp.until(() => fcp.log.length === 1);
    const second = failure(worker.claim());
    await task.granted();
    expect(fcp.log.map((request) => request.answered)).toEqual([undefined, undefined]);
    await fcp.restart();
    expect(await Promise.all([first, second])).not.toContain('answered');
    expect(fcp.log.map((request) => request.cut)).toEqual(['restart', 'restart']);
  });

  it('cut before, after and within the answer, with FIN or RST', async () => {
    const attempt = await taken();
    const complete = () => worker.report('complete', attempt, { result: 1 });
    fcp.on(carrying('complete'), (_, ctl) => ctl.cutBefore('rst'), { times: 1 });
    expect(await failure(complete())).toBe('ECONNRESET');
    expect(fcp.reports.at(-1)?.answer).toBeUndefined();
    fcp.on(carrying('complete'), (_, ctl) => ctl.cutAfter(), { times: 1 });
    expect(await failure(complete())).toMatch(/other side closed|UND_ERR_SOCKET|ECONNRESET/);
    expect(fcp.reports.at(-1)).toMatchObject({
      answer: { status: 200 },
      request: { cut: 'after' },
    });
    expect(toldAbout(fcp.reports.at(-1)!)).toBeUndefined();
    fcp.on(carrying('complete'), (_, ctl) => ctl.cutMidway(), { times: 1 });
    expect(await failure(complete())).not.toBe('answered');
    expect((await complete()).body.replayed).toBe(true);
    expect(fcp.violations).toEqual([]);
  });

  it('drip an answer, write raw bytes and stream a body of any length', async () => {
    await taken();
    fcp.on('claim', (_, ctl) => ctl.drip({ chunk: 7 }), { times: 1 });
    expect((await worker.claim()).body.attempts).toEqual([]);
    fcp.on('claim', (_, ctl) => ctl.raw('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n{'), {
      times: 1,
    });
    expect(await failure(worker.claim())).not.toBe('answered');
    fcp.on('claim', (_, ctl) => ctl.raw('SSH-2.0-hello\r\n'), { times: 1 });
    expect(await failure(worker.claim())).toMatch(/HPE|HTTP\/1\.1 protocol/);
    const bytes = gzipSync(Buffer.alloc(3_000_000, ' '));
    fcp.on('claim', (_, ctl) => ctl.stream(200, { 'content-encoding': 'gzip' }, [bytes]), {
      times: 1,
    });
    expect((await worker.claim()).body.text).toHaveLength(gunzipSync(bytes).length);
  });

  it('end the streaming of an endless body when the worker hangs up', async () => {
    let pieces = 0;
    function* endless() {
      for (;;) {
        pieces++;
        yield 'x'.repeat(65_536);
      }
    }
    fcp.on('claim', (_, ctl) => ctl.stream(200, {}, endless()));
    const abort = new AbortController();
    const response = await fetch(`${fcp.url}/api/tasks/v1/claims`, {
      method: 'POST',
      signal: abort.signal,
    });
    await response.body?.getReader().read();
    abort.abort();
    await fcp.until(() => fcp.openSockets === 0);
    const seen = pieces;
    await fcp.quiet('any', 30);
    expect(pieces).toBe(seen);
  });

  it('close the connection soon after an answer', async () => {
    fcp.on('any', (_, ctl) => ctl.closeSoon(5));
    for (let i = 1; i <= 3; i++) {
      expect((await worker.claim()).status).toBe(200);
      await fcp.until(() => fcp.openSockets === 0);
      expect(fcp.sockets).toHaveLength(i);
    }
  });

  it('that make a mistake end the test’s waiting', async () => {
    fcp.on('claim', () => {
      throw new Error('a slip in the script');
    });
    const waiting = fcp.next('hints');
    await Promise.all([
      expect(waiting).rejects.toThrow('a slip in the script'),
      expect(failure(worker.claim())).resolves.not.toBe('answered'),
    ]);
    await expect(fcp.stop()).rejects.toThrow('a slip in the script');
    await fcp.stop();
  });
});

describe('rules for reports', () => {
  it('answer one report of a batch and leave the others alone', async () => {
    const attempt = await taken();
    fcp.onReport('complete', (_, ctl) => ctl.problem(503, 'UNAVAILABLE', { retryAfterMs: 40 }), {
      times: 1,
    });
    fcp.onReport(
      (report) => report.op === 'progress',
      (_, ctl) => ctl.stale(),
      { times: 1 },
    );
    const { body } = await worker.batch(
      worker.reportBody('renew', attempt),
      worker.reportBody('progress', attempt, { n: 1 }),
      worker.reportBody('complete', attempt, { result: 1 }),
    );
    expect(body.results).toMatchObject([
      { status: 200, body: { op: 'renew' } },
      { status: 409, body: { code: 'STALE_ATTEMPT' } },
      { status: 503, body: { code: 'UNAVAILABLE', retryAfterMs: 40 } },
    ]);
    expect(fcp.reports.map(toldAbout)).toMatchObject([
      { accepted: true },
      { accepted: false, code: 'STALE_ATTEMPT' },
      { status: 503 },
    ]);
    expect((await worker.report('complete', attempt, { result: 1 })).body).toMatchObject({
      accepted: true,
    });
  });

  it('may change what the control plane says', async () => {
    const attempt = await taken();
    fcp.onReport('renew', (_, ctl) =>
      ctl.pass(({ status, body }) => ({ status, body: { ...body, leaseMs: 77 } })),
    );
    expect((await worker.report('renew', attempt)).body.leaseMs).toBe(77);
  });
});

describe('waiting', () => {
  it('resolves with what was looked for, at once if it is there already', async () => {
    const claim = fcp.next('claim');
    await worker.claim();
    expect((await claim).n).toBe(1);
    expect((await fcp.until(() => fcp.requests('claim')[0])).n).toBe(1);
  });

  it('tells the timeline without secrets when it was in vain', async () => {
    const attempt = await taken();
    await worker.report('renew', attempt);
    await worker.call('GET', '/doctor?key=il_secret');
    const error = await fcp
      .next('batch', { timeoutMs: 20 })
      .catch((reason: Error) => reason.message);
    expect(error).toContain('The kit waited 0.02 s in vain for: the next batch');
    expect(error).toMatch(/#1 socket 1 POST \/api\/tasks\/v1\/claims \S+ → 200 after \d+ ms/);
    expect(error).toContain(`renew ${attempt.attemptId.slice(-6)} [200]`);
    expect(error).not.toContain('il_secret');
    expect(error).not.toContain(worker.key);
    expect(error).not.toContain(attempt.leaseToken);
  });

  it('for silence ends with the first request that breaks it', async () => {
    await fcp.quiet('claim', 20);
    const quiet = fcp.quiet('claim', 10_000);
    await Promise.all([expect(quiet).rejects.toThrow('no claim was expected'), worker.claim()]);
  });

  it('ends when FCP stops', async () => {
    const waiting = fcp.next('claim');
    await Promise.all([expect(waiting).rejects.toThrow('FCP was stopped'), fcp.stop()]);
  });
});

describe('restarts', () => {
  it.each(['fin', 'rst'] as const)(
    'come back on the same port with what they knew (%s)',
    async (mode) => {
      const { url } = fcp;
      const requestId = randomUUID();
      fcp.offer(hello);
      const attempts = await worker.take({ requestId });
      await fcp.restart({ mode });
      expect(fcp.url).toBe(url);
      expect(await worker.take({ requestId })).toEqual(attempts);
      expect(fcp.sockets).toHaveLength(2);
    },
  );

  it('refuse connections for a while', async () => {
    await worker.claim();
    const restarting = fcp.restart({ mode: 'refused', downMs: 200 });
    await fcp.until(() => fcp.openSockets === 0);
    expect(await failure(worker.claim())).toBe('ECONNREFUSED');
    await restarting;
    expect((await worker.claim()).status).toBe(200);
  });

  it('may be stopped while nobody listens', async () => {
    const restarting = fcp.restart({ mode: 'refused', downMs: 60_000 });
    await fcp.stop();
    await restarting;
    expect(await failure(worker.claim())).toBe('ECONNREFUSED');
  });

  it('note a request whose worker hung up', async () => {
    fcp.on('claim', (_, ctl) => ctl.never());
    const abort = new AbortController();
    const claim = fetch(`${fcp.url}/api/tasks/v1/claims`, { method: 'POST', signal: abort.signal });
    await Promise.all([
      expect(claim).rejects.toThrow(),
      fcp.next('claim').then(() => abort.abort()),
    ]);
    await fcp.until(() => fcp.log[0]?.cut === 'client');
  });
});
