import { expect, it } from 'vitest';
import { returned } from '../../sim/carrier.ts';
import { noAnswer, refused } from '../../sim/wire-words.ts';
import { hostDefaults, spoolDefaults } from '../../src/core/defaults.ts';
import { gaps, handler, SimWorld } from './sim-rig.ts';

const WRITES = { step: ['write', 'append'], code: 'ENOSPC' } as const;

/** A world whose one handler runs when the disk becomes full. */
async function full(ms = 2_000) {
  const world = new SimWorld();
  const one = world.transport.offer({ type: 'demo/hello' });
  await world.start({ scripts: { 'demo/hello': world.works(ms, { large: 'result' }) } });
  await world.until(() => world.carrier.running === 1);
  world.diskRefuses = true;
  const fault = world.machine.disk.fail(WRITES);
  return { world, one, transport: world.transport, fault };
}

it('sends a report directly while the disk refuses it, claims nothing, says why, and recovers by itself', async () => {
  const { world, one, transport, fault } = await full();
  await world.until(() => one.ended);
  expect(one.ended?.op).toBe('complete');
  await world.advance(1_000);
  const claims = transport.of('claim').length;
  const waiting = transport.offer({ type: 'demo/hello' });
  transport.hint({ kind: 'wake', types: [] });
  await world.advance(30_000);
  expect(transport.of('claim').length).toBe(claims);
  expect(transport.of('present').at(-1)?.request).toMatchObject({
    notClaiming: expect.stringMatching(/spool .* cannot be written \(ENOSPC\)/),
    spool: { ok: false },
  });
  expect(world.worker.status().notClaiming).toMatch(/ENOSPC/);
  fault.clear();
  await world.until(() => waiting.ended, 10_000);
  await world.advance(1_000);
  expect(transport.of('present').at(-1)?.request).not.toHaveProperty('notClaiming');
  expect(world.worker.status().notClaiming).toBeUndefined();
  world.check();
});

it('renews while neither disk nor control plane takes the report, and keeps its slot', async () => {
  const { world, one, transport, fault } = await full();
  transport.onReport('complete', () => refused(503, 'UNAVAILABLE'));
  await world.until(() => world.carrier.running === 0);
  await world.advance(20_000);
  expect(world.worker.status().slots.busy).toBe(1);
  const sent = transport.sent('complete').length;
  expect(sent).toBeGreaterThanOrEqual(3);
  expect(sent).toBeLessThan(10);
  fault.clear();
  await world.until(() => world.spool.stats().pending === 1, 10_000);
  expect(world.worker.status().slots.busy).toBe(0);
  transport.onReport('complete', (_, byDefault) => byDefault());
  world.check();
  expect(one.ended).toBeUndefined();
});

it('waits as long as a direct report is told to', async () => {
  const { world, one, transport } = await full();
  transport.onReport('complete', () => refused(429, 'RATE_LIMITED', { retryAfterMs: 9_000 }), 1);
  await world.until(() => one.ended, 30_000);
  const [gap] = gaps(transport.sent('complete').map(({ at }) => at));
  expect(gap).toBeGreaterThanOrEqual(9_000);
  world.check();
});

it('sends what the handler said before along with a direct report', async () => {
  const world = new SimWorld();
  const one = world.transport.offer({ type: 'demo/hello' });
  await world.start({
    scripts: {
      'demo/hello': async (play) => {
        await world.clock.sleep(500);
        play.listener.log([{ at: '2026-01-01T00:00:00Z', level: 'info', text: 'a' }]);
        await world.clock.sleep(100);
        play.listener.log([{ at: '2026-01-01T00:00:00Z', level: 'info', text: 'b' }]);
        return returned(1);
      },
    },
  });
  await world.until(() => world.carrier.running === 1);
  world.diskRefuses = true;
  world.machine.disk.fail(WRITES);
  await world.until(() => one.ended);
  const texts = world.transport
    .sent('log')
    .flatMap(({ report }) => (report.op === 'log' ? report.lines.map(({ text }) => text) : []));
  expect(texts).toEqual(['a', 'b']);
  world.check();
});

it('keeps a result that was refused directly: set aside as soon as the disk takes it, the follow-up after that', async () => {
  const { world, one, transport, fault } = await full();
  transport.onReport('complete', () => refused(413, 'PAYLOAD_TOO_LARGE'));
  await world.until(() => transport.sent('complete').length === 1);
  await world.advance(10_000);
  expect(transport.sent('complete').length).toBe(1);
  expect(one.ended).toBeUndefined();
  fault.clear();
  await world.until(() => one.ended, 10_000);
  expect(one.ended).toMatchObject({ op: 'fail', error: { code: 'RESULT_REFUSED' } });
  expect(world.files('refused').join('')).toContain('"large":"result"');
  await world.advance(1_000);
  expect(world.files('reports')).toEqual([]);
  world.check();
});

it('keeps a result that was told directly to be stale', async () => {
  const { world, transport, fault } = await full();
  transport.onReport('complete', () => refused(409, 'STALE_ATTEMPT', { recorded: true }));
  await world.until(() => transport.sent('complete').length === 1);
  await world.advance(5_000);
  fault.clear();
  await world.until(() => world.files('stale').length === 1, 5_000);
  expect(world.files('stale').join('')).toContain('"large":"result"');
  expect(transport.sent('complete').length).toBe(1);
  world.check({ lapses: true });
});

it('sends nothing directly after its attempt was told STALE_ATTEMPT', async () => {
  const { world, transport } = await full(4_000);
  transport.onReport('complete', () => noAnswer('cut'));
  await world.until(() => transport.sent('complete').length === 1);
  transport.onReport('renew', () => refused(409, 'STALE_ATTEMPT'));
  await world.until(() => transport.sent('renew').some(({ answer }) => answer?.kind === 'refused'));
  const sent = transport.reports.length;
  await world.advance(20_000);
  expect(transport.reports.length).toBe(sent);
  expect(world.worker.status()).toMatchObject({ slots: { busy: 0 }, attempts: [] });
  world.check({ lapses: true });
});

it('writes a report late rather than never: it goes on as if nothing had been', async () => {
  const { world, one, transport, fault } = await full();
  transport.down = true;
  await world.until(() => world.carrier.running === 0);
  await world.advance(5_000);
  fault.clear();
  await world.until(() => world.spool.stats().pending === 1, 10_000);
  transport.down = false;
  await world.until(() => one.ended, 40_000);
  world.check({ lapses: true });
});

it('begins nothing that it cannot record, gives it back at once, and does not use up tasks meanwhile', async () => {
  const world = new SimWorld();
  const { transport } = world;
  // The spool's own probe works, only this folder does not: it says that it is well again and again.
  world.machine.disk.fail({ ...WRITES, path: /running/ });
  const effectSafety = 'idempotent';
  for (let i = 0; i < 100; i++) transport.offer({ type: 'demo/hello', effectSafety });
  await world.start({ handlers: [handler('demo/hello', effectSafety)] });
  await world.advance(120_000);
  expect(world.carrier.started).toEqual([]);
  const released = transport.sent('release');
  expect(released[0]?.report).toMatchObject({ reason: 'spool' });
  // Two with each claim: 20 of one task would end it.
  expect(released.length).toBeLessThanOrEqual(20);
  world.check();
});

it('forgets the record of an attempt that was over before its record was written', async () => {
  const world = new SimWorld();
  const { transport } = world;
  world.machine.disk.fail({ step: 'append', path: /running/, ms: 3_000, times: 1 });
  const effectSafety = 'idempotent';
  const one = transport.offer({ type: 'demo/hello', effectSafety });
  await world.start({ handlers: [handler('demo/hello', effectSafety)] });
  await world.until(() => world.worker.status().slots.waiting === 1);
  world.worker.signal();
  await world.until(() => one.ended, 1_000);
  expect(one.ended).toMatchObject({ op: 'release', reason: 'drain' });
  expect((await world.ended()).why).toBe('drained');
  expect(world.files('running')).toEqual([]);
  world.kill();
  await world.start();
  await world.advance(5_000);
  expect(transport.sent('lost')).toEqual([]);
  world.check();
});

it('begins a pure one beside its record, and only with a disk that is well', async () => {
  const world = new SimWorld();
  const { transport } = world;
  world.machine.disk.fail({ step: 'append', path: /running/, ms: 3_000, times: 1 });
  const one = transport.offer({ type: 'demo/hello' });
  await world.start();
  await world.until(() => one.ended, 1_000);
  expect(one.ended?.op).toBe('complete');
  await world.advance(5_000);
  expect(world.files('running')).toEqual([]);
  const fault = world.machine.disk.fail({ ...WRITES, path: /running/ });
  const [second, third, fourth] = [1, 2, 3].map(() => transport.offer({ type: 'demo/hello' }));
  await world.until(() => second?.ended && third?.ended, 20_000);
  expect([second?.ended?.op, third?.ended?.op, fourth?.ended]).toEqual([
    ...['complete', 'complete', undefined],
  ]);
  const told = world.log.of('spool.trouble').map(({ text }) => text);
  expect(told).toContainEqual(
    expect.stringMatching(
      /could not be recorded.+2 that may run again have begun without a record/,
    ),
  );
  fault.clear();
  await world.until(() => fourth?.ended, 20_000);
  expect(transport.sent('release')).toEqual([]);
  world.check();
});

it('is not held back by a trouble that was over before it was told', async () => {
  // One report is too large for what is left of the disk, another one fits in the same moment.
  const world = new SimWorld();
  const { transport } = world;
  const [large, small] = [1, 2].map(() => transport.offer({ type: 'demo/hello' }));
  await world.start({
    scripts: {
      'demo/hello': async ({ job }) => {
        await world.clock.sleep(1_000);
        return returned(job.attemptId === large?.attempt.attemptId ? 'x'.repeat(50_000) : 'y');
      },
    },
  });
  await world.until(() => world.carrier.running === 2);
  world.diskRefuses = true;
  world.machine.disk.capacityBytes = world.machine.disk.platter.usedBytes() + 20_000;
  await world.until(() => large?.ended && small?.ended);
  world.machine.disk.capacityBytes = Number.POSITIVE_INFINITY;
  const next = transport.offer({ type: 'demo/hello' });
  await world.until(() => next.ended, 20_000);
  expect(world.worker.status().notClaiming).toBeUndefined();
  world.check();
});

it('claims nothing when its spool was full before it was there to hear it', async () => {
  const world = new SimWorld();
  const { transport } = world;
  const options = { maxConcurrent: 100, scripts: { 'demo/hello': world.works(10) } };
  const off = transport.onReport('complete', () => noAnswer('cut'));
  const most = spoolDefaults.pendingRecords;
  try {
    (spoolDefaults as { pendingRecords: number }).pendingRecords = 20;
    const all = Array.from({ length: 60 }, () => transport.offer({ type: 'demo/hello' }));
    await world.start(options);
    await world.until(() => all.every(({ grantedAt }) => grantedAt !== undefined));
    await world.advance(1_000);
    world.kill();
    const claims = transport.of('claim').length;
    await world.start(options);
    await world.advance(10_000);
    expect(transport.of('claim').length).toBe(claims);
    expect(world.worker.status().notClaiming).toMatch(/60 unanswered reports/);
    off();
    const fresh = transport.offer({ type: 'demo/hello' });
    await world.until(() => fresh.ended, 60_000);
    world.check({ lapses: true });
  } finally {
    (spoolDefaults as { pendingRecords: number }).pendingRecords = most;
  }
});

it('stops at once when another process has its spool: nothing more is sent, claimed or written', async () => {
  const world = new SimWorld();
  const { transport } = world;
  const one = transport.offer({ type: 'x/y', effectSafety: 'non-idempotent' });
  await world.start({
    handlers: [handler('x/y', 'non-idempotent')],
    scripts: { 'x/y': world.works(60_000) },
  });
  await world.until(() => world.carrier.running === 1);
  await world.advance(100);
  world.worker.spoolLost('taken by process 4711');
  const calls = transport.calls.length;
  expect(await world.ended(2_000)).toMatchObject({ why: 'spool-lost' });
  await world.advance(30_000);
  expect(transport.calls.length).toBe(calls);
  expect(world.carrier.running).toBe(0);
  expect(one.ended).toBeUndefined();
  // The record stays for whoever has the spool now.
  expect(world.files('running').join('')).toContain(one.attempt.attemptId);
});

it('finds out from a write that its spool is lost, if nobody told it', async () => {
  const world = new SimWorld();
  const { transport } = world;
  transport.offer({ type: 'demo/hello' });
  await world.make({ scripts: { 'demo/hello': world.works(20_000) } });
  world.worker.spoolLost = ((spoolLost) => {
    let told = 0;
    return function (this: typeof world.worker, detail: string) {
      // The first word of the spool itself is lost.
      if (told++ > 0) spoolLost.call(this, detail);
    };
  })(world.worker.spoolLost);
  await world.clock.time.until(world.worker.start());
  await world.until(() => world.carrier.running === 1);
  const other = world.machine.start();
  await other.lock.breakOpen('/state/spool');
  await other.disk.writeFile(
    '/state/spool/owner.json',
    JSON.stringify({ workerId: 'other', sessionId: 'ses_other' }),
  );
  await other.lock.take('/state/spool', () => {});
  await world.until(() => world.end, 30_000);
  expect(world.end?.why).toBe('spool-lost');
});

it('spools no result above the bound, whatever carrier gave it: that is RESULT_INVALID', async () => {
  const world = new SimWorld();
  const one = world.transport.offer({ type: 'demo/hello' });
  const script = () => returned('x'.repeat(hostDefaults.resultBytes));
  await world.start({ scripts: { 'demo/hello': script } });
  await world.until(() => one.ended, 10_000);
  expect(one.ended).toMatchObject({ op: 'fail' });
  const sent = JSON.stringify(world.transport.sent('fail'));
  expect(sent).toContain('RESULT_INVALID');
  expect(sent.length).toBeLessThan(5_000);
  world.check();
});
