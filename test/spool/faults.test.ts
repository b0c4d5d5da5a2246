import { describe, expect, it } from 'vitest';
import { SimulatedClock } from '../../sim/clock.ts';
import { spoolDefaults } from '../../src/core/defaults.ts';
import { Health } from '../../src/spool/health.ts';
import type { SpoolOptions } from '../../src/spool/index.ts';
import { start as begin, complete, files, held, META, open, reportIds, restart } from './world.ts';

/** Without a reserve: what the disk does is what is seen. With one: `reserve.test.ts`. */
const start = (more: Partial<SpoolOptions> = {}) => begin({ reserveBytes: 0, ...more });

/** A spool that tells its troubles. */
async function watched() {
  const troubles: (string | undefined)[] = [];
  const world = await start({ onTrouble: (why) => troubles.push(why) });
  return { ...world, troubles };
}

describe('a disk that refuses', () => {
  it.each(['ENOSPC', 'EROFS', 'EMFILE', 'EIO', 'EDQUOT', 'EACCES'])(
    'by %s rejects the report with the reason, and takes it when it is asked again',
    async (code) => {
      const { machine, process, spool, troubles } = await watched();
      const fault = machine.disk.fail({ step: ['open', 'write'], path: /reports/, code });
      await expect(spool.writeReport(complete('att_a'), META)).rejects.toMatchObject({
        name: 'TaskError',
        code: 'SPOOL_WRITE_FAILED',
        retryable: true,
        details: { reason: code },
        hint: expect.stringMatching(/^[A-Z]/),
      });
      expect(spool.stats()).toMatchObject({ ok: false, pending: 0 });
      expect(spool.stats().why).toContain(code);
      expect(files(machine)).toEqual([]);
      fault.clear();
      await spool.writeReport(complete('att_a'), META);
      expect(spool.stats()).toMatchObject({ ok: true, why: undefined, pending: 1 });
      expect(troubles).toEqual([expect.stringContaining(code), undefined]);
      expect(reportIds((await restart(machine, process)).spool)).toEqual(['att_a']);
    },
  );

  it('at any step of a write leaves nothing behind, and the next try is another file', async () => {
    for (const step of ['open', 'append', 'syncFile', 'syncFolder'] as const) {
      const { machine, spool } = await start();
      machine.disk.fail({ step, path: /reports/, code: 'EIO', times: 1 });
      await expect(spool.writeReport(complete('att_a'), META)).rejects.toMatchObject({
        code: 'SPOOL_WRITE_FAILED',
      });
      expect(files(machine), step).toEqual([]);
      machine.disk.trace.length = 0;
      await spool.writeReport(complete('att_a'), META);
      // After a failed fsync nothing is known of the first file: it is not tried again.
      expect(machine.disk.trace.filter((one) => one.startsWith('syncFile'))).toEqual([
        expect.stringMatching(/reports\/000000000002-/),
      ]);
      machine.powerCut();
      expect(reportIds(await open(machine.start()))).toEqual(['att_a']);
    }
  });

  it('is tried again by itself, so that claiming can go on without a report to write', async () => {
    const { machine, spool, troubles } = await watched();
    const fault = machine.disk.fail({ step: ['open', 'write'], code: 'ENOSPC' });
    await expect(spool.writeReport(complete('att_a'), META)).rejects.toThrow();
    await machine.clock.advance(60_000);
    expect(spool.stats().ok).toBe(false);
    fault.clear();
    await machine.clock.advance(spoolDefaults.probeEveryMs);
    expect(spool.stats().ok).toBe(true);
    expect(troubles).toHaveLength(2);
  });

  it('keeps neither a claim nor the process from ending', async () => {
    const { machine, spool } = await start();
    machine.disk.fail({ code: 'EROFS', step: ['open', 'append', 'remove', 'rename'] });
    await expect(spool.recordClaim([held('att_a')])).rejects.toMatchObject({
      code: 'SPOOL_WRITE_FAILED',
    });
    await expect(spool.recordClaim([held('att_b', 'pure')])).rejects.toMatchObject({
      code: 'SPOOL_WRITE_FAILED',
    });
    expect(spool.has('att_a')).toBe(false);
    await machine.clock.time.until(spool.close());
  });
});

describe('a full disk', () => {
  it('takes the small reports that still fit when a large one does not', async () => {
    const { machine, process, spool } = await start();
    machine.disk.capacityBytes = machine.disk.platter.usedBytes() + 6_000;
    const results = await Promise.allSettled([
      spool.writeReport(complete('att_a'), META),
      spool.writeReport(complete('att_large', 'x'.repeat(10_000)), META),
      spool.writeReport(complete('att_b'), META),
      spool.writeReport(complete('att_c'), META),
    ]);
    expect(results.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ]);
    expect(reportIds((await restart(machine, process)).spool)).toEqual(['att_a', 'att_b', 'att_c']);
  });

  it('still delivers and forgets: what is answered makes room', async () => {
    const { machine, process, spool } = await start();
    const two = await Promise.all(
      ['att_a', 'att_b'].map((id) => spool.writeReport(complete(id), META)),
    );
    await spool.recordClaim([held('att_c'), held('att_d')]);
    machine.disk.capacityBytes = machine.disk.platter.usedBytes();
    // Half of a file answered: the mark has no room, so after a kill this one is sent again. Nothing worse.
    await spool.answered(two[0]!);
    await expect(spool.markBegun('att_c')).rejects.toMatchObject({ code: 'SPOOL_WRITE_FAILED' });
    await spool.forget('att_c');
    await spool.answered(two[1]!);
    await spool.forget('att_d');
    await spool.idle();
    expect(files(machine)).toEqual([]);
    expect(spool.stats().pending).toBe(0);
    // And there it is writable again.
    await spool.writeReport(complete('att_e'), META);
    expect(reportIds((await restart(machine, process)).spool)).toEqual(['att_e']);
  });

  it('that tears a mark costs only that mark', async () => {
    const { machine, process, spool } = await start();
    await spool.recordClaim(['att_a', 'att_b', 'att_c'].map((id) => held(id)));
    machine.disk.capacityBytes = machine.disk.platter.usedBytes() + 100;
    await expect(spool.markBegun('att_a')).rejects.toMatchObject({ code: 'SPOOL_WRITE_FAILED' });
    machine.disk.capacityBytes = Number.POSITIVE_INFINITY;
    await spool.markBegun('att_b');
    const next = await restart(machine, process);
    expect(next.spool.recovered.corrupt).toBe(0);
    expect(next.spool.recovered.running.map(({ begun }) => begun)).toEqual([false, true, false]);
  });

  it('keeps a set-aside’s report where it is until it can be set aside', async () => {
    const { machine, process, spool } = await start();
    const report = await spool.writeReport(complete('att_a'), META);
    machine.disk.capacityBytes = machine.disk.platter.usedBytes();
    await expect(spool.setAside(report, 'stale', { status: 409 })).rejects.toMatchObject({
      code: 'SPOOL_WRITE_FAILED',
    });
    expect(spool.stats().pending).toBe(1);
    machine.disk.capacityBytes = Number.POSITIVE_INFINITY;
    await spool.setAside(report, 'stale', { status: 409 });
    expect(reportIds((await restart(machine, process)).spool)).toEqual([]);
  });
});

describe('a slow disk', () => {
  it('gathers what comes meanwhile into the next group', async () => {
    const { machine, spool } = await start();
    machine.disk.fail({ step: 'syncFile', path: /reports/, ms: 1_000 });
    const written: Promise<unknown>[] = [];
    for (let i = 0; i < 100; i++) {
      written.push(spool.writeReport(complete(`att_${i}`), META));
      await machine.clock.advance(10);
    }
    await machine.clock.time.until(Promise.all(written));
    // One sync at a time, a second for each: the first record alone, the rest together, but for its last few.
    const syncs = machine.disk.trace.filter((step) => /^syncFile .*reports/.test(step));
    expect(syncs).toHaveLength(2);
    expect(files(machine)).toHaveLength(1);
  });

  it('does not hold up a report by a running record, nor the other way', async () => {
    const { machine, spool } = await start();
    machine.disk.fail({ path: /running/, ms: 60_000 });
    void spool.recordClaim([held('att_a')]);
    const from = machine.clock.now();
    await spool.writeReport(complete('att_b'), META);
    expect(machine.clock.now()).toBe(from);
  });
});

describe('a removal that fails', () => {
  it('is done with the next one', async () => {
    const { machine, spool } = await start();
    const a = await spool.writeReport(complete('att_a'), META);
    machine.disk.fail({ step: 'remove', code: 'EBUSY', times: 1 });
    await spool.answered(a);
    await spool.idle();
    const b = await spool.writeReport(complete('att_b'), META);
    expect(files(machine)).toHaveLength(2);
    await spool.answered(b);
    await spool.idle();
    expect(files(machine)).toEqual([]);
  });
});

describe('too much that is not answered', () => {
  it('holds claiming back until enough is answered, and is told once', () => {
    const told: (string | undefined)[] = [];
    const health = new Health(
      new SimulatedClock(),
      async () => {},
      (why) => told.push(why),
    );
    const { pendingRecords, pendingBytes } = spoolDefaults;
    health.holds(pendingRecords, pendingBytes);
    expect(health.why).toBeUndefined();
    health.holds(pendingRecords + 1, 0);
    health.holds(1, pendingBytes + 1);
    expect(health.why).toContain('1 unanswered reports');
    health.holds(pendingRecords, 0);
    expect(told).toEqual([expect.stringContaining('unanswered'), undefined]);
  });
});
