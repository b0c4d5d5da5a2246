import { describe, expect, it } from 'vitest';
import { spoolDefaults } from '../../src/core/defaults.ts';
import { encodeLine } from '../../src/spool/records.ts';
import {
  start as begin,
  bodies,
  complete,
  FOLDER,
  files,
  held,
  META,
  open,
  reportIds,
  restart,
  runningIds,
} from './world.ts';

/** Files that groups share. Without a reserve: what the disk does is what is seen. */
const start = () => begin({ reserveBytes: 0 });

const ids = (count: number, name = 'att') =>
  Array.from({ length: count }, (_, i) => `${name}_${i}`);

describe('groups of records', () => {
  it('one after another share a file: one sync each, and one more of the folder for the first', async () => {
    const { machine, spool } = await start();
    machine.disk.trace.length = 0;
    for (let i = 0; i < 3; i++)
      await Promise.all(ids(5, `att_${i}`).map((id) => spool.writeReport(complete(id), META)));
    const [file = ''] = files(machine);
    expect(machine.disk.trace.map((step) => step.replace(file, '<file>'))).toEqual([
      `open ${FOLDER}/<file>`,
      `append ${FOLDER}/<file>`,
      ...[`syncFile ${FOLDER}/<file>`, `syncFolder ${FOLDER}/reports`],
      ...[`append ${FOLDER}/<file>`, `syncFile ${FOLDER}/<file>`],
      ...[`append ${FOLDER}/<file>`, `syncFile ${FOLDER}/<file>`],
    ]);
    machine.powerCut();
    expect(reportIds(await open(machine.start()))).toHaveLength(15);
  });

  it('are answered by marks in one write, also together with the next group', async () => {
    const { machine, process, spool } = await start();
    const reports = await Promise.all(ids(20).map((id) => spool.writeReport(complete(id), META)));
    machine.disk.trace.length = 0;
    const answered = reports.slice(1).map((report) => spool.answered(report));
    await Promise.all([...answered, spool.writeReport(complete('att_next'), META)]);
    expect(machine.disk.trace.map((step) => step.split(' ')[0])).toEqual(['append', 'syncFile']);
    expect(reportIds((await restart(machine, process)).spool)).toEqual(['att_0', 'att_next']);
  });

  it('begin a new file when the last is large, and a file goes with its last open record', async () => {
    const { machine, spool } = await start();
    const result = 'x'.repeat(spoolDefaults.segmentRecordBytes / 2);
    const reports = [];
    for (const id of ids(30)) reports.push(await spool.writeReport(complete(id, result), META));
    const many = files(machine).length;
    expect(many).toBeGreaterThan(2);
    expect(many).toBeLessThan(6);
    for (const report of reports.slice(0, 10)) await spool.answered(report);
    expect(files(machine)).toHaveLength(many - 1);
    expect(await spool.body(reports[29]!)).toEqual(complete('att_29', result));
    for (const report of reports.slice(10)) await spool.answered(report);
    await spool.idle();
    expect(files(machine)).toEqual([]);
  });

  it('leave a file that stays for a moment, so that the next record costs one sync; then nothing is left', async () => {
    const { machine, spool } = await start();
    await spool.answered(await spool.writeReport(complete('att_a'), META));
    machine.disk.trace.length = 0;
    await machine.clock.advance(spoolDefaults.segmentLingerMs - 1);
    await spool.answered(await spool.writeReport(complete('att_b'), META));
    expect(machine.disk.trace.map((step) => step.split(' ')[0])).toEqual([
      ...['append', 'syncFile', 'append'],
    ]);
    await machine.clock.advance(spoolDefaults.segmentLingerMs);
    expect(files(machine)).toEqual([]);
  });

  it('find a file with a durable name where one was expected: one write and one sync are left', async () => {
    const { machine, spool } = await start();
    machine.disk.trace.length = 0;
    spool.expectReport();
    spool.expectReport();
    await machine.clock.advance(1);
    const steps = () => machine.disk.trace.splice(0).map((step) => step.split(' ')[0]);
    expect(steps()).toEqual(['open', 'syncFolder']);
    await spool.writeReport(complete('att_a'), META);
    expect(steps()).toEqual(['append', 'syncFile']);
    spool.expectReport();
    await spool.writeReport(complete('att_b'), META);
    expect(steps()).toEqual(['append', 'syncFile']);
    machine.powerCut();
    expect(reportIds(await open(machine.start()))).toEqual(['att_a', 'att_b']);
  });

  it('wait for the name of a file that is being made for them', async () => {
    const { machine, spool } = await start();
    machine.disk.fail({ step: 'syncFolder', path: /reports/, ms: 50, times: 1 });
    spool.expectReport();
    const written = spool.writeReport(complete('att_a'), META);
    let durable = false;
    void written.then(() => {
      durable = true;
    });
    await machine.clock.advance(49);
    expect(durable).toBe(false);
    await machine.clock.time.until(written);
    machine.powerCut();
    expect(reportIds(await open(machine.start()))).toEqual(['att_a']);
  });

  it('that were expected and do not come leave no file', async () => {
    const { machine, spool } = await start();
    spool.expectReport();
    await machine.clock.advance(1);
    expect(files(machine)).toHaveLength(1);
    await machine.clock.advance(spoolDefaults.segmentLingerMs);
    expect(files(machine)).toEqual([]);
    expect(await spool.idle()).toBeUndefined();
  });

  it.each(['open', 'syncFolder'] as const)(
    'go to a file of their own where the disk has refused the one made for them (%s)',
    async (step) => {
      const { machine, spool } = await start();
      machine.disk.fail({ step, path: /reports/, code: 'EIO', times: 1 });
      spool.expectReport();
      await machine.clock.advance(1);
      await spool.writeReport(complete('att_a'), META);
      machine.powerCut();
      expect(reportIds(await open(machine.start()))).toEqual(['att_a']);
    },
  );

  it('of large records have a file each, written beside: it is whole or not there', async () => {
    const { machine, spool } = await start();
    const result = 'x'.repeat(spoolDefaults.segmentRecordBytes);
    const large = spool.writeReport(complete('att_large', result), META);
    await large;
    expect(machine.disk.trace.filter((step) => /^rename .*reports/.test(step))).toHaveLength(1);
    machine.powerCut();
    const second = await open(machine.start(), { reserveBytes: 0 });
    expect(await bodies(second)).toEqual([complete('att_large', result)]);
    // And holds up no small one.
    machine.disk.fail({ step: ['write', 'syncFile'], path: /00002-/, ms: 1_000 });
    const slow = second.writeReport(complete('att_slow', result), META);
    await second.writeReport(complete('att_a'), META);
    await machine.clock.time.until(slow);
    expect(files(machine)).toHaveLength(3);
  });
});

describe('a sync that fails', () => {
  it('ends trust in its file: what it should have made durable is written to a new one', async () => {
    const { machine, spool } = await start();
    await spool.writeReport(complete('att_a'), META);
    machine.disk.fail({ step: 'syncFile', path: /reports/, code: 'EIO', times: 1 });
    const failed = spool.writeReport(complete('att_b'), META);
    await expect(failed).rejects.toMatchObject({ details: { reason: 'EIO' } });
    await spool.writeReport(complete('att_b'), META);
    await spool.writeReport(complete('att_c'), META);
    expect(files(machine)).toHaveLength(2);
    machine.powerCut();
    expect(reportIds(await open(machine.start()))).toEqual(['att_a', 'att_b', 'att_c']);
  });

  it('fails its own group alone: what gathered meanwhile goes to the new file', async () => {
    const { machine, spool } = await start();
    await spool.writeReport(complete('att_a'), META);
    const slow = { step: 'syncFile', path: /reports/, code: 'EIO', ms: 100, times: 1 } as const;
    machine.disk.fail(slow);
    const first = spool.writeReport(complete('att_b'), META).catch((error) => error.code);
    await machine.clock.advance(50);
    const second = spool.writeReport(complete('att_c'), META);
    expect(await machine.clock.time.until(first)).toBe('SPOOL_WRITE_FAILED');
    await second;
    machine.powerCut();
    expect(reportIds(await open(machine.start()))).toEqual(['att_a', 'att_c']);
  });

  it('leaves nothing that counts: a report that was refused is not found by the next session', async () => {
    const { machine, process, spool } = await start();
    await spool.writeReport(complete('att_a'), META);
    machine.disk.fail({ step: 'syncFile', path: /reports/, code: 'EIO', times: 1 });
    await expect(spool.writeReport(complete('att_b'), META)).rejects.toThrow();
    await spool.idle();
    expect(reportIds((await restart(machine, process)).spool)).toEqual(['att_a']);
  });

  it('leaves the attempt of its report known, also to the next session: it sends a lost for it', async () => {
    const { machine, process, spool } = await start();
    await spool.recordClaim([held('att_a'), held('att_b')]);
    await spool.markBegun('att_b', 'ses_1/1');
    await spool.writeReport(complete('att_a'), META);
    machine.disk.fail({ step: 'syncFile', path: /reports/, code: 'EIO', times: 1 });
    await expect(spool.writeReport(complete('att_b'), META)).rejects.toThrow();
    await spool.idle();
    const next = (await restart(machine, process)).spool;
    expect(reportIds(next)).toEqual(['att_a']);
    expect(next.recovered.running).toMatchObject([{ attemptId: 'att_b', begun: true }]);
  });

  it('of a follow-up leaves the report that was refused: the same refusal leads to it again', async () => {
    const { machine, process, spool } = await start();
    await spool.recordClaim([held('att_b')]);
    const refused = await spool.writeReport(complete('att_b'), META);
    await spool.setAside(refused, 'refused', { status: 422 });
    await machine.clock.advance(spoolDefaults.segmentLingerMs);
    await spool.writeReport(complete('att_a'), META);
    machine.disk.fail({ step: 'syncFile', path: /reports/, code: 'EIO', times: 1 });
    const followUp = spool.writeReport(complete('att_b', 'shorter'), { ...META, followUp: true });
    await expect(followUp).rejects.toThrow();
    await spool.idle();
    const next = (await restart(machine, process)).spool;
    expect(reportIds(next)).toEqual(['att_b', 'att_a']);
  });

  it('also counts where somebody has emptied the file: the next report goes to a new one', async () => {
    const { machine, spool } = await start();
    await spool.writeReport(complete('att_a'), META);
    const [file = ''] = files(machine);
    const content = machine.disk.platter.get(`${FOLDER}/${file}`)!;
    content.bytes = content.durable = Buffer.alloc(0);
    await expect(spool.writeReport(complete('att_b'), META)).rejects.toThrow('EIO');
    const report = await spool.writeReport(complete('att_b'), META);
    expect(await spool.body(report)).toEqual(complete('att_b'));
  });

  it('of a claim refuses it, and writes down again what the others have begun', async () => {
    const { machine, process, spool } = await start();
    await spool.recordClaim([held('att_a'), held('att_b')]);
    await spool.markBegun('att_a', 'ses_1/1');
    machine.disk.fail({ step: 'syncFile', path: /running/, code: 'EIO', times: 1 });
    await expect(spool.recordClaim([held('att_c')])).rejects.toThrow();
    const before = machine.disk.trace.length;
    await spool.idle();
    expect(machine.disk.trace.slice(before)).toEqual([]);
    const [file = ''] = files(machine);
    const text = machine.disk.platter.text(`${FOLDER}/${file}`);
    expect(text.match(/"mark":"begun","attemptId":"att_a"/g)).toHaveLength(2);
    const next = await restart(machine, process);
    expect(next.spool.recovered.running).toMatchObject([
      { attemptId: 'att_a', begun: true, host: 'ses_1/1' },
      { attemptId: 'att_b', begun: false },
    ]);
  });
});

describe('a process that is killed between a write and its sync', () => {
  it('leaves a report that its heir makes durable before it counts on it', async () => {
    const { machine, process, spool } = await start();
    await spool.recordClaim([held('att_a')]);
    machine.disk.fail({ step: 'syncFile', path: /reports/, ms: 1_000, times: 1 });
    void spool.writeReport(complete('att_a'), META);
    await machine.clock.advance(500);
    process.kill();
    const heir = machine.start();
    expect(reportIds(await open(heir))).toEqual(['att_a']);
    // It may have sent the report by now.
    machine.powerCut();
    expect(reportIds(await open(machine.start()))).toEqual(['att_a']);
  });
});

describe('a write that fails in the midst', () => {
  it('hides no record before it and none after it', async () => {
    const { machine, process, spool } = await start();
    await spool.writeReport(complete('att_a'), META);
    machine.disk.capacityBytes = machine.disk.platter.usedBytes() + 100;
    await expect(spool.writeReport(complete('att_b'), META)).rejects.toThrow('ENOSPC');
    machine.disk.capacityBytes = Number.POSITIVE_INFINITY;
    await spool.writeReport(complete('att_c'), META);
    const next = await restart(machine, process);
    expect(reportIds(next.spool)).toEqual(['att_a', 'att_c']);
    expect(next.spool.recovered.corrupt).toBe(0);
  });
});

describe('attempts that may be repeated', () => {
  it('have a file of their own: their marks wait for no sync of the others', async () => {
    const { machine, process, spool } = await start();
    await spool.recordClaim([held('att_a', 'pure')]);
    await spool.recordClaim([held('att_b')]);
    machine.disk.fail({ step: 'syncFile', path: /running/, ms: 1_000 });
    const claim = spool.recordClaim([held('att_c')]);
    const from = machine.clock.now();
    // Nor do those of the others.
    await Promise.all([spool.markBegun('att_a'), spool.markBegun('att_b')]);
    expect(machine.clock.now()).toBe(from);
    await machine.clock.time.until(claim);
    const next = await restart(machine, process);
    expect(runningIds(next.spool).sort()).toEqual(['att_a', 'att_b', 'att_c']);
    expect(next.spool.recovered.running.filter(({ begun }) => begun)).toHaveLength(2);
  });

  it('under load cost less than one write each', async () => {
    const { machine, spool } = await start();
    machine.disk.trace.length = 0;
    for (let round = 0; round < 10; round++) {
      const names = ids(16, `att_${round}`);
      await spool.recordClaim(names.map((id) => held(id, 'pure')));
      await Promise.all(names.map((id) => spool.markBegun(id)));
      const reports = await Promise.all(names.map((id) => spool.writeReport(complete(id), META)));
      await Promise.all(reports.map((report) => spool.answered(report)));
    }
    const running = machine.disk.trace.filter((step) => step.includes('/running'));
    expect(running.length).toBeLessThan(40);
    expect(machine.disk.trace.length).toBeLessThan(80);
  });
});

describe('a spool of the version before, with a file for each group', () => {
  it('is read and emptied', async () => {
    const { machine, process, spool } = await start();
    await spool.recordClaim([held('att_r')]);
    const reports = await Promise.all(
      ['att_a', 'att_b'].map((id) => spool.writeReport(complete(id), META)),
    );
    expect(reports).toHaveLength(2);
    process.kill();
    const hands = machine.start();
    const [file = ''] = files(machine).filter((name) => name.startsWith('reports'));
    const lines = machine.disk.platter.text(`${FOLDER}/${file}`).split(/(?<=\n)/);
    await hands.disk.remove(`${FOLDER}/${file}`);
    const mark = { kind: 'mark', mark: 'answered', attemptId: 'att_a', at: '2026-01-01T00:00:00Z' };
    const old = ['reports/000000000007-0123abcd.jsonl', 'reports/000000000008-0123abcd.jsonl'];
    await hands.disk.writeFile(`${FOLDER}/${old[0]}`, `${lines[0]}\n${encodeLine(mark).text}`);
    await hands.disk.writeFile(`${FOLDER}/${old[1]}`, lines[1]!);
    hands.kill();
    const next = await open(machine.start());
    expect(reportIds(next)).toEqual(['att_b']);
    expect(runningIds(next)).toEqual(['att_r']);
    await next.answered(next.recovered.reports[0]!);
    await next.forget('att_r');
    await next.idle();
    expect(files(machine).filter((name) => name !== 'reserve')).toEqual([]);
  });
});
