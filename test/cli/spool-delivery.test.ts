/** From a refusal to the delivery, with a real worker, real sockets and the real commands. */
import { expect, it } from 'vitest';
import { returned } from '../../sim/carrier.ts';
import { carrying } from '../../src/fcp/fcp.ts';
import { Field } from '../worker/harness.ts';
import { interlock } from './run.ts';

it('a result that a proxy refused is delivered after spool retry, and its handler does not run again', async () => {
  await using field = await Field.open();
  const { fcp } = field;
  const task = fcp.offer({ type: 'demo/hello', effectSafety: 'pure' });
  // A proxy that takes no bodies at all: the small report is refused like the whole one.
  const broken = ['complete', 'fail'].map((op) => fcp.on(carrying(op), (_, ctl) => ctl.html(413)));
  const scripts = { 'demo/hello': () => returned({ answer: 42 }) };
  const first = await field.start({ scripts });
  await fcp.until(() => first.spool.stats().setAside.refused === 2);
  const args = ['--spool', first.folder];
  const beside = await interlock(['spool', 'retry', '--all', ...args]);
  expect(beside).toMatchObject({ code: 81, err: expect.stringContaining('worker "rig"') });
  await first.close();

  const { out } = await interlock(['spool', 'list', '--state', 'refused', ...args]);
  expect(out).toMatch(
    /complete +\d+ +413 .+\n.+fail +\d+ +413 .+; stands in for one that was refused\n/,
  );
  const retried = await interlock(['spool', 'retry', '--all', ...args]);
  expect(retried).toMatchObject({ code: 0, out: expect.stringMatching(/^retried .+ complete/) });
  for (const rule of broken) rule.off();
  const second = await field.start({ scripts, folder: first.folder });
  expect(await task.ended()).toMatchObject({ op: 'complete', body: { result: { answer: 42 } } });
  await fcp.until(() => second.worker.status().unanswered === 0);
  expect(second.carrier.started).toEqual([]);
  const left = await interlock(['spool', 'discard', '--all', '--yes', ...args]);
  expect(left.out).toBe('discarded 1 refused\n');
});
