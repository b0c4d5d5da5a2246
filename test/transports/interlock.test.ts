import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { attempt, attemptIdentity } from '../../src/contract/index.ts';
import { carrying } from '../../src/fcp/fcp.ts';
import { systemClock } from '../../src/system/clock.ts';
import { InterlockTransport } from '../../src/transports/interlock.ts';
import { constantKey } from '../../src/transports/key-source.ts';
import { claimBody, claimed, complete, fcpAndTransport, four, renew } from './worker.ts';

describe('calls', () => {
  it('discovers without a key', async () => {
    const { fcp, transport } = await fcpAndTransport();
    expect(await transport.discover()).toMatchObject({ kind: 'ok', value: { contracts: [1] } });
    expect(fcp.log[0]?.headers.authorization).toBeUndefined();
  });

  it('claims, renews, reports, and counts the lease from the send', async () => {
    const { fcp, transport } = await fcpAndTransport();
    const before = systemClock().now();
    fcp.offer({ type: 'demo/hello', input: { name: 'Ada' } });
    fcp.on('claim', (_, ctl) => ctl.later(100), { times: 1 });
    const answer = await transport.claim(claimBody());
    expect(answer.sentAt - before).toBeLessThan(100);
    if (answer.kind !== 'ok') throw new Error(answer.kind);
    const got = attempt.parse(answer.value.attempts[0]);
    expect(await transport.report(renew(got))).toMatchObject({
      kind: 'ok',
      value: { op: 'renew' },
    });
    expect(await transport.report(complete(got))).toMatchObject({
      kind: 'ok',
      value: { accepted: true, op: 'complete', attemptId: got.attemptId },
    });
    expect(await transport.report(complete(got))).toMatchObject({ value: { replayed: true } });
    expect(fcp.requests('report').map(({ path }) => path)).toEqual(
      ['renew', 'complete', 'complete'].map(
        (op) => `/api/tasks/v1/attempts/${got.attemptId}/${op}`,
      ),
    );
    expect(fcp.violations).toEqual([]);
  });

  it('is present', async () => {
    const { transport } = await fcpAndTransport();
    const answer = await transport.present('w1', {
      sessionId: 'ses_1',
      state: 'ready',
      slots: { max: 1, busy: 0 },
      pools: ['default'],
      handlersHash: 'none',
      versions: {},
      spool: { pending: 0, bytes: 0, oldestMs: null, ok: true },
    });
    expect(answer).toMatchObject({
      kind: 'ok',
      value: { project: 'default', presentAfterMs: 15_000 },
    });
  });

  it('tells a refusal with its problem', async () => {
    const { fcp, transport } = await fcpAndTransport();
    const got = await claimed(fcp, transport);
    fcp.expire(got.attemptId);
    expect(await transport.report({ op: 'start', ...four(got), sessionId: 'ses_1' })).toMatchObject(
      {
        kind: 'refused',
        status: 409,
        problem: { code: expect.stringMatching(/STALE_ATTEMPT|LEASE_EXPIRED/) },
      },
    );
  });

  it.each([
    ['the connection is cut before', (ctl: { cutBefore(): unknown }) => ctl.cutBefore(), 'cut'],
    ['the connection is cut after', (ctl: { cutAfter(): unknown }) => ctl.cutAfter(), 'cut'],
    ['the connection is cut midway', (ctl: { cutMidway(): unknown }) => ctl.cutMidway(), 'cut'],
    ['a proxy answers', (ctl: { html(): unknown }) => ctl.html(), 'not-the-contract'],
  ])(
    'gets no answer where %s, and the same report again is accepted once',
    async (_, break_, cause) => {
      const { fcp, transport } = await fcpAndTransport();
      const got = await claimed(fcp, transport);
      // Twice: a connection that proved dead is tried once more at once.
      fcp.on(carrying('complete'), (_request, ctl) => break_(ctl as never), { times: 2 });
      const report = complete(got);
      const first = await transport.report(report);
      expect(first).toMatchObject({ kind: 'no-answer', cause });
      let last = await transport.report(report);
      if (last.kind !== 'ok') last = await transport.report(report);
      expect(last).toMatchObject({ kind: 'ok' });
      const bodies = new Set(fcp.reports.map(({ request }) => request.bodyText));
      expect(bodies.size).toBe(1);
    },
  );

  it('does not take 200 {} or the acceptance of another report for an answer', async () => {
    const { fcp, transport } = await fcpAndTransport();
    const got = await claimed(fcp, transport);
    fcp.on(carrying('complete'), (_, ctl) => ctl.answer(200, {}), { times: 1 });
    expect(await transport.report(complete(got))).toMatchObject({ kind: 'no-answer' });
    const other = {
      accepted: true,
      attemptId: got.attemptId,
      fence: got.fence + 1,
      op: 'complete',
    };
    fcp.on(carrying('complete'), (_, ctl) => ctl.answer(200, other), { times: 1 });
    expect(await transport.report(complete(got))).toMatchObject({
      kind: 'no-answer',
      why: expect.stringContaining('another report'),
    });
  });

  it('says nothing of keys and tokens, whatever happens', async () => {
    const { fcp, transport } = await fcpAndTransport();
    const got = await claimed(fcp, transport);
    fcp.on('any', (request, ctl) =>
      ctl.answer(500, `<title>${request.headers.authorization}</title>`, {
        'content-type': 'text/html',
      }),
    );
    const answer = await transport.report(complete(got));
    expect(answer).toMatchObject({ kind: 'no-answer', why: expect.stringContaining('Bearer …') });
    expect(JSON.stringify(answer)).not.toMatch(/il_worker|leaseToken/);
  });
});

describe('a batch of reports', () => {
  it('tells of each report, in order', async () => {
    const { fcp, transport } = await fcpAndTransport();
    const [a, b, c] = [
      await claimed(fcp, transport),
      await claimed(fcp, transport),
      await claimed(fcp, transport),
    ];
    fcp.onReport(
      ({ attemptId }) => attemptId === b.attemptId,
      (_, ctl) => ctl.stale(),
    );
    const answer = await transport.reportBatch([complete(a), complete(b), renew(c)]);
    expect(answer).toMatchObject({
      kind: 'ok',
      value: [
        { kind: 'ok', value: { op: 'complete', attemptId: a.attemptId } },
        { kind: 'refused', status: 409, problem: { code: 'STALE_ATTEMPT' } },
        { kind: 'ok', value: { op: 'renew' } },
      ],
    });
  });

  it('has no answer for what the results lack', async () => {
    const { fcp, transport } = await fcpAndTransport();
    const [a, b] = [await claimed(fcp, transport), await claimed(fcp, transport)];
    fcp.on('batch', (_, ctl) =>
      ctl.pass((answer) => {
        const { results } = answer.body as { results: unknown[] };
        return { ...answer, body: { results: results.slice(0, 1) } };
      }),
    );
    expect(await transport.reportBatch([renew(a), renew(b)])).toMatchObject({
      value: [{ kind: 'ok' }, { kind: 'no-answer' }],
    });
  });

  it('is refused whole where the call is', async () => {
    const { fcp, transport } = await fcpAndTransport();
    const got = await claimed(fcp, transport);
    fcp.on('batch', (_, ctl) => ctl.answer(413, '<html>', { 'content-type': 'text/html' }));
    expect(await transport.reportBatch([renew(got)])).toMatchObject({
      kind: 'refused',
      status: 413,
    });
  });

  it('of renewals does not wait behind calls that hang', async () => {
    const { fcp, transport } = await fcpAndTransport();
    const got = await claimed(fcp, transport);
    fcp.on(carrying('complete'), (_, ctl) => ctl.never());
    const stuck = Array.from({ length: 40 }, () => transport.report(complete(got)));
    expect(await transport.reportBatch([renew(got)])).toMatchObject({ kind: 'ok' });
    await transport.close();
    await Promise.all(stuck);
  });
});

describe('the answer to a claim', () => {
  const whole = (input: string, id = 'att_1') =>
    `{"taskId":"tsk_1","attemptId":"${id}","fence":1,"leaseToken":"t","leaseMs":3000,"attempt":1,"type":"demo/hello",` +
    `"schemaVersion":1,"input":${input},"effectKey":"tsk_1","effectSafety":"pure","effectGate":"start","pool":"default","policy":{}}`;

  it.each([
    ['an integer that would be rounded', '{"id":9007199254740993}'],
    ['a number that no double holds', '[1e400]'],
    ['a name that is there twice', '{"a":1,"a":2}'],
    ['a lone surrogate', '"\\ud800"'],
    ['endless nesting', `${'['.repeat(5_000)}${']'.repeat(5_000)}`],
  ])('leaves out the input of an attempt that holds %s, and no other', async (_, input) => {
    const { fcp, transport } = await fcpAndTransport();
    const tricky = '{"attempts":"]","x":["{\\"attempts\\":[1]}"]}';
    const items = [whole(tricky, 'att_0'), whole(input), whole('1.10', 'att_2')];
    fcp.on('claim', (_request, ctl) =>
      ctl.answer(
        200,
        `{"x":{"attempts":[0]}, "attempts" : [ ${items.join(' , ')} ] ,"pollAfterMs":7}`,
        {
          'content-type': 'application/json',
        },
      ),
    );
    const answer = await transport.claim(claimBody());
    if (answer.kind !== 'ok') throw new Error(JSON.stringify(answer));
    const [first, bad, last] = answer.value.attempts;
    expect(attempt.parse(first).input).toEqual(JSON.parse(tricky));
    expect(attempt.safeParse(bad).success).toBe(false);
    expect(attemptIdentity.parse(bad)).toMatchObject({ attemptId: 'att_1', leaseToken: 't' });
    expect(attempt.parse(last).input).toBe(1.1);
    expect(answer.value.pollAfterMs).toBe(7);
  });

  it('that grows beyond its bound after decompression is refused, and the error names the limit', async () => {
    const { fcp, transport } = await fcpAndTransport();
    const bomb = gzipSync(Buffer.alloc(64 * 1_048_576, 0x20));
    fcp.on('claim', (_, ctl) => ctl.answer(200, bomb, { 'content-encoding': 'gzip' }));
    expect(await transport.claim(claimBody())).toMatchObject({
      kind: 'no-answer',
      cause: 'too-large',
      why: expect.stringContaining('8388608 bytes'),
    });
  });

  it('is given up when the caller says so, and answered by nobody later', async () => {
    const { fcp, transport } = await fcpAndTransport();
    const stop = new AbortController();
    fcp.on('claim', (_, ctl) => {
      stop.abort();
      return ctl.never();
    });
    expect(await transport.claim(claimBody(), stop.signal)).toMatchObject({ cause: 'aborted' });
  });
});

describe('connections', () => {
  it('that are destroyed 5 ms after every answer lose and double no completion', async () => {
    const { fcp, transport } = await fcpAndTransport();
    const cuts = fcp.on('any', (_, ctl) => ctl.closeSoon(5, 'rst'));
    let accepted = 0;
    for (let i = 0; i < 100; i++) {
      const got = await claimed(fcp, transport);
      let answer = await transport.report(complete(got, i));
      for (let tries = 0; answer.kind === 'no-answer' && tries < 10; tries++)
        answer = await transport.report(complete(got, i));
      if (answer.kind === 'ok') accepted++;
    }
    expect(accepted).toBe(100);
    expect(cuts.seen.length).toBeGreaterThanOrEqual(200);
    expect(fcp.violations).toEqual([]);
  });
});

it('takes any fetch instead of connections of its own', async () => {
  const asked: string[] = [];
  const transport = new InterlockTransport({
    serviceUrl: 'http://cp.test/base/',
    insecureHttp: true,
    key: constantKey('il_x'),
    clock: systemClock(),
    fetch: async (url, init) => {
      const request = new Request(url, init);
      asked.push(`${request.method} ${request.url} ${request.headers.get('authorization')}`);
      return Response.json({ attempts: [] });
    },
  });
  expect(await transport.claim(claimBody())).toMatchObject({
    kind: 'ok',
    value: { attempts: [], pollAfterMs: 1_000, drain: false },
  });
  expect(asked).toEqual(['POST http://cp.test/base/api/tasks/v1/claims Bearer il_x']);
  await transport.close();
});

it('limits a claim that waits with patience, so that an idle worker does not look for sleep every second', async () => {
  const clock = systemClock();
  const limits: unknown[] = [];
  const transport = new InterlockTransport({
    serviceUrl: 'http://127.0.0.1:7420',
    key: constantKey('il_test'),
    clock: {
      ...{ now: () => clock.now(), wall: () => clock.wall(), sleep: clock.sleep.bind(clock) },
      timer: (ms, fire, patience) => {
        limits.push(patience);
        return clock.timer(ms, fire, patience);
      },
    },
    fetch: () => Promise.reject(new Error('nobody is there')),
  });
  await transport.claim(claimBody());
  await transport.claim({ ...claimBody(), waitMs: 20_000 });
  expect(limits).toEqual([undefined, 'patient']);
});
