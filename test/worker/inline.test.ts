/** Real handlers in this process, through the whole worker. */
import { setTimeout as sleep } from 'node:timers/promises';
import { it } from 'vitest';
import { CollectingLog } from '../../sim/log.ts';
import { createInlineCarrier } from '../../src/carriers/inline.ts';
import type { HandlerContext } from '../../src/handler/index.ts';
import { systemClock } from '../../src/system/clock.ts';
import { Field, handler } from './harness.ts';

it('F44: whatever a handler throws is its failure, cut to a bound, and its neighbours finish', async ({
  expect,
}) => {
  const spiky = new Error('spiky');
  Object.defineProperty(spiky, 'message', {
    get() {
      throw new Error('no message for you');
    },
  });
  const thrown: Record<string, unknown> = {
    undefined,
    null: null,
    text: 'x',
    spiky,
    huge: new Error('y'.repeat(5_000_000)),
    symbol: Symbol('s'),
  };
  await using field = await Field.open();
  const { fcp } = field;
  const carrier = createInlineCarrier({ clock: systemClock(), log: new CollectingLog() });
  await carrier.handle('demo/throws', 1, (input: string) => {
    throw thrown[input];
  });
  await carrier.handle('demo/hello', 1, async (_, ctx: HandlerContext) => {
    ctx.progress(50, 'half');
    await sleep(300);
    return 'fine';
  });
  const bad = Object.keys(thrown).map((input) =>
    fcp.offer({ type: 'demo/throws', effectSafety: 'pure', input }),
  );
  const good = fcp.offer({ type: 'demo/hello', effectSafety: 'pure' });
  await field.start({
    carrier,
    maxConcurrent: 8,
    handlers: [handler('demo/throws'), handler('demo/hello')],
  });
  for (const task of bad) {
    const report = await task.ended();
    expect(report).toMatchObject({ op: 'fail', body: { error: { code: 'HANDLER_ERROR' } } });
    expect(JSON.stringify(report.body).length).toBeLessThan(20_000);
  }
  expect((await good.ended()).body.result).toBe('fine');
  expect(good.reports('progress').length).toBe(1);
});

it('aborts the signal of a handler with the reason, and reports what it says then', async ({
  expect,
}) => {
  await using field = await Field.open();
  const { fcp } = field;
  const carrier = createInlineCarrier({ clock: systemClock(), log: new CollectingLog() });
  await carrier.handle('demo/hello', 1, async (_, ctx: HandlerContext) => {
    await sleep(60_000, undefined, { signal: ctx.signal }).catch(() => {});
    return { told: (ctx.signal.reason as { code?: string }).code };
  });
  const task = fcp.offer({ type: 'demo/hello', effectSafety: 'pure' });
  const one = await field.start({ carrier });
  await fcp.until(() => one.worker.status().attempts[0]?.phase === 'running');
  await fcp.hints.opened();
  fcp.cancel(task.taskId);
  expect(await task.ended()).toMatchObject({
    op: 'complete',
    body: { result: { told: 'cancel' } },
  });
});
