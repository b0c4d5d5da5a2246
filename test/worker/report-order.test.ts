import { expect, it, vi } from 'vitest';
import { returned } from '../../sim/carrier.ts';
import { Field, handler } from './harness.ts';

/** Outcome first, effect after: nothing is told to the control plane that a crash could still take back. */
it('sends a report only after the disk has it', async () => {
  await using field = await Field.open();
  const { fcp } = field;
  const { spool, worker } = await field.make({
    scripts: { 'demo/hello': () => returned('done') },
    handlers: [handler('demo/hello')],
  });
  const write = spool.writeReports.bind(spool);
  const asked = Promise.withResolvers<void>();
  const disk = Promise.withResolvers<void>();
  vi.spyOn(spool, 'writeReports').mockImplementation(async (...reports) => {
    asked.resolve();
    await disk.promise;
    return write(...reports);
  });
  const task = fcp.offer({ type: 'demo/hello', input: null, effectSafety: 'pure' });
  await worker.start();
  await asked.promise;
  // The disk hangs. Meanwhile the worker goes on: its slot is claimed for, more than once.
  const claims = fcp.requests('claim').length;
  await fcp.until(() => fcp.requests('claim').length >= claims + 2, { what: 'two more claims' });
  expect(task.reports('complete')).toEqual([]);
  disk.resolve();
  expect((await task.ended()).op).toBe('complete');
});
