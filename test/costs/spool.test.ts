import { expect, it } from 'vitest';
import type { SimulatedMachine } from '../../sim/machine.ts';
import { complete, held, META, start } from '../spool/world.ts';

/** How often the spool waits for the disk, by counts: each sync is a few milliseconds on a plain disk. */

/** Steps that make something durable. */
async function syncs(machine: SimulatedMachine, work: () => Promise<unknown>): Promise<string[]> {
  machine.disk.traces = true;
  const from = machine.disk.trace.length;
  await work();
  machine.disk.traces = false;
  return machine.disk.trace.slice(from).filter((step) => /sync|writeOver/.test(step));
}

const ids = (count: number, tag: string) =>
  Array.from({ length: count }, (_, i) => `att_${tag}_${i}`);

it('sixteen reports that are ready together are durable by one sync', async () => {
  const { machine, spool } = await start();
  await spool.writeReport(complete('att_first'), META);
  const all = ids(16, 'r').map((id) => complete(id));
  const seen = await syncs(machine, () =>
    Promise.all(all.map((report) => spool.writeReport(report, META))),
  );
  expect(seen).toHaveLength(1);
});

it('a claim of sixteen is durable by one file and its name, and by less if they may run twice', async () => {
  const { machine, spool } = await start();
  for (const safety of ['non-idempotent', 'idempotent', 'pure'] as const) {
    const claim = ids(16, safety).map((id) => held(id, safety));
    const seen = await syncs(machine, () => spool.recordClaim(claim));
    expect(seen.length, seen.join('\n')).toBeLessThanOrEqual(2);
  }
});

it('what comes while a group is written goes into the next one: reports in sixteen tens cost a sync for each ten at most', async () => {
  const { machine, spool } = await start();
  const seen = await syncs(machine, async () => {
    const waiting: Promise<unknown>[] = [];
    for (let i = 0; i < 16; i++) {
      for (const id of ids(10, `g${i}`)) waiting.push(spool.writeReport(complete(id), META));
      await undefined;
    }
    await Promise.all(waiting);
  });
  expect(seen.length, seen.join('\n')).toBeLessThanOrEqual(16 + 1);
});

it('marks of what runs, and answers that take reports away, wait for nothing', async () => {
  const { machine, spool } = await start();
  const claim = ids(16, 'm').map((id) => held(id, 'pure'));
  await spool.recordClaim(claim);
  const reports = await Promise.all(
    claim.map(({ attemptId }) => spool.writeReport(complete(attemptId), META)),
  );
  await spool.recordClaim([held('att_runs')]);
  await spool.idle();
  const marked = await syncs(machine, () => spool.markBegun('att_runs'));
  expect(marked).toEqual([]);
  // What is removed becomes durable some time, for all of them together.
  const answered = await syncs(machine, async () => {
    await Promise.all(reports.map((report) => spool.answered(report)));
    await spool.idle();
  });
  expect(answered.length, answered.join('\n')).toBeLessThanOrEqual(2);
});
