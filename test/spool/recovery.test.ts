import { describe, expect, it } from 'vitest';
import { spoolDefaults } from '../../src/core/defaults.ts';
import { encodeLine } from '../../src/spool/records.ts';
import {
  complete,
  FOLDER,
  files,
  held,
  META,
  open,
  reportIds,
  restart,
  runningIds,
  start,
} from './world.ts';

/** Three reports in one file, then the process is gone. */
async function threeReports() {
  const { machine, process, spool } = await start();
  await Promise.all(['att_a', 'att_b', 'att_c'].map((id) => spool.writeReport(complete(id), META)));
  process.kill();
  const [name = ''] = files(machine);
  const hands = machine.start();
  const file = `${FOLDER}/${name}`;
  const lines = Buffer.from(await hands.disk.readFile(file))
    .toString()
    .split(/(?<=\n)/);
  return { machine, hands, file, lines };
}

describe('at a start', () => {
  it('a corrupt line is kept aside with the reason and stops nothing else', async () => {
    const { machine, hands, file, lines } = await threeReports();
    await hands.disk.writeFile(
      file,
      [lines[0], lines[1]!.replace('hello', 'hullo'), lines[2]].join(''),
    );
    hands.kill();
    const process = machine.start();
    const spool = await open(process);
    expect(reportIds(spool)).toEqual(['att_a', 'att_c']);
    expect(spool.recovered.corrupt).toBe(1);
    expect(spool.stats()).toMatchObject({ pending: 2, setAside: { corrupt: 1 } });
    const [name] = files(machine).filter((path) => path.startsWith('corrupt'));
    expect(JSON.parse(machine.disk.platter.tree()[`${FOLDER}/${name}`]!)).toMatchObject({
      kind: 'corrupt',
      from: file.slice(FOLDER.length + 1),
      line: 2,
      why: 'does not fit its checksum: it was altered',
      text: lines[1]!.trimEnd().replace('hello', 'hullo'),
    });
    expect(process.log.of('spool.corrupt')).toHaveLength(1);
    // The rest goes its way; then the file goes, and what was set aside stays.
    for (const report of spool.recovered.reports) await spool.answered(report);
    await spool.idle();
    expect(files(machine)).toEqual([name]);
    expect((await restart(machine, process)).spool.stats().setAside.corrupt).toBe(1);
  });

  it('garbage that is no text is kept byte for byte', async () => {
    const { machine, hands, file, lines } = await threeReports();
    const garbage = Buffer.from([0xff, 0xfe, 0x00, 0x80]);
    await hands.disk.writeFile(file, Buffer.concat([garbage, Buffer.from(`\n${lines[0]}`)]));
    hands.kill();
    const spool = await open(machine.start());
    expect(reportIds(spool)).toEqual(['att_a']);
    const [name] = files(machine).filter((path) => path.startsWith('corrupt'));
    const kept = JSON.parse(machine.disk.platter.tree()[`${FOLDER}/${name}`]!);
    expect(Buffer.from(kept.base64, 'base64')).toEqual(garbage);
  });

  it('a file of nothing but garbage goes once it is kept aside', async () => {
    const { machine, hands, file } = await threeReports();
    await hands.disk.writeFile(file, 'nothing\nof\nuse\n');
    hands.kill();
    const spool = await open(machine.start());
    await spool.idle();
    expect(files(machine).map((path) => path.split('/')[0])).toEqual([
      'corrupt',
      'corrupt',
      'corrupt',
    ]);
  });

  it('a corrupt line that cannot be kept aside stays where it is, and the others are sent', async () => {
    const { machine, hands, file, lines } = await threeReports();
    await hands.disk.writeFile(file, `garbage\n${lines[0]}`);
    hands.kill();
    machine.disk.fail({ path: /corrupt\//, code: 'ENOSPC' });
    const process = machine.start();
    const spool = await open(process);
    expect(reportIds(spool)).toEqual(['att_a']);
    await spool.answered(spool.recovered.reports[0]!);
    await spool.idle();
    expect(files(machine)).toEqual([file.slice(FOLDER.length + 1)]);
    // Answered is remembered all the same.
    expect(reportIds((await restart(machine, process)).spool)).toEqual([]);
  });

  it('a file that the disk does not give stays as it is, and the others are sent', async () => {
    const { machine, process, spool } = await start();
    await spool.writeReport(complete('att_a', 'x'.repeat(spoolDefaults.segmentRecordBytes)), META);
    await spool.writeReport(complete('att_b'), META);
    const [first = ''] = files(machine);
    process.kill();
    const fault = machine.disk.fail({ step: 'read', path: new RegExp(first), code: 'EIO' });
    const second = machine.start();
    const next = await open(second);
    expect(reportIds(next)).toEqual(['att_b']);
    expect(second.log.of('spool.unreadable')).toHaveLength(1);
    for (const report of next.recovered.reports) await next.answered(report);
    await next.writeReport(complete('att_c'), META);
    fault.clear();
    expect(reportIds((await restart(machine, second)).spool)).toEqual(['att_a', 'att_c']);
  });

  it('without a free file descriptor it does not open, rather than to overlook reports', async () => {
    const { machine } = await threeReports();
    machine.powerCut();
    const fault = machine.disk.fail({ step: 'read', path: /reports/, code: 'EMFILE' });
    await expect(open(machine.start())).rejects.toMatchObject({
      code: 'SPOOL_UNREADABLE',
      hint: expect.stringContaining('ulimit'),
    });
    fault.clear();
    expect(reportIds(await open(machine.start()))).toEqual(['att_a', 'att_b', 'att_c']);
  });

  it('records of a later version stay untouched, with their file', async () => {
    const { machine, hands, file, lines } = await threeReports();
    const newer = encodeLine({ kind: 'report', v: 2, body: 'of another shape' } as {
      kind: string;
    });
    await hands.disk.writeFile(file, newer.text + lines[0]);
    hands.kill();
    const process = machine.start();
    const spool = await open(process);
    expect(reportIds(spool)).toEqual(['att_a']);
    await spool.answered(spool.recovered.reports[0]!);
    await spool.idle();
    expect(machine.disk.platter.tree()[file]).toContain('of another shape');
    expect(process.log.of('spool.newer')).toHaveLength(1);
  });

  it('sweeps what killed writers left, and nothing that is not ours', async () => {
    const { machine, process } = await start();
    process.kill();
    const hands = machine.start();
    const ours = ['owner.json.11', 'reports/000000000009-0123abcd.jsonl.12'];
    const theirs = ['notes.txt', 'reports/notes.txt', 'reports/backup.jsonl', 'stale/readme'];
    for (const name of [...ours, ...theirs]) await hands.disk.writeFile(`${FOLDER}/${name}`, 'x');
    hands.kill();
    const spool = await open(machine.start());
    expect(spool.recovered).toMatchObject({ reports: [], running: [], corrupt: 0 });
    expect(files(machine).sort()).toEqual(theirs.sort());
  });

  it('never writes over a file that is there, whatever its number', async () => {
    const { machine, process, spool } = await start();
    await spool.writeReport(complete('att_a'), META);
    process.kill();
    const hands = machine.start();
    // Somebody put one with a high number there.
    const [name = ''] = files(machine);
    const high = 'reports/000000000999-ffffffff.jsonl';
    await hands.disk.rename(`${FOLDER}/${name}`, `${FOLDER}/${high}`);
    hands.kill();
    const next = await open(machine.start());
    await next.writeReport(complete('att_b'), META);
    expect(files(machine)[1]).toMatch(/^reports\/000000001000-/);
    expect(reportIds(next)).toEqual(['att_a']);
  });

  it('reads twenty thousand reports with few files open at a time', async () => {
    const { machine, process, spool } = await start();
    const ids = Array.from({ length: 20_000 }, (_, i) => `att_${i}`);
    for (let at = 0; at < ids.length; at += 500)
      await Promise.all(ids.slice(at, at + 500).map((id) => spool.writeReport(complete(id), META)));
    let open_ = 0;
    let most = 0;
    process.kill();
    const second = machine.start();
    const { disk } = second;
    const counting = {
      ...bound(disk),
      readPart: async (file: string, offset: number, bytes: number) => {
        most = Math.max(most, ++open_);
        const content = await disk.readPart(file, offset, bytes);
        open_--;
        return content;
      },
    };
    const next = await open(second, { disk: counting });
    expect(reportIds(next)).toEqual(ids);
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(spoolDefaults.readsAtOnce);
    for (const report of next.recovered.reports) void next.answered(report);
    await next.idle();
    expect(files(machine)).toEqual([]);
  });

  it('running records without a report are told with what is known, of several sessions', async () => {
    const { machine, process, spool } = await start({ sessionId: 'ses_1' });
    await spool.recordClaim([held('att_a')]);
    const second = await restart(machine, process, { sessionId: 'ses_2' });
    await second.spool.recordClaim([held('att_b', 'pure')]);
    await second.spool.markBegun('att_b');
    const third = await restart(machine, second.process, { sessionId: 'ses_3' });
    expect(runningIds(third.spool)).toEqual(['att_a', 'att_b']);
    expect(third.spool.recovered.running).toMatchObject([
      { sessionId: 'ses_1', begun: false, effectSafety: 'non-idempotent' },
      { sessionId: 'ses_2', begun: true, effectSafety: 'pure' },
    ]);
  });
});

function bound<T extends object>(of: T): T {
  const copy: Record<string, unknown> = {};
  for (const name of Object.getOwnPropertyNames(Object.getPrototypeOf(of))) {
    const value = (of as Record<string, unknown>)[name];
    if (typeof value === 'function') copy[name] = value.bind(of);
  }
  return copy as T;
}
