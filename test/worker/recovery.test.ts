import { describe, expect, it } from 'vitest';
import type { Play } from '../../sim/carrier.ts';
import { noAnswer, ok, refused, type Said } from '../../sim/wire-words.ts';
import type { ClaimRequest, PresenceRequest } from '../../src/contract/index.ts';
import type { OldHosts } from '../../src/ports/old-hosts.ts';
import { handler, SimWorld } from './sim-rig.ts';

/** A worker that was killed while one handler ran, one report waited for its answer, and one attempt for its gate. */
async function killed() {
  const world = new SimWorld();
  const { transport } = world;
  const done = transport.offer({ type: 'demo/hello' });
  const running = transport.offer({ type: 'x/y' });
  const waiting = transport.offer({ type: 'e/f', effectSafety: 'non-idempotent' });
  const handlers = [handler('demo/hello'), handler('x/y'), handler('e/f', 'non-idempotent')];
  const unanswered = transport.onReport('complete', () => noAnswer('cut'));
  const shut = transport.onReport('start', () => refused(503, 'UNAVAILABLE'));
  const options = {
    maxConcurrent: 3,
    handlers,
    scripts: { 'demo/hello': world.works(100, 'kept'), 'x/y': world.works(60_000) },
  };
  await world.start(options);
  await world.until(
    () => transport.sent('complete').length >= 2 && transport.sent('start').length > 0,
  );
  unanswered();
  shut();
  world.kill();
  const before = transport.calls.length;
  return { world, transport, done, running, waiting, options, before };
}

it('tells what was lost before it claims, sends reports as they are, and runs nothing again', async () => {
  const { world, transport, done, running, waiting, options } = await killed();
  const body = JSON.stringify(transport.sent('complete')[0]?.report);
  await world.start(options);
  await world.until(() => done.ended && running.ended && waiting.ended);
  expect(running.ended).toMatchObject({ op: 'lost', reason: 'worker-restarted', begun: true });
  expect(waiting.ended).toMatchObject({ op: 'lost', reason: 'worker-restarted', begun: false });
  expect(JSON.stringify(transport.sent('complete').at(-1)?.report)).toBe(body);
  await world.until(() => claimOf(world, 'ses_2'));
  const claim = claimOf(world, 'ses_2');
  expect(transport.sent('lost').length).toBe(2);
  for (const lost of transport.sent('lost'))
    expect(lost.answeredAt).toBeLessThanOrEqual(claim?.at ?? 0);
  await world.until(() => transport.of('claim').length > 2);
  await world.advance(10_000);
  expect(world.carrier.started).toEqual([]);
  expect(world.files('reports')).toEqual([]);
  expect(world.files('running')).toEqual([]);
  world.check({ lapses: true });
});

it('names the sessions before it in its hello and its claims', async () => {
  const { world, transport, options } = await killed();
  await world.start(options);
  await world.until(() => claimOf(world, 'ses_2'));
  expect(claimOf(world, 'ses_2')?.request).toMatchObject({ earlierSessions: ['ses_1'] });
  const hello = transport
    .of('present')
    .find(({ request }) => (request as PresenceRequest).sessionId === 'ses_2');
  expect(hello?.request).toMatchObject({ earlierSessions: ['ses_1'] });
});

it('sends nothing before the handlers of its earlier session are seen gone', async () => {
  const { world, transport, options, running, before } = await killed();
  await world.make({ ...options, endOldHosts: async () => void (await world.clock.sleep(7_000)) });
  const started = world.worker.start();
  await world.advance(6_900);
  expect(transport.calls.length).toBe(before);
  await world.clock.time.until(started);
  await world.until(() => running.ended);
  expect(running.ended?.op).toBe('lost');
});

it('never runs an attempt that its records know, whatever an answer brings', async () => {
  const { world, transport, options, done, running, waiting } = await killed();
  transport.onCall(
    'claim',
    (_, byDefault) => {
      const said = byDefault() as { kind: 'ok'; value: object };
      const attempts = [done, running, waiting].map(({ attempt }) => attempt);
      return ok({ ...said.value, attempts }) as Said<unknown>;
    },
    2,
  );
  await world.start(options);
  await world.until(() => done.ended && running.ended && waiting.ended);
  await world.advance(5_000);
  expect(world.carrier.started).toEqual([]);
  world.check({ lapses: true });
});

it('does not renew what is lost, but asks for what it has still to report', async () => {
  const { world, transport, options, done, running } = await killed();
  transport.onReport('complete', () => refused(503, 'UNAVAILABLE'), 4);
  transport.onReport('lost', () => refused(503, 'UNAVAILABLE'), 4);
  const renewals = () => transport.sent('renew', done.attempt.attemptId).length;
  const before = renewals();
  const lostBefore = transport.sent('renew', running.attempt.attemptId).length;
  await world.start(options);
  await world.until(() => done.ended && running.ended, 60_000);
  expect(renewals()).toBeGreaterThan(before + 2);
  expect(transport.sent('renew', running.attempt.attemptId).length).toBe(lostBefore);
  world.check({ lapses: true });
});

it('goes on where nobody answers at its start, and recovers', async () => {
  const { world, transport, options, done, running } = await killed();
  transport.down = true;
  await world.start(options);
  await world.advance(60_000);
  expect(world.end).toBeUndefined();
  transport.down = false;
  await world.until(() => done.ended && running.ended, 45_000);
  const fresh = transport.offer({ type: 'demo/hello' });
  await world.until(() => fresh.ended, 20_000);
  world.check({ lapses: true });
});

it('claims although nobody answers its losses, once each was tried', async () => {
  const { world, transport, options } = await killed();
  transport.onReport('lost', () => noAnswer('not-the-contract'));
  const fresh = transport.offer({ type: 'demo/hello' });
  await world.start(options);
  await world.until(() => fresh.ended, 20_000);
  expect(transport.sent('lost').length).toBeGreaterThan(0);
  world.check({ lapses: true });
});

it('tells a loss directly while the disk refuses it', async () => {
  const { world, transport, options, running, waiting } = await killed();
  world.diskRefuses = true;
  const fault = world.machine.disk.fail({
    step: ['write', 'append'],
    code: 'ENOSPC',
    path: /reports|running/,
  });
  await world.start(options);
  await world.until(() => running.ended && waiting.ended);
  expect(running.ended).toMatchObject({ op: 'lost', begun: true });
  fault.clear();
  const fresh = transport.offer({ type: 'demo/hello' });
  await world.until(() => fresh.ended, 20_000);
  await world.advance(1_000);
  expect(world.files('running')).toEqual([]);
  world.check({ lapses: true });
});

it('sends thousands of reports that an outage left without asking for each of them all the time', async () => {
  const world = new SimWorld();
  const { transport } = world;
  const all = Array.from({ length: 600 }, () => transport.offer({ type: 'demo/hello' }));
  const off = transport.onReport('complete', () =>
    refused(503, 'UNAVAILABLE', { retryAfterMs: 60_000 }),
  );
  await world.start({ maxConcurrent: 100, scripts: { 'demo/hello': world.works(10) } });
  await world.until(() => transport.sent('complete').length >= 600, 20_000);
  world.kill();
  transport.down = true;
  await world.start({ maxConcurrent: 100 });
  const renewals = transport.sent('renew').length;
  await world.advance(300_000);
  // 600 of them every 15 s at most.
  expect(transport.sent('renew').length - renewals).toBeLessThan(600 * 24);
  transport.down = false;
  off();
  await world.until(() => all.every(({ ended }) => ended), 60_000);
  world.check({ lapses: true });
});

it('keeps the lease of what it works on while thousands of reports wait whose renewals hang', async () => {
  const world = new SimWorld();
  const { transport } = world;
  const old = Array.from({ length: 600 }, () => transport.offer({ type: 'demo/hello' }));
  transport.onReport('complete', () => refused(503, 'UNAVAILABLE', { retryAfterMs: 600_000 }), 600);
  await world.start({ maxConcurrent: 100, scripts: { 'demo/hello': world.works(10) } });
  await world.until(() => transport.sent('complete').length >= 600, 20_000);
  world.kill();
  const before = transport.sent('renew').length;
  const ids = new Set(old.map(({ attempt }) => attempt.attemptId));
  transport.onReport(
    ({ op, attemptId }) => op === 'renew' && ids.has(attemptId),
    () => 'never',
  );
  transport.onReport(
    ({ op, attemptId }) => op === 'complete' && ids.has(attemptId),
    () => refused(503, 'UNAVAILABLE', { retryAfterMs: 600_000 }),
  );
  const live = transport.offer({ type: 'x/y', leaseMs: 3_000 });
  await world.start({
    maxConcurrent: 100,
    handlers: [handler('demo/hello'), handler('x/y')],
    scripts: { 'x/y': world.works(30_000) },
  });
  await world.advance(8_000);
  // Each of these hangs for 10 s: more of them would be in the way of others on their connections.
  const asked = transport.sent('renew').slice(before);
  const calls = asked.filter(({ report }) => ids.has(report.attemptId)).map(({ call }) => call);
  expect(new Set(calls).size).toBe(2);
  await world.until(() => live.ended, 60_000);
  const renewals = transport.sent('renew', live.attempt.attemptId).map(({ at }) => at);
  expect(renewals.length).toBeGreaterThan(20);
  for (let n = 1; n < renewals.length; n++)
    expect((renewals[n] ?? 0) - (renewals[n - 1] ?? 0)).toBeLessThan(3_000);
});

it('keeps a report of another address that is not known at this one, also where the projects have one name', async () => {
  const { world, transport, options, done } = await killed();
  world.serviceUrl = 'http://elsewhere.invalid';
  const elsewhere = transport.onReport(
    ({ attemptId }) => attemptId === done.attempt.attemptId,
    () => refused(404, 'NOT_FOUND', { kind: 'attempt', project: 'default' }),
  );
  await world.start(options);
  await world.advance(10_000);
  expect(world.spool.stats()).toMatchObject({ pending: 1, setAside: { refused: 0 } });
  expect(world.worker.status().notClaiming).toMatch(/another project or control plane/);
  // It is sent all the same: the address may only have got another name.
  elsewhere();
  await world.until(() => done.ended, 60_000);
  expect(done.ended?.op).toBe('complete');
  world.check({ lapses: true });
});

it('tells what is known of what was lost: how the worker went, when the handler began, what it said last', async () => {
  const world = new SimWorld();
  const { transport } = world;
  const running = transport.offer({ type: 'demo/hello' });
  const scripts = {
    'demo/hello': async ({ listener }: Play) => {
      for (let percent = 1; ; percent++) {
        listener.progress({ percent, message: `page ${percent}` });
        await world.clock.sleep(1_000);
      }
    },
  };
  await world.start({ scripts });
  await world.advance(10_500);
  const begunAt = new Date(world.clock.wall() - 10_500).toISOString().slice(0, 17);
  world.kill();
  await world.start({ scripts: {} });
  await world.until(() => running.ended);
  expect(running.ended).toMatchObject({
    op: 'lost',
    reason: 'worker-restarted',
    begun: true,
    message: expect.stringMatching(
      /^The worker's process \(\d+ on \S+\) was killed or crashed\. The handler had begun at .* and was at \d+ %, "page \d+" at/,
    ),
    details: {
      begunAt: expect.stringContaining(begunAt),
      workerProcess: { went: 'died' },
      handlerProcess: 'was-gone',
    },
  });
  const { details } = running.ended as unknown as {
    details: { lastProgress: { percent: number } };
  };
  // At most two seconds old.
  expect(details.lastProgress.percent).toBeGreaterThanOrEqual(9);
  world.check({ lapses: true });
});

it('tells that the machine was restarted where it was, also of what only the disk still knew', async () => {
  const world = new SimWorld();
  const { transport } = world;
  const once = transport.offer({ type: 'demo/hello', effectSafety: 'non-idempotent' });
  const handlers = [handler('demo/hello', 'non-idempotent')];
  await world.start({ handlers, scripts: { 'demo/hello': world.works(600_000) } });
  await world.until(() => world.carrier.started.length > 0);
  await world.advance(5_000);
  world.kill();
  world.machine.powerCut();
  await world.start({ handlers });
  await world.until(() => once.ended);
  expect(once.ended).toMatchObject({
    op: 'lost',
    message: expect.stringMatching(/^The machine was restarted, and the worker's process/),
    details: { workerProcess: { went: 'machine-restarted' }, claimedAt: expect.any(String) },
  });
  world.check({ lapses: true });
});

it('keeps the file of what was said small, however long and much the handler talks', async () => {
  const world = new SimWorld();
  world.transport.offer({ type: 'demo/hello' });
  await world.start({
    scripts: {
      'demo/hello': async ({ listener }: Play) => {
        for (let said = 0; ; said++) {
          listener.progress({ message: 'x'.repeat(500), percent: said % 100 });
          await world.clock.sleep(1_000);
        }
      },
    },
  });
  await world.advance(600_000);
  const [text = ''] = world.files('running');
  const marks = text.split('\n').filter((line) => line.includes('"mark":"progress"'));
  // Every two seconds at first, later with each fiftieth of its time.
  expect(marks.length).toBeGreaterThan(100);
  expect(marks.length).toBeLessThan(150);
  expect(text.length).toBeLessThan(150 * 500);
});

describe('a handler process of an earlier session that cannot be killed', () => {
  /** The hosts of the killed worker's attempts; `left` is what still runs. */
  async function haunted() {
    const { world, transport, running, waiting, done, options } = await killed();
    let left = [{ pid: 77 }];
    let looks = 0;
    const endOldHosts = async (): Promise<OldHosts> => ({
      ended: [],
      left,
      look: async () => {
        looks++;
        return left;
      },
    });
    const before = transport.sent('renew', running.attempt.attemptId).length;
    await world.start({ ...options, endOldHosts, scripts: {} });
    return {
      world,
      transport,
      running,
      waiting,
      done,
      before,
      looks: () => looks,
      thaw: () => {
        left = [];
      },
    };
  }
  const told = ({ transport }: SimWorld) =>
    transport.of('present').at(-1)?.request as PresenceRequest;

  it('keeps its slot, is told, and nothing is said or renewed for its attempt until it is gone', async () => {
    const { world, transport, running, waiting, done, before, looks, thaw } = await haunted();
    await world.until(() => done.ended);
    const fresh = Array.from({ length: 4 }, () => transport.offer({ type: 'demo/hello' }));
    await world.until(() => fresh.every(({ ended }) => ended), 20_000);
    await world.advance(60_000);
    // It is not seen whose it is: of both that are without a report.
    expect(running.ended).toBeUndefined();
    expect(waiting.ended).toBeUndefined();
    expect(transport.sent('renew', running.attempt.attemptId).length).toBe(before);
    expect(told(world)).toMatchObject({
      slots: { max: 3, busy: 2 },
      stuck: [
        { attemptId: running.attempt.attemptId, pids: [77], earlierSession: true },
        { attemptId: waiting.attempt.attemptId, pids: [77], earlierSession: true },
      ],
    });
    expect(world.worker.status().stuck).toHaveLength(2);
    expect(looks()).toBeGreaterThan(50);
    expect(world.carrier.peak).toBe(1);
    thaw();
    await world.until(() => running.ended && waiting.ended, 5_000);
    expect(running.ended).toMatchObject({ op: 'lost', reason: 'worker-restarted', begun: true });
    await world.advance(17_000);
    expect(told(world)).toMatchObject({ slots: { busy: 0 } });
    expect(told(world)).not.toHaveProperty('stuck');
    expect(world.files('running')).toEqual([]);
    world.check({ lapses: true });
  });

  it('does not hold a drain beyond its time, and is left to the next start', async () => {
    const { world, running, thaw } = await haunted();
    const ended = world.worker.drain();
    await world.advance(1_000);
    expect(world.end).toBeUndefined();
    await world.clock.time.until(ended, 700_000);
    expect(world.end).toMatchObject({ why: 'forced' });
    expect(running.ended).toBeUndefined();
    thaw();
    await world.start({ handlers: [handler('demo/hello')] });
    await world.until(() => running.ended);
    expect(running.ended).toMatchObject({ op: 'lost' });
    world.check({ lapses: true });
  });
});

/** The first claim of a session. */
function claimOf({ transport }: SimWorld, sessionId: string) {
  return transport
    .of('claim')
    .find(({ request }) => (request as ClaimRequest).sessionId === sessionId);
}
