/** Faults that people really met; the ids are those of the list of field faults. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, it } from 'vitest';
import { returned } from '../../sim/carrier.ts';
import { workerDefaults } from '../../src/core/defaults.ts';
import type { LoggedRequest } from '../../src/fcp/fcp.ts';
import { carrying } from '../../src/fcp/fcp.ts';
import { Field } from './harness.ts';

const later =
  (ms: number, result: unknown = 1) =>
  () =>
    sleep(ms).then(() => returned(result));

describe.concurrent('field faults', () => {
  it('F03: takes one of three tasks that it did not ask for, and lets no lease lapse', async ({
    expect,
  }) => {
    await using field = await Field.open({ leaseMs: 3_000 });
    const { fcp } = field;
    const tasks = [1, 2, 3].map((input) =>
      fcp.offer({
        type: 'demo/hello',
        effectSafety: 'pure',
        input,
        unasked: true,
        requeue: true,
        wake: false,
      }),
    );
    const one = await field.start({
      maxConcurrent: 1,
      scripts: { 'demo/hello': later(3_300) },
    });
    for (const task of tasks) await task.accepted('complete', { timeoutMs: 20_000 });
    for (const task of tasks) expect(task.lapsedMs()).toBe(0);
    expect(one.carrier.peak).toBe(1);
    expect(one.carrier.started.map(({ taskId }) => taskId).length).toBe(3);
    expect(one.carrier.started[0]?.input).toBe(1);
    for (const task of tasks) {
      expect(task.reports('complete').length).toBe(1);
      for (const { body } of task.reports('release')) expect(body.reason).toBe('no-slot');
    }
  });

  it('F11: ends within the drain although a handler swallows its stop; the second run delivers', async ({
    expect,
  }) => {
    await using field = await Field.open({ leaseMs: 60_000 });
    const { fcp } = field;
    const silence = fcp.on(carrying('lost'), (_, ctl) => ctl.cutBefore('rst'));
    const task = fcp.offer({ type: 'demo/hello', effectSafety: 'pure' });
    const one = await field.start({
      drainTimeoutMs: 3_000,
      stopGraceMs: 1_000,
      ignoresStop: ['demo/hello'],
      scripts: { 'demo/hello': () => new Promise(() => {}) },
    });
    await fcp.until(() => one.carrier.running === 1);
    const from = performance.now();
    one.worker.signal();
    const end = await one.worker.ended;
    expect(performance.now() - from).toBeLessThan(6_000);
    expect(end).toEqual({ why: 'stopped-handlers', unsent: 1, stopped: 1 });
    expect(one.log.of('drain.begin').length).toBe(1);
    silence.off();
    await field.start({ folder: one.folder });
    expect(await task.ended()).toMatchObject({
      op: 'lost',
      body: { reason: 'drain', killed: true, begun: true },
    });
    expect(task.attempts.length).toBe(1);
  });

  it('F14: has one stream after five restarts, and claims once for one hint', async ({
    expect,
  }) => {
    await using field = await Field.open({ pollAfterMs: 60_000 });
    const { fcp } = field;
    await field.start();
    await fcp.hints.opened();
    for (const mode of ['fin', 'rst', 'refused', 'rst', 'fin'] as const) {
      const before = fcp.hints.connections.length;
      await fcp.restart(mode === 'refused' ? { mode, downMs: 400 } : { mode });
      await fcp.until(() => fcp.hints.connections.length > before && fcp.hints.open.length === 1);
      // It lasts longer than `hintLastedMs`, also where its first byte was late: the next retry is a first one again.
      await sleep(workerDefaults.hintLastedMs + 700);
    }
    await fcp.quiet('hints', 1_500);
    expect(fcp.hints.open.length).toBe(1);
    const claims = fcp.requests('claim').length;
    fcp.hints.wake('demo/hello@1');
    await fcp.until(() => fcp.requests('claim').length > claims);
    await fcp.quiet('claim', 600);
    // The fifth time it works as the first.
    fcp.hints.cut('rst');
    await fcp.until(() => fcp.hints.open.length === 1);
  });

  it('F16: wakes once for each hint however its bytes come, and survives a frame without an end', async ({
    expect,
  }) => {
    await using field = await Field.open({ pollAfterMs: 60_000, pingEveryMs: Infinity });
    const { fcp } = field;
    await field.start();
    const [stream] = await fcp.hints.opened();
    // One at the start, one for the opening of the stream.
    await fcp.until(() => fcp.requests('claim').length >= 2);
    await fcp.quiet('claim', 300);
    const hints = [
      '\ufeffevent: wake\r\ndata: {"types":["demo/hello@1"]}\r\n\r\n',
      'event: wake\rdata: {"types":["ünïcödé/☃@1","demo/hello@1"]}\r\r',
      ': a comment ☃\nevent:wake\ndata: {"types":[\ndata: "demo/hello@1"]}\n\n',
    ];
    for (const text of hints) {
      const claims = fcp.requests('claim').length;
      await stream?.drip(text);
      await fcp.until(() => fcp.requests('claim').length > claims);
      await fcp.quiet('claim', 300);
      expect(fcp.requests('claim').length).toBe(claims + 1);
    }
    await stream?.raw(
      'event: party\ndata: {"types":["demo/hello@1"]}\n\nevent: wake\ndata: not json',
    );
    await fcp.quiet('claim', 300);
    const flood = stream?.raw(Buffer.alloc(50 * 1_048_576, 'x'));
    await fcp.until(() => fcp.hints.connections.length === 2);
    await flood;
    await fcp.until(() => fcp.hints.open.length === 1);
    const claims = fcp.requests('claim').length;
    await sleep(300);
    fcp.hints.wake('demo/hello@1');
    await fcp.until(() => fcp.requests('claim').length > claims);
  });

  // A machine that stalls lets everything due happen at once: that says nothing of the fleet.
  it('F17: a fleet comes back spread after an outage', { retry: 2 }, async ({ expect }) => {
    await using field = await Field.open({ pollAfterMs: 60_000 });
    const { fcp } = field;
    for (let i = 0; i < 12; i++) await field.start({ workerId: `w${i}` });
    await fcp.hints.opened(12);
    await fcp.until(() => fcp.requests('claim').length >= 12);
    await sleep(500);
    const claims = fcp.requests('claim').length;
    await fcp.restart({ mode: 'rst', downMs: 2_000 });
    await fcp.hints.opened(12);
    const streams = fcp.hints.open.map(({ openedAt }) => openedAt);
    const asked = fcp.requests('claim').slice(claims);
    expect(crowd(streams)).toBeLessThanOrEqual(6);
    await fcp.until(() => fcp.requests('claim').length >= claims + 12);
    expect(crowd(asked.map(({ t }) => t))).toBeLessThanOrEqual(6);
    await sleep(300);
    const before = fcp.requests('claim').length;
    fcp.hints.wake('demo/hello@1');
    await fcp.until(() => fcp.requests('claim').length >= before + 12);
    await fcp.quiet('claim', 400);
    expect(fcp.requests('claim').length).toBe(before + 12);
  });

  it('F18: loses and doubles nothing where each connection dies 5 ms after its answer', async ({
    expect,
  }) => {
    await using field = await Field.open({ leaseMs: 10_000 });
    const { fcp } = field;
    fcp.on('any', (request, ctl) => {
      if (request.route !== 'hints') ctl.closeSoon(5, request.n % 2 === 0 ? 'rst' : 'fin');
    });
    const tasks = Array.from({ length: 300 }, (_, input) =>
      fcp.offer({
        type: 'demo/hello',
        effectSafety: input % 3 ? 'pure' : 'non-idempotent',
        input,
        wake: false,
      }),
    );
    const one = await field.start({
      maxConcurrent: 16,
      scripts: {
        'demo/hello': ({ job }) => sleep(Number(job.input) % 12).then(() => returned(job.input)),
      },
    });
    for (const [i, task] of tasks.entries())
      expect((await task.ended({ timeoutMs: 25_000 })).body.result).toBe(i);
    expect(one.carrier.started.length).toBe(300);
    for (const task of tasks) expect(task.attempts.length).toBe(1);
    expect(sameBodies(fcp.requests('claim'), ({ body }) => body?.requestId)).toBe(true);
    expect(
      sameBodies(
        fcp.reports.filter(({ op }) => op === 'complete').map(({ request }) => request),
        ({ reports }) => reports.map(({ attemptId, op }) => `${op} ${attemptId}`).join(),
      ),
    ).toBe(true);
  });

  it('F25: delivers with a key that was written while the old one was refused', async ({
    expect,
  }) => {
    await using field = await Field.open({ keys: ['il_old'], leaseMs: 30_000 });
    const { fcp } = field;
    let written = 'il_old';
    let current = written;
    let reads = 0;
    const key = {
      current: () => current,
      reload: async () => {
        reads++;
        current = written;
        return current;
      },
    };
    const task = fcp.offer({ type: 'demo/hello', effectSafety: 'pure' });
    const one = await field.start({ key, scripts: { 'demo/hello': later(800) } });
    await fcp.until(() => one.carrier.running === 1);
    fcp.keys.reject('il_old');
    const from = fcp.log.length;
    await sleep(2_500);
    expect(fcp.log.length - from).toBeLessThan(30);
    expect(one.worker.status().notClaiming).toMatch(/refused our key/);
    fcp.keys.accept('il_new');
    written = 'il_new';
    expect((await task.ended()).op).toBe('complete');
    expect(task.attempts.length).toBe(1);
    expect(one.carrier.started.length).toBe(1);
    expect(reads).toBeGreaterThan(0);
    const next = fcp.offer({ type: 'demo/hello', effectSafety: 'pure' });
    expect((await next.ended()).op).toBe('complete');
    expect(one.log.text()).not.toMatch(/il_old|il_new/);
  });

  it('F47: gives back an input that holds what no double can, and brings 1.10 back equal', async ({
    expect,
  }) => {
    await using field = await Field.open();
    const { fcp } = field;
    const bad = ['9007199254740993', '1e400', '-0', '{"a":1,"a":2}', '"\\ud800"'];
    fcp.on('claim', (_, ctl) =>
      ctl.pass((answer) => ({
        ...answer,
        headers: { ...answer.headers, 'content-type': 'application/json' },
        body: JSON.stringify(answer.body).replace(/"@(\d)"/g, (_, i) => bad[Number(i)] ?? '1.10'),
      })),
    );
    const tasks = [0, 1, 2, 3, 4, 5].map((i) =>
      fcp.offer({ type: 'demo/hello', effectSafety: 'pure', input: { value: `@${i}` } }),
    );
    const one = await field.start({
      maxConcurrent: 6,
      scripts: { 'demo/hello': ({ job }) => returned(job.input) },
    });
    for (const task of tasks.slice(0, 5))
      expect(await task.ended()).toMatchObject({ op: 'release', body: { reason: 'undecodable' } });
    expect((await tasks[5]?.ended())?.body.result).toEqual({ value: 1.1 });
    expect(one.carrier.started.length).toBe(1);
  });
});

/** Most of these within any 100 ms. */
function crowd(times: readonly number[]): number {
  return Math.max(...times.map((from) => times.filter((t) => t >= from && t < from + 100).length));
}

/** Whether requests of the same name carry the same body. */
function sameBodies(
  requests: readonly LoggedRequest[],
  name: (request: LoggedRequest) => unknown,
): boolean {
  const seen = new Map<unknown, string>();
  return requests.every((request) => {
    const before = seen.get(name(request));
    seen.set(name(request), request.bodyText);
    return before === undefined || before === request.bodyText;
  });
}
