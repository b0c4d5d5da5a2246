import { expect, it } from 'vitest';
import type { SimulatedMachine } from '../../sim/machine.ts';
import { spoolDefaults } from '../../src/core/defaults.ts';
import { complete, held, META, reportIds, restart, runningIds, start } from '../spool/world.ts';

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

it('what is begun in the turn that brings it is recorded and marked by one write', async () => {
  const { machine, process, spool } = await start();
  await spool.recordClaim([held('att_first', 'pure')]);
  machine.disk.traces = true;
  const from = machine.disk.trace.length;
  const recorded = spool.recordClaim([held('att_a', 'pure'), held('att_b', 'pure')]);
  await spool.markBegun('att_a', 'ses_1/1');
  await recorded;
  expect(machine.disk.trace.slice(from).map((step) => step.split(' ')[0])).toEqual(['append']);
  const next = await restart(machine, process);
  expect(next.spool.recovered.running).toMatchObject([
    { attemptId: 'att_first', begun: false },
    { attemptId: 'att_a', begun: true, host: 'ses_1/1' },
    { attemptId: 'att_b', begun: false },
  ]);
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

it('that attempts have ended and reports were answered costs no write of its own: it goes with the next records, or with the file', async () => {
  const { machine, process, spool } = await start();
  const pass = async (tag: string) => {
    const claim = ids(16, tag).map((id) => held(id, 'pure'));
    await spool.recordClaim(claim);
    return await spool.writeReports(
      claim.map(({ attemptId }) => ({ report: complete(attemptId), meta: META })),
    );
  };
  const reports = await Promise.all(await pass('first'));
  machine.disk.traces = true;
  const from = machine.disk.trace.length;
  spool.answeredLately(reports);
  for (const tag of ['second', 'third']) spool.answeredLately(await Promise.all(await pass(tag)));
  machine.disk.traces = false;
  const writes = machine.disk.trace.slice(from).filter((step) => /append|remove/.test(step));
  // Two passes, each a claim and its reports.
  expect(writes.map((step) => step.split('/')[3])).toEqual([
    'running',
    'reports',
    'running',
    'reports',
  ]);
  // Killed now, it sends those of the last passes once more, and nothing is lost.
  process.kill();
  const next = await restart(machine, process);
  expect(runningIds(next.spool)).toEqual([]);
  const sent = reportIds(next.spool);
  for (const id of ids(16, 'third')) expect(sent).toContain(id);
  for (const id of ids(16, 'first')) expect(sent).not.toContain(id);
});

it('that many have ended, or were answered, is one line of their file', async () => {
  const { machine, spool } = await start();
  const claim = ids(16, 'l').map((id) => held(id, 'pure'));
  await spool.recordClaim([...claim, held('att_runs', 'pure')]);
  const all = claim.map(({ attemptId }) => ({ report: complete(attemptId), meta: META }));
  const reports = await Promise.all(await spool.writeReports(all));
  await spool.writeReport(complete('att_owed'), META);
  for (const report of reports) spool.answeredLately([report]);
  await spool.idle();
  const texts = Object.keys(machine.disk.platter.tree())
    .filter((path) => path.endsWith('.jsonl'))
    .map((path) => machine.disk.platter.text(path));
  expect(texts.map((text) => text.match(/"mark":"\w+"/g))).toEqual([
    ['"mark":"answered"'],
    ['"mark":"ended"'],
  ]);
});

it('a spool at rest keeps no file of what was answered', async () => {
  const { machine, spool } = await start();
  await spool.recordClaim([held('att_a', 'pure')]);
  const report = await spool.writeReport(complete('att_a'), META);
  machine.disk.traces = true;
  const from = machine.disk.trace.length;
  spool.answeredLately([report]);
  await spool.idle();
  machine.disk.traces = false;
  const steps = machine.disk.trace.slice(from).map((step) => step.split(' ')[0]);
  expect(steps).toEqual(['remove', 'remove']);
});

it('what was answered is told to the disk after 0.2 s without a record: what comes late sends little again', async () => {
  const { machine, process, spool } = await start();
  await spool.recordClaim([held('att_a', 'pure'), held('att_runs', 'pure')]);
  const first = await spool.writeReport(complete('att_a'), META);
  await spool.writeReport(complete('att_owed'), META);
  spool.answeredLately([first]);
  await machine.clock.advance(3 * spoolDefaults.segmentLingerMs);
  const next = await restart(machine, process);
  expect(reportIds(next.spool)).toEqual(['att_owed']);
  expect(runningIds(next.spool)).toEqual(['att_runs']);
});

it('that a report was answered is never on the disk before the end of its running record', async () => {
  const { machine, spool } = await start();
  await spool.recordClaim([held('att_a', 'pure'), held('att_runs', 'pure')]);
  const report = await spool.writeReport(complete('att_a'), META);
  await spool.writeReport(complete('att_owed'), META);
  machine.disk.fail({ step: 'append', path: /running/, ms: 50 });
  machine.disk.traces = true;
  const from = machine.disk.trace.length;
  const told = spool.answered(report);
  await machine.clock.advance(20);
  expect(machine.disk.trace.slice(from)).toEqual([]);
  await machine.clock.time.until(told);
  expect(machine.disk.trace.slice(from).map((step) => step.split('/')[3])).toEqual([
    'running',
    'reports',
  ]);
});
