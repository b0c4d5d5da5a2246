import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RealSpools } from './real-spool.ts';
import { complete, held, META, reportIds, runningIds } from './world.ts';

const onUnix = process.platform !== 'win32';

let spools: RealSpools;
beforeEach(async () => {
  spools = await RealSpools.make();
});
afterEach(() => spools.end());

describe('on the real disk', () => {
  it('keeps reports and running records over sessions, for the owner’s eyes only', async () => {
    const first = await spools.open({ sessionId: 'ses_1' });
    await first.recordClaim([held('att_a'), held('att_b')]);
    await first.markBegun('att_a');
    const reports = await Promise.all(
      Array.from({ length: 50 }, (_, i) => first.writeReport(complete(`att_${i}`), META)),
    );
    await first.answered(reports[7]!);
    await first.close();
    const second = await spools.open({ sessionId: 'ses_2' });
    expect(reportIds(second)).toEqual(
      reports.map(({ head }) => head.attemptId).filter((id) => id !== 'att_7'),
    );
    expect(second.recovered.running.map(({ attemptId, begun }) => [attemptId, begun])).toEqual([
      ['att_a', true],
      ['att_b', false],
    ]);
    expect(second.earlierSessions).toEqual(['ses_1']);
    if (onUnix) {
      for (const name of await readdir(spools.folder, { recursive: true })) {
        if (name.startsWith('owner.lock')) continue;
        const { mode } = await stat(join(spools.folder, name));
        expect(mode & 0o077, name).toBe(0);
      }
    }
    for (const report of second.recovered.reports) await second.answered(report);
    for (const id of runningIds(second)) await second.forget(id);
    await second.close();
    expect((await readdir(spools.folder, { recursive: true })).sort()).toEqual([
      'corrupt',
      'owner.json',
      'refused',
      'reports',
      'reserve',
      'running',
      'stale',
    ]);
  });
});

describe('a process killed with -9 in the midst of it', () => {
  it('loses no report that was durable, sends none that was answered long ago, and invents none', async () => {
    let left: string[] = [];
    for (let round = 0; round < 3; round++) {
      const child = spools.start(`ses_${round}`);
      await child.message('opened');
      const { earlierSessions, reports } = await child.message('opened');
      expect(reports.sort()).toEqual([...left].sort());
      expect(earlierSessions).toHaveLength(round);
      child.process.send({ do: 'flood' });
      const enough = 150 + round * 77;
      await child.seen(({ messages }) => messages.filter(({ durable }) => durable).length > enough);
      await child.kill();

      const told = (name: string) =>
        new Set(child.messages.filter((m) => name in m).map((m) => String(m[name])));
      const durable = told('durable');
      const answered = told('answered');
      const began = told('began');
      const spool = await spools.open({ sessionId: `ses_check_${round}` });
      const found = reportIds(spool).filter((id) => !left.includes(id));
      expect(new Set(found).size).toBe(found.length);
      for (const id of durable) if (!answered.has(id)) expect(found).toContain(id);
      // Sixteen lanes: what was under way at the kill is all that may be there beyond that.
      const beyond = found.filter((id) => !durable.has(id) || answered.has(id));
      expect(beyond.length).toBeLessThanOrEqual(32);
      for (const id of beyond) expect(id).toMatch(/^att_\d+r\d+x\d+$/);
      expect(spool.recovered.corrupt).toBe(0);
      for (const { attemptId, begun } of spool.recovered.running) {
        expect(found).not.toContain(attemptId);
        expect(durable.has(attemptId), `${attemptId} has a durable report`).toBe(false);
        if (began.has(attemptId)) expect(begun).toBe(true);
        await spool.forget(attemptId);
      }
      const [first, ...rest] = spool.recovered.reports;
      for (const report of rest) await spool.answered(report);
      left = first ? [first.head.attemptId] : [];
      await spool.close();
      // The check was a session too.
      await spools.alterOwner({
        sessionId: `ses_${round}`,
        earlierSessions: Array.from({ length: round }, (_, i) => `ses_${i}`),
      });
    }
  });
});
