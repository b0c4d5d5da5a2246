import { spawnSync } from 'node:child_process';
import { truncate as cut, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CollectingLog } from '../../sim/log.ts';
import { SimulatedMachine } from '../../sim/machine.ts';
import { spoolDefaults } from '../../src/core/defaults.ts';
import { encodeLine } from '../../src/spool/records.ts';
import { RealSpools } from './real-spool.ts';
import { complete, FOLDER, files, held, META, open, reportIds, restart, start } from './world.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** With other numbers than the real ones, as long as it works. */
async function withBounds(
  bounds: Partial<Record<keyof typeof spoolDefaults, number>>,
  work: () => Promise<void>,
) {
  const before = { ...spoolDefaults };
  try {
    Object.assign(spoolDefaults, bounds);
    await work();
  } finally {
    Object.assign(spoolDefaults, before);
  }
}

describe('what is set aside', () => {
  async function stale(count: number, bytes = 10) {
    const world = await start();
    for (let i = 0; i < count; i++) {
      const report = await world.spool.writeReport(complete(`att_${i}`, 'x'.repeat(bytes)), META);
      await world.spool.setAside(report, 'stale', { status: 409 });
      await world.machine.clock.advance(1_000);
    }
    await world.spool.idle();
    return world;
  }

  it('is kept up to a number, the oldest go, which is told; also while the spool is open', () =>
    withBounds({ setAsideKept: 5 }, async () => {
      const { machine, process, spool } = await stale(8);
      expect(files(machine).map((name) => name.slice(0, 'stale/att_0'.length))).toEqual(
        [3, 4, 5, 6, 7].map((i) => `stale/att_${i}`),
      );
      expect(spool.stats().setAside.stale).toBe(5);
      expect(process.log.of('spool.aside-expired')[0]).toMatchObject({
        level: 'warn',
        text: `A set-aside was removed from ${FOLDER}/stale, the oldest first: at most 5 are kept, and newer ones came. Of: tsk_att_0.`,
      });
    }));

  it('is kept up to a size, the newest always', () =>
    withBounds({ setAsideKeptBytes: 5_000 }, async () => {
      const { machine } = await stale(6, 1_500);
      expect(files(machine).map((name) => name.slice(0, 'stale/att_0'.length))).toEqual(
        [4, 5].map((i) => `stale/att_${i}`),
      );
      const large = await stale(1, 20_000);
      expect(files(large.machine)).toHaveLength(1);
    }));

  it('above the bound for all costs no other one anything: it stays beside them until a newer large one comes', () =>
    withBounds({ setAsideKeptBytes: 5_000, setAsideLargeBytes: 2_000 }, async () => {
      const { machine, process, spool } = await stale(3);
      const set = async (id: string, bytes: number) => {
        const report = await spool.writeReport(complete(id, 'x'.repeat(bytes)), META);
        await spool.setAside(report, 'stale', { status: 409 });
        await machine.clock.advance(1_000);
        await spool.idle();
        return files(machine).map((name) => /att_[a-z0-9]+/.exec(name)?.[0]);
      };
      const small = ['att_0', 'att_1', 'att_2'];
      expect(await set('att_huge', 150_000)).toEqual([...small, 'att_huge']);
      expect(process.log.of('spool.aside-expired')).toEqual([]);
      // Large ones have as much room again, and no ordinary one goes for them.
      expect(await set('att_large1', 2_500)).toEqual([...small, 'att_large1']);
      expect(await set('att_large2', 2_500)).toEqual([...small, 'att_large2']);
      const told = process.log.of('spool.aside-expired').map(({ text }) => text);
      expect(told).toEqual([
        expect.stringMatching(/the oldest first: at most 0 MB are kept .+ Of: tsk_att_huge\.$/),
        expect.stringMatching(/Of: tsk_att_large1\.$/),
      ]);
    }));

  it('goes when its time is over, also while the spool is open for months', async () => {
    const { machine, spool } = await stale(2);
    await machine.clock.advance(29 * DAY);
    expect(files(machine)).toHaveLength(2);
    await machine.clock.advance(2 * DAY);
    await spool.idle();
    expect(files(machine)).toEqual([]);
    expect(spool.stats().setAside.stale).toBe(0);
  });

  it('stays while a clock is wrong for less than a day, in the open spool and through restarts', async () => {
    const { machine, process, spool } = await stale(2);
    await machine.clock.advance(2 * DAY);
    machine.clock.jumpWall(12 * 365 * DAY);
    await machine.clock.advance(20 * HOUR);
    await spool.idle();
    expect(files(machine)).toHaveLength(2);
    const again = await restart(machine, process);
    await machine.clock.advance(20 * HOUR);
    await again.spool.idle();
    expect(files(machine)).toHaveLength(2);
    machine.clock.jumpWall(-12 * 365 * DAY);
    await machine.clock.advance(25 * DAY);
    await again.spool.idle();
    expect(files(machine)).toHaveLength(2);
    await machine.clock.advance(3 * DAY);
    await again.spool.idle();
    expect(files(machine)).toEqual([]);
  });

  it('goes in the order in which it came, also from a clock that was years ahead', () =>
    withBounds({ setAsideKept: 3 }, async () => {
      const { machine, spool } = await start();
      machine.clock.jumpWall(12 * 365 * DAY);
      for (let i = 0; i < 5; i++) {
        if (i === 2) machine.clock.jumpWall(-12 * 365 * DAY);
        const report = await spool.writeReport(complete(`att_${i}`, 'x'), META);
        await spool.setAside(report, 'stale', { status: 409 });
        await machine.clock.advance(1_000);
      }
      await spool.idle();
      expect(files(machine).map((name) => name.slice(0, 'stale/att_0'.length))).toEqual(
        [2, 3, 4].map((i) => `stale/att_${i}`),
      );
    }));

  it('is counted as it is after somebody has taken some away', async () => {
    const { machine, process, spool } = await stale(3);
    await process.disk.remove(`${FOLDER}/${files(machine)[0]}`);
    await machine.clock.advance(spoolDefaults.upkeepEveryMs);
    expect(spool.stats().setAside.stale).toBe(2);
  });

  it('stays where the spool was lost: its heir looks after it', async () => {
    const { machine, process, spool } = await stale(1);
    await process.disk.remove(`${FOLDER}/owner.json`);
    await process.lock.breakOpen(FOLDER);
    await machine.clock.advance(60 * DAY);
    expect(spool.stats().why).toContain('removed or moved');
    expect(files(machine)).toHaveLength(1);
  });
});

describe('reports that nobody answers', () => {
  it('are never dropped, however old; it is told once a day, and claiming goes on', async () => {
    const { machine, process, spool } = await start();
    await spool.writeReport(complete('att_a'), META);
    await machine.clock.advance(23 * 3_600_000);
    expect(process.log.of('spool.old')).toHaveLength(0);
    await machine.clock.advance(4 * DAY);
    expect(process.log.of('spool.old')).toHaveLength(4);
    expect(process.log.of('spool.old')[0]?.text).toMatch(
      /no answer for 24 hours \(1 wait in all\)/,
    );
    expect(spool.stats()).toMatchObject({ ok: true, pending: 1 });
    await machine.clock.advance(300 * DAY);
    const next = await restart(machine, process);
    expect(reportIds(next.spool)).toEqual(['att_a']);
    await next.spool.answered(next.spool.recovered.reports[0]!);
    await machine.clock.advance(3 * DAY);
    expect(next.process.log.of('spool.old')).toHaveLength(0);
  });

  it('beyond the bounds stop claiming, and are still taken themselves: nothing that runs is lost', () =>
    withBounds({ pendingRecords: 3 }, async () => {
      const { spool } = await start();
      await spool.recordClaim(Array.from({ length: 6 }, (_, i) => held(`att_${i}`)));
      const all = [];
      for (let i = 0; i < 6; i++) all.push(await spool.writeReport(complete(`att_${i}`), META));
      expect(spool.stats()).toMatchObject({
        ok: false,
        pending: 6,
        why: expect.stringContaining('6 unanswered reports'),
      });
      for (const one of all.slice(0, 3)) await spool.answered(one);
      expect(spool.stats().ok).toBe(true);
    }));
});

describe('what a crash left unfinished', () => {
  it('is swept where it is a file of ours under a name of ours; nothing else is touched', async () => {
    const { machine, process } = await start();
    process.kill();
    const hands = machine.start();
    const ours = [
      'owner.json.11',
      'reserve.12',
      'room.probe',
      'room.probe.13',
      'reports/000000000009-0123abcd.jsonl.14',
      'running/000000000009-0123abcd.jsonl.15',
      'stale/att_a-complete-0123456789abcdef.jsonl.16',
      'corrupt/reports-000000000009-0123abcd-3.jsonl.17',
    ];
    const theirs = [
      'notes.json.1',
      'backup.jsonl.2',
      'reports/notes.jsonl.3',
      'reports/000000000009-0123abcd.jsonl.old',
      'stale/mine.jsonl.4',
      'reserve.mine',
      'doctor-0a.probe',
    ];
    for (const name of [...ours, ...theirs]) await hands.disk.writeFile(`${FOLDER}/${name}`, 'x');
    hands.kill();
    const next = machine.start();
    await open(next);
    // A doctor may be at work at this moment.
    expect(files(machine).sort()).toEqual([...theirs].sort());
    next.kill();
    await machine.clock.advance(spoolDefaults.probeOldMs);
    await open(machine.start());
    expect(files(machine).sort()).toEqual(theirs.filter((name) => !name.includes('probe')).sort());
  });

  it('that is no file stays', async () => {
    const machine = new SimulatedMachine();
    machine.disk.platter.addFolder(`${FOLDER}/reports/000000000009-0123abcd.jsonl.14`);
    await open(machine.start());
    expect(machine.disk.platter.names(`${FOLDER}/reports`)).toHaveLength(1);
  });
});

describe('bad records', () => {
  const onUnix = process.platform !== 'win32';
  const name = (n: number) => `${String(n).padStart(12, '0')}-0badc0de.jsonl`;

  it('of every kind, all at once, on a real disk, keep no good one from being found and sent', async () => {
    const spools = await RealSpools.make();
    onTestFinished(() => spools.end());
    const first = await spools.open({ sessionId: 'ses_first' });
    for (const id of ['att_a', 'att_b']) await first.writeReport(complete(id), META);
    await first.close();
    const reports = join(spools.folder, 'reports');
    const at = (n: number) => join(reports, name(n));
    const [good = ''] = (await readdir(reports)).sort();
    const text = (await readFile(join(reports, good), 'utf8')).replaceAll('att_a', 'att_c');
    const line = (kind: object) => encodeLine(kind as { kind: string }).text;

    await writeFile(at(101), 'garbage\n\u0000\u0001\u0002 and more');
    await writeFile(at(102), text); // altered: the checksum is another attempt's
    await writeFile(at(103), (await readFile(join(reports, good))).subarray(0, 200)); // cut
    await writeFile(at(104), line({ kind: 'report', v: 2, later: true })); // of a later version
    await writeFile(at(105), line({ kind: 'report', body: {} })); // whole, and no report
    await writeFile(at(106), '');
    await mkdir(at(107));
    if (onUnix) {
      spawnSync('mkfifo', [at(108)]);
      await symlink('/etc/passwd', at(109));
      await symlink(join(reports, 'nowhere'), at(110));
    }
    // A gigabyte of nothing, of which no byte is read.
    await writeFile(at(111), 'x');
    await cut(at(111), 1_073_741_824);
    await writeFile(
      at(112),
      `${'x'.repeat(300_000)}\n${await readFile(join(reports, good), 'utf8')}`,
    );

    const from = performance.now();
    const heap = process.memoryUsage().rss;
    const log = new CollectingLog();
    const second = await spools.open({ sessionId: 'ses_second', log });
    expect(performance.now() - from).toBeLessThan(10_000);
    expect(process.memoryUsage().rss - heap).toBeLessThan(400 * 1_048_576);
    // That of the last file is the same report as the first one's: it counts once.
    expect(reportIds(second).sort()).toEqual(['att_a', 'att_b']);
    for (const one of second.recovered.reports)
      expect((await second.body(one)).op).toBe('complete');
    expect(second.recovered.corrupt).toBeGreaterThanOrEqual(4);
    const said = log
      .of('spool.unreadable')
      .map(({ text }) => text)
      .join('\n');
    expect(said).toMatch(/000000000111-0badc0de.jsonl cannot be read \(is far too large/);
    if (onUnix) {
      expect(said).toMatch(/000000000108.*no regular file/);
      expect(said).toMatch(/000000000109.*symbolic link/);
    }
    for (const one of second.recovered.reports) await second.answered(one);
    await second.writeReport(complete('att_d'), META);
    await second.close();
    const left = (await readdir(reports)).filter((one) => one.includes('0badc0de')).sort();
    // What is not understood, or no file of ours, is where it was.
    expect(left).toEqual(
      (onUnix ? [104, 107, 108, 109, 110, 111] : [104, 107, 111]).map(name).sort(),
    );
    expect((await spools.open({ sessionId: 'ses_third' })).recovered.reports).toHaveLength(1);
  });
});
