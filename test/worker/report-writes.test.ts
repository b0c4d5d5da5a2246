import { expect, it } from 'vitest';
import { SimulatedClock } from '../../sim/clock.ts';
import type { TerminalReport } from '../../src/contract/index.ts';
import type { SpooledReport } from '../../src/spool/index.ts';
import type { WorkerContext } from '../../src/worker/context.ts';
import type { Held } from '../../src/worker/held.ts';
import { ReportWrites } from '../../src/worker/report-writes.ts';

const report = (attemptId: string) => ({ op: 'complete', attemptId }) as TerminalReport;
const held = (attemptId: string) => ({ attempt: { attemptId } }) as unknown as Held;

/** While short work waits for a slot. @param made what the spool says of a pass */
function rig(made: (ids: string[]) => unknown[] = (ids) => ids.map(() => ({}))) {
  const passes: string[][] = [];
  const told: string[] = [];
  const ctx = {
    stopped: false,
    spoolGone: false,
    ports: {
      clock: new SimulatedClock(),
      spool: {
        writeReports: async (all: { report: TerminalReport }[]) => {
          const ids = all.map(({ report: { attemptId } }) => attemptId);
          passes.push(ids);
          return made(ids);
        },
      },
    },
  };
  const writes = new ReportWrites(ctx as unknown as WorkerContext, {
    metaOf: () => ({ type: 'demo/hello', schemaVersion: 1 }),
    moreSoon: () => true,
    wrote: ({ attempt }, _, how) =>
      told.push(`${attempt.attemptId} ${'error' in how ? 'refused' : 'kept'}`),
  });
  const end = (id: string) => writes.write(held(id), report(id));
  return { ctx, end, passes, told };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

it('gathers reports while more are a moment away, and nothing any more once the worker is stopped', async () => {
  const { ctx, end, passes } = rig();
  end('a');
  end('b');
  await turn();
  expect(passes).toEqual([]);
  ctx.stopped = true;
  end('c');
  await turn();
  expect(passes).toEqual([['a', 'b', 'c']]);
});

it('tells what is durable at once, and of the others when they are', async () => {
  const large = Promise.withResolvers<SpooledReport>();
  const record = {} as SpooledReport;
  const { ctx, end, told } = rig(() => [large.promise, record, Promise.reject(new Error('full'))]);
  ctx.stopped = true;
  for (const id of ['large', 'small', 'refused']) end(id);
  await turn();
  expect(told).toEqual(['small kept', 'refused refused']);
  large.resolve(record);
  await turn();
  expect(told.at(-1)).toBe('large kept');
});
