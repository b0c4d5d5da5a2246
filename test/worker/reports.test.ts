import { expect, it } from 'vitest';
import { returned } from '../../sim/carrier.ts';
import { noAnswer, ok, refused, type Said } from '../../sim/wire-words.ts';
import type { ReportAnswer } from '../../src/contract/index.ts';
import { workerDefaults } from '../../src/core/defaults.ts';
import { gaps, handler, SimWorld } from './sim-rig.ts';

/** A world with one finished attempt whose `complete` is answered as the test says. */
async function completing(answer: (n: number) => Said<ReportAnswer> | undefined) {
  const world = new SimWorld();
  const one = world.transport.offer({ type: 'demo/hello' });
  let n = 0;
  world.transport.onReport('complete', (_, byDefault) => answer(++n) ?? byDefault());
  await world.start({ scripts: { 'demo/hello': world.works(10, { large: 'result' }) } });
  return { world, one, transport: world.transport };
}

it('forgets a report that was accepted', async () => {
  const { world, one } = await completing(() => undefined);
  await world.until(() => one.ended);
  await world.advance(5_000);
  expect(world.transport.sent('complete').length).toBe(1);
  expect(world.worker.status()).toMatchObject({ unanswered: 0, attempts: [] });
  expect(world.spool.stats()).toMatchObject({ pending: 0, bytes: 0, ok: true });
  expect(world.files('reports')).toEqual([]);
  expect(world.files('running')).toEqual([]);
  world.check();
});

it('takes an acceptance that names another report for no answer', async () => {
  for (const other of [{ attemptId: 'att_99' }, { fence: 7 }, { op: 'fail' }]) {
    const { world, one } = await completing((n) =>
      n > 2
        ? undefined
        : ok({ accepted: true, attemptId: 'att_1', fence: 1, op: 'complete', ...other }),
    );
    await world.until(() => one.ended);
    expect(world.transport.sent('complete').length).toBe(3);
    world.check();
  }
});

it('sends a report again with backoff while nobody answers, and never in a hot loop', async () => {
  const { world, one } = await completing((n) =>
    n < 12 ? noAnswer('not-the-contract') : undefined,
  );
  await world.until(() => one.ended, 300_000);
  const at = world.transport.sent('complete').map((sent) => sent.at);
  const between = gaps(at);
  expect(between.length).toBe(11);
  for (const gap of between) expect(gap).toBeGreaterThanOrEqual(350);
  expect(Math.max(...between)).toBeLessThanOrEqual(39_100);
  expect(between[4]).toBeGreaterThan(4_000);
  world.check();
});

it('lets no other report wait for one that is told to wait', async () => {
  const { world, one, transport } = await completing((n) =>
    n === 1 ? refused(429, 'RATE_LIMITED', { retryAfterMs: 20_000 }) : undefined,
  );
  await world.advance(100);
  const others = Array.from({ length: 5 }, () => transport.offer({ type: 'demo/hello' }));
  transport.hint({ kind: 'wake', types: [] });
  await world.until(() => others.every(({ ended }) => ended), 3_000);
  expect(one.ended).toBeUndefined();
  await world.until(() => one.ended);
  const [first, second] = transport.sent('complete', one.attempt.attemptId);
  expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(20_000);
  expect((second?.at ?? 0) - (first?.at ?? 0)).toBeLessThanOrEqual(22_100);
  world.check();
});

it('lets no other report wait for one that nobody answers, alone or in a batch', async () => {
  const world = new SimWorld();
  const { transport } = world;
  const poison = transport.offer({ type: 'demo/hello' });
  // A proxy that dislikes the words of one result: whatever call it is in gets an HTML page.
  const hasPoison = (request: unknown) =>
    JSON.stringify(request).includes('"complete"') && JSON.stringify(request).includes('"att_1"');
  transport.onCall(
    (call) => (call.kind === 'report' || call.kind === 'batch') && hasPoison(call.request),
    () => noAnswer('not-the-contract'),
  );
  const others = Array.from({ length: 60 }, () => transport.offer({ type: 'demo/hello' }));
  await world.start({ maxConcurrent: 8, scripts: { 'demo/hello': world.works(50) } });
  await world.until(() => others.every(({ ended }) => ended), 2_000);
  expect(poison.ended).toBeUndefined();
  const tries = transport.sent('complete', 'att_1').length;
  expect(tries).toBeLessThan(30);
  for (let i = 0; i < 25; i++) {
    await world.advance(4_800);
    const next = transport.offer({ type: 'demo/hello' });
    transport.hint({ kind: 'wake', types: [] });
    await world.until(() => next.ended, 350);
  }
  const more = transport.sent('complete', 'att_1').length - tries;
  expect(more).toBeGreaterThanOrEqual(2);
  expect(more).toBeLessThanOrEqual(30);
  world.check();
});

it('soon finds the one report in a full batch that nobody answers', async () => {
  const world = new SimWorld();
  const { transport } = world;
  const all = Array.from({ length: 60 }, () => transport.offer({ type: 'demo/hello' }));
  const silence = transport.onReport('complete', () => noAnswer('cut'));
  const options = { maxConcurrent: 60, scripts: { 'demo/hello': world.works(10) } };
  await world.start(options);
  await world.until(() => world.spool.stats().pending === 60);
  world.kill();
  silence();
  transport.onCall(
    ({ request }) => JSON.stringify(request ?? null).includes('"complete","taskId":"tsk_30"'),
    () => noAnswer('not-the-contract'),
  );
  await world.start(options);
  const others = all.filter(({ attempt }) => attempt.taskId !== 'tsk_30');
  await world.until(() => others.every(({ ended }) => ended), 8_000);
  expect(all[29]?.ended).toBeUndefined();
  await world.until(() => world.spool.stats().pending === 1, 100);
  world.check({ lapses: true });
});

it('asks with one report at a time in an outage, and is soon done with all once it is over', async () => {
  const world = new SimWorld();
  const { transport } = world;
  const all = Array.from({ length: 100 }, () => transport.offer({ type: 'demo/hello' }));
  await world.start({ maxConcurrent: 100, scripts: { 'demo/hello': world.works(5_000) } });
  await world.until(() => world.carrier.running === 100);
  transport.down = true;
  await world.advance(120_000);
  const tried = transport.sent('complete');
  expect(new Set(tried.map(({ call }) => call)).size).toBeLessThan(20);
  transport.down = false;
  const before = transport.calls.length;
  // Whichever call is answered first: reports try again with it, not at the end of a pause of their own.
  const isAnswered = () =>
    transport.calls.slice(before).some(({ answer }) => answer?.kind === 'ok');
  await world.until(isAnswered, 45_000);
  await world.until(() => all.every(({ ended }) => ended), 5_000);
  const calls = transport.calls
    .slice(before)
    .filter(({ kind }) => kind === 'batch' || kind === 'report');
  expect(
    calls.filter(({ request }) => JSON.stringify(request).includes('complete')).length,
  ).toBeLessThan(60);
  world.check({ lapses: true });
});

it('sends items again, each alone, that the results of a batch lacked', async () => {
  const world = new SimWorld();
  const { transport } = world;
  const all = [1, 2, 3].map(() => transport.offer({ type: 'demo/hello' }));
  const silence = transport.onReport('complete', () => noAnswer('cut'));
  const options = { maxConcurrent: 3, scripts: { 'demo/hello': world.works(10) } };
  await world.start(options);
  await world.until(() => world.spool.stats().pending === 3);
  world.kill();
  silence();
  const before = transport.sent('complete').length;
  transport.onCall(
    // Renewals of what is owed go their own way, perhaps before.
    ({ kind, request }) => kind === 'batch' && JSON.stringify(request).includes('complete'),
    (_, byDefault) => {
      const said = byDefault() as { kind: 'ok'; value: unknown[] };
      return ok(said.value.slice(0, 1)) as Said<unknown>;
    },
    1,
  );
  await world.start(options);
  await world.until(() => all.every(({ ended }) => ended));
  await world.until(() => world.worker.status().unanswered === 0);
  const sent = transport.sent('complete').slice(before);
  expect(sent.map(({ call }) => call.kind)).toEqual([
    'batch',
    'batch',
    'batch',
    'report',
    'report',
  ]);
  for (const { answer } of sent.slice(3))
    expect(answer).toMatchObject({ kind: 'ok', value: { replayed: true } });
  world.check({ lapses: true });
});

it('halves a batch that is refused whole and refuses no report for it', async () => {
  const world = new SimWorld();
  const { transport } = world;
  const all = Array.from({ length: 40 }, () => transport.offer({ type: 'demo/hello' }));
  transport.onCall(
    (call) => call.kind === 'batch' && (call.request as unknown[]).length > 7,
    (call) => refused((call.request as unknown[]).length > 20 ? 413 : 400, 'INVALID_REQUEST'),
  );
  await world.start({ maxConcurrent: 40, scripts: { 'demo/hello': world.works(10) } });
  await world.until(() => all.every(({ ended }) => ended), 10_000);
  expect(all.every(({ ended }) => ended?.op === 'complete')).toBe(true);
  expect(world.files('refused')).toEqual([]);
  world.check();
});

it('keeps to the batch limit that discovery told', async () => {
  const world = new SimWorld();
  const { transport } = world;
  transport.batch = 4;
  const all = Array.from({ length: 30 }, () => transport.offer({ type: 'demo/hello' }));
  await world.start({ maxConcurrent: 30, scripts: { 'demo/hello': world.works(2_500) } });
  await world.until(() => all.every(({ ended }) => ended), 10_000);
  for (const call of transport.of('batch'))
    expect((call.request as unknown[]).length).toBeLessThanOrEqual(4);
  world.check();
});

it('asks once for the limits when a batch is refused whole, and keeps to smaller ones from then on', async () => {
  const world = new SimWorld();
  const { transport } = world;
  transport.batch = 256;
  await world.start({ maxConcurrent: 40, scripts: { 'demo/hello': world.works(10) } });
  await world.advance(5_000);
  const asked = transport.of('discover').length;
  // Another one answers at that address from now on.
  transport.batch = 4;
  const offer = () => Array.from({ length: 40 }, () => transport.offer({ type: 'demo/hello' }));
  const first = offer();
  await world.until(() => first.every(({ ended }) => ended), 10_000);
  await world.until(() => transport.of('discover').length === asked + 1, 30_000);
  await world.until(() => world.worker.status().unanswered === 0, 10_000);
  const before = transport.of('batch').length;
  const second = offer();
  await world.until(() => second.every(({ ended }) => ended), 10_000);
  const after = transport.of('batch').slice(before);
  expect(after.length).toBeGreaterThan(0);
  for (const { request } of after) expect((request as unknown[]).length).toBeLessThanOrEqual(4);
  expect(transport.of('discover').length).toBe(asked + 1);
  world.check();
});

it('asks no more than once a minute for limits that are as before while batches are refused whole', async () => {
  const world = new SimWorld();
  const { transport } = world;
  await world.start({ maxConcurrent: 8, scripts: { 'demo/hello': world.works(10) } });
  await world.advance(5_000);
  const asked = transport.of('discover').length;
  transport.onCall('batch', () => refused(413, 'PAYLOAD_TOO_LARGE'));
  const load = async () => {
    const all = Array.from({ length: 24 }, () => transport.offer({ type: 'demo/hello' }));
    await world.until(() => all.every(({ ended }) => ended), 15_000);
  };
  await load();
  await load();
  expect(transport.of('discover').length).toBe(asked + 1);
  await world.advance(workerDefaults.limitsDoubtGapMs);
  await load();
  await world.until(() => transport.of('discover').length === asked + 2, 5_000);
  world.check();
});

it('sets a result aside that is too large, then reports RESULT_REFUSED in its place, in durable order', async () => {
  const { world, one, transport } = await completing(() => refused(413, 'PAYLOAD_TOO_LARGE'));
  let asideFirst: boolean | undefined;
  transport.onReport('fail', (_, byDefault) => {
    asideFirst = world.files('refused').some((text) => text.includes('"large":"result"'));
    return byDefault();
  });
  await world.until(() => one.ended);
  expect(one.ended).toMatchObject({
    op: 'fail',
    error: { code: 'RESULT_REFUSED', retryable: false, details: { handlerReturned: true } },
  });
  expect(asideFirst).toBe(true);
  expect(world.files('refused').join('')).toContain('PAYLOAD_TOO_LARGE');
  await world.until(() => world.worker.status().unanswered === 0);
  await world.advance(300);
  expect(world.files('reports')).toEqual([]);
  expect(world.files('running')).toEqual([]);
  world.check();
});

it('renews an attempt while its refused report is set aside and its follow-up written', async () => {
  const { world, one } = await completing(() => refused(422, 'FILE_MISSING'));
  world.machine.disk.fail({ path: /refused/, step: 'write', code: 'EIO', times: 5 });
  await world.until(() => one.ended, 20_000);
  expect(one.ended?.op).toBe('fail');
  expect(world.files('refused').join('')).toContain('"large":"result"');
  world.check();
});

it('sets the follow-up aside too where that is refused, and nothing follows it', async () => {
  const { world, one, transport } = await completing(() => refused(400, 'INVALID_REQUEST'));
  transport.onReport('fail', () => refused(400, 'INVALID_REQUEST'));
  await world.advance(5_000);
  expect(one.sent.map(({ report }) => report.op).filter((op) => op !== 'renew')).toEqual([
    'start',
    'complete',
    'fail',
  ]);
  expect(world.files('refused').length).toBe(2);
  expect(world.worker.status()).toMatchObject({ unanswered: 0, attempts: [] });
  world.check({ lapses: true });
});

it('sends the same word without its message where a loss is refused', async () => {
  const world = new SimWorld();
  const one = world.transport.offer({ type: 'demo/hello' });
  let n = 0;
  world.transport.onReport('lost', (_, byDefault) =>
    ++n === 1 ? refused(400, 'INVALID_REQUEST') : byDefault(),
  );
  await world.start({ scripts: { 'demo/hello': () => ({ how: 'died', exitCode: 7 }) } });
  await world.until(() => one.ended);
  const [first, second] = world.transport.sent('lost').map(({ report }) => report);
  expect(first).toMatchObject({ reason: 'host-died', details: { exitCode: 7 } });
  expect(second).not.toHaveProperty('details');
  expect(second).toMatchObject({ reason: 'host-died', begun: true });
  world.check();
});

it('sets a stale report aside, notes whether it was recorded, and says nothing more', async () => {
  for (const recorded of [true, false]) {
    const { world, one } = await completing(() =>
      refused(409, 'STALE_ATTEMPT', recorded ? { recorded } : {}),
    );
    await world.advance(10_000);
    expect(one.sent.filter(({ report }) => report.op === 'complete').length).toBe(1);
    expect(one.sent.at(-1)?.report.op).toBe('complete');
    const [aside] = world.files('stale');
    expect(aside).toContain('"large":"result"');
    expect(aside?.includes('"recorded":true')).toBe(recorded);
    expect(world.worker.status()).toMatchObject({ unanswered: 0, attempts: [] });
    expect(world.files('reports')).toEqual([]);
    world.check({ lapses: true });
  }
});

it('sets a report aside that met another conflict, and a loss follows it', async () => {
  const { world, one } = await completing(() => refused(409, 'CONFLICT'));
  await world.until(() => one.ended);
  expect(one.ended).toMatchObject({ op: 'lost', begun: true });
  expect(world.files('refused').join('')).toContain('"large":"result"');
  world.check();
});

it('sets a release aside that may not be released, and a loss that did not begin follows it', async () => {
  const world = new SimWorld();
  const { transport } = world;
  const one = transport.offer({ type: 'x/y', effectSafety: 'non-idempotent' });
  transport.onReport('start', () => refused(409, 'LEASE_EXPIRED'));
  transport.onReport('release', () => refused(409, 'NOT_RELEASABLE'));
  await world.start({ handlers: [handler('x/y', 'non-idempotent')] });
  await world.until(() => one.ended);
  expect(one.ended).toMatchObject({ op: 'lost', reason: 'lease', begun: false });
  expect(world.files('refused').join('')).toContain('NOT_RELEASABLE');
  await world.advance(1_000);
  expect(world.files('reports')).toEqual([]);
  expect(world.files('running')).toEqual([]);
  world.check();
});

it('sets a wordless report aside as stale that was told LEASE_EXPIRED, and nothing follows', async () => {
  const world = new SimWorld();
  const one = world.transport.offer({ type: 'demo/hello' });
  world.transport.onReport('lost', () => refused(409, 'LEASE_EXPIRED'));
  await world.start({ scripts: { 'demo/hello': () => ({ how: 'died', signal: 'SIGKILL' }) } });
  await world.advance(5_000);
  expect(one.sent.map(({ report }) => report.op)).toEqual(['start', 'lost']);
  expect(world.files('stale').length).toBe(1);
  world.check({ lapses: true });
});

it('refuses for good what its own project does not know', async () => {
  const { world, one } = await completing(() =>
    refused(404, 'NOT_FOUND', { kind: 'attempt', project: 'default' }),
  );
  await world.until(() => one.sent.some(({ report }) => report.op === 'fail'));
  expect(world.files('refused').length).toBe(1);
  expect(world.transport.keyReads).toBe(0);
  world.check({ lapses: true });
});

it('keeps a report that another project answers for, claims nothing meanwhile, and says why', async () => {
  const { world, one, transport } = await completing((n) =>
    n > 6 ? undefined : refused(404, 'NOT_FOUND', { kind: 'attempt', project: 'other' }),
  );
  await world.until(() => transport.sent('complete').length >= 2, 20_000);
  const second = transport.offer({ type: 'demo/hello' });
  await world.advance(1_000);
  const claims = transport.of('claim').length;
  await world.advance(10_000);
  expect(transport.of('claim').length).toBe(claims);
  expect(transport.of('present').at(-1)?.request).toMatchObject({
    notClaiming: expect.stringMatching(/another project or control plane/),
  });
  expect(world.files('refused')).toEqual([]);
  expect(world.spool.stats().pending).toBe(1);
  await world.until(() => one.ended, 200_000);
  const between = gaps(transport.sent('complete').map(({ at }) => at));
  for (const gap of between) expect(gap).toBeGreaterThanOrEqual(350);
  await world.until(() => second.ended, 5_000);
  expect(transport.keyReads).toBeGreaterThan(0);
  world.check();
});

it('keeps a report whose operation is unknown until discovery lists it', async () => {
  const { world, one, transport } = await completing(() =>
    transport.features.includes('complete') ? undefined : refused(400, 'UNSUPPORTED_OPERATION'),
  );
  await world.until(() => transport.sent('complete').length === 1);
  const discoveries = transport.of('discover').length;
  await world.advance(180_000);
  expect(transport.sent('complete').length).toBe(1);
  const asked = transport.of('discover').length - discoveries;
  expect(asked).toBeGreaterThanOrEqual(4);
  expect(asked).toBeLessThanOrEqual(14);
  transport.features.push('complete');
  await world.until(() => one.ended, 80_000);
  expect(transport.sent('complete').length).toBe(2);
  const settled = transport.of('discover').length;
  await world.advance(300_000);
  expect(transport.of('discover').length).toBe(settled);
  world.check();
});

it('does not wait for ever for a control plane that knows an operation and does not list it', async () => {
  const { world, one, transport } = await completing((n) =>
    n === 1 ? refused(400, 'UNSUPPORTED_OPERATION') : undefined,
  );
  await world.until(() => one.ended, 700_000);
  expect(transport.sent('complete').length).toBe(2);
  world.check();
});

it('asks for discovery again until it is answered', async () => {
  const world = new SimWorld();
  world.transport.onCall('discover', () => noAnswer('cut'), 5);
  await world.start();
  await world.advance(60_000);
  expect(world.transport.of('discover').length).toBe(6);
});

it('gives the slot away while a small report is being written', async () => {
  const world = new SimWorld();
  const { transport } = world;
  for (let n = 0; n < 2; n++) transport.offer({ type: 'demo/hello' });
  await world.start({ maxConcurrent: 1, scripts: { 'demo/hello': world.works(100) } });
  world.machine.disk.fail({ step: 'syncFolder', path: /reports/, ms: 700, times: 1 });
  await world.until(() => world.carrier.started.length === 2, 400);
  expect(transport.sent('complete')).toEqual([]);
  expect(world.carrier.peak).toBe(1);
  await world.until(() => transport.sent('complete').length === 2);
  world.check();
});

it('keeps the slot until a large report is on disk', async () => {
  const world = new SimWorld();
  const { transport } = world;
  const all = [1, 2].map(() => transport.offer({ type: 'demo/hello' }));
  const large = 'x'.repeat(workerDefaults.endingBytesMost);
  await world.start({ maxConcurrent: 1, scripts: { 'demo/hello': world.works(100, large) } });
  world.machine.disk.fail({ step: 'syncFolder', path: /reports/, ms: 700, times: 1 });
  await world.until(() => world.carrier.started.length === 1);
  await world.until(() => world.carrier.running === 0);
  const endedAt = world.now;
  // The next one is claimed for meanwhile, but it waits for the slot.
  await world.until(() => all[1]?.grantedAt !== undefined, 300);
  expect(world.carrier.started.length).toBe(1);
  await world.until(() => world.carrier.started.length === 2);
  expect(world.now - endedAt).toBeGreaterThanOrEqual(699);
  world.check();
});

it('reports what a handler says and how it ends, as it is', async () => {
  const ends = {
    returned: returned({ a: 1.1 }),
    threw: {
      how: 'threw',
      error: { code: 'bad code', message: 'x'.repeat(5_000_000), retryable: true, retryAfterMs: 5 },
    },
    unknown: { how: 'unknown', error: { code: 'MINE', message: '', retryable: false } },
    refused: { how: 'threw', error: { code: 'MINE', message: '', retryable: false }, begun: false },
    died: { how: 'died', exitCode: 0 },
  } as const;
  const world = new SimWorld();
  const offered = Object.keys(ends).map((input) =>
    world.transport.offer({ type: 'demo/hello', input }),
  );
  await world.start({
    maxConcurrent: 4,
    scripts: { 'demo/hello': ({ job }) => ends[job.input as keyof typeof ends] },
  });
  await world.until(() => offered.every(({ ended }) => ended));
  const [returnedOne, threw, unknown, refused, died] = offered.map(({ ended }) => ended);
  expect(returnedOne).toMatchObject({ op: 'complete', result: { a: 1.1 } });
  expect(threw).toMatchObject({
    op: 'fail',
    error: { code: 'HANDLER_ERROR', retryable: true, retryAfterMs: 5 },
  });
  expect(JSON.stringify(threw).length).toBeLessThan(20_000);
  expect(unknown).toMatchObject({ op: 'unknown', error: { code: 'MINE' } });
  expect(refused).toMatchObject({ op: 'fail', begun: false });
  expect(threw).not.toHaveProperty('begun');
  expect(died).toMatchObject({
    op: 'lost',
    reason: 'host-died',
    begun: true,
    details: { exitCode: 0 },
  });
  world.check();
});

it('tells of a host that could not be started by giving the attempt back', async () => {
  const world = new SimWorld();
  const one = world.transport.offer({ type: 'demo/hello' });
  world.carrier = undefined as never;
  await world.make();
  const carrier = world.carrier as unknown as { start: unknown };
  carrier.start = () => ({
    ended: Promise.resolve({
      how: 'not-begun',
      error: { code: 'HOST', message: 'no host', retryable: true },
    }),
    openGate() {},
    refuseGate() {},
    stop() {},
  });
  await world.clock.time.until(world.worker.start());
  await world.until(() => one.ended);
  expect(one.ended).toMatchObject({ op: 'release', reason: 'host-unavailable' });
  world.check();
});
