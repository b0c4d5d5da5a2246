import { describe, expect, it } from 'vitest';
import { SimulatedMachine } from '../../sim/machine.ts';
import { spoolDefaults } from '../../src/core/defaults.ts';
import type { FolderLock } from '../../src/ports/folder-lock.ts';
import { openSpool } from '../../src/spool/index.ts';
import {
  complete,
  FOLDER,
  files,
  held,
  META,
  open,
  optionsFor,
  RESERVE_BYTES,
  reportIds,
  restart,
  runningIds,
  start,
} from './world.ts';

const RESERVE = `${FOLDER}/reserve`;

/** A spool that tells its troubles, on a disk that can become full. */
async function world(more: Parameters<typeof start>[0] = {}) {
  const told: (string | undefined)[] = [];
  const made = await start({ onTrouble: (why) => told.push(why), ...more });
  const { disk, clock } = made.machine;
  return {
    ...made,
    told,
    reserve: () => disk.platter.get(RESERVE)?.bytes.length,
    /** Others fill the disk up to the last byte. */
    fill: () => {
      disk.capacityBytes = disk.platter.usedBytes();
    },
    empty: () => {
      disk.capacityBytes = Number.POSITIVE_INFINITY;
    },
    probed: () => clock.advance(spoolDefaults.probeEveryMs),
  };
}

describe('the reserve', () => {
  it('is written at the opening, and durable', async () => {
    const { machine, spool } = await world({ reserveBytes: spoolDefaults.reserveBytes });
    const bytes = machine.disk.platter.get(RESERVE)?.bytes ?? new Uint8Array();
    expect(bytes.length).toBe(4_194_304);
    expect(machine.disk.platter.get(RESERVE)?.durable.length).toBe(bytes.length);
    expect(spool.stats().ok).toBe(true);
  });

  it('is taken over from the session before, and made anew where it has another size', async () => {
    const { machine, process } = await world();
    machine.disk.trace.length = 0;
    const next = await restart(machine, process);
    const writes = () => machine.disk.trace.filter((step) => step === `write ${RESERVE}`).length;
    expect(writes()).toBe(0);
    await restart(machine, next.process, { reserveBytes: 10_000 });
    expect(writes()).toBe(1);
    expect(machine.disk.platter.get(RESERVE)?.bytes.length).toBe(10_000);
  });

  it('goes first when the disk is full: what runs is still marked and reported, claiming stops with the reason', async () => {
    const { machine, process, spool, fill, empty, reserve, probed, told } = await world();
    await spool.recordClaim([held('att_a'), held('att_b')]);
    fill();
    await spool.markBegun('att_a');
    expect(reserve()).toBeUndefined();
    expect(spool.stats()).toMatchObject({
      ok: false,
      why: `the disk of the spool ${FOLDER} is full (ENOSPC): its reserve is used up for what already runs. Free some space; the worker goes on by itself after that`,
    });
    await spool.writeReport(complete('att_a'), META);
    await spool.markBegun('att_b');
    await probed();
    await probed();
    expect(reserve()).toBeUndefined();
    expect(spool.stats().ok).toBe(false);
    empty();
    await probed();
    expect(reserve()).toBe(RESERVE_BYTES);
    expect(spool.stats()).toMatchObject({ ok: true, why: undefined });
    expect(told).toEqual([expect.stringContaining('ENOSPC'), undefined]);
    expect(files(machine).filter((name) => name.includes('probe'))).toEqual([]);
    const next = await restart(machine, process);
    expect(reportIds(next.spool)).toEqual(['att_a']);
    expect(runningIds(next.spool)).toEqual(['att_b']);
  });

  it('is given up once for many that meet the full disk together', async () => {
    const { spool, fill, machine } = await world();
    fill();
    machine.disk.trace.length = 0;
    const ids = Array.from({ length: 8 }, (_, i) => `att_${i}`);
    await Promise.all(ids.map((id) => spool.writeReport(complete(id), META)));
    expect(spool.stats()).toMatchObject({ pending: 8, ok: false });
    expect(machine.disk.trace.filter((step) => step === `remove ${RESERVE}`)).toHaveLength(1);
  });

  it('is not for new work: what a claim brought is refused, and the reserve stays', async () => {
    const { spool, fill, empty, reserve, probed } = await world();
    fill();
    await expect(spool.recordClaim([held('att_a')])).rejects.toMatchObject({
      code: 'SPOOL_WRITE_FAILED',
    });
    expect(reserve()).toBe(RESERVE_BYTES);
    expect(spool.stats().why).toContain('(ENOSPC)');
    // A report still has it.
    await spool.writeReport(complete('att_b'), META);
    expect(reserve()).toBeUndefined();
    empty();
    await probed();
    expect(spool.stats().ok).toBe(true);
  });

  it('comes back only where there is some room beside it', async () => {
    const { spool, fill, machine, probed, reserve } = await world();
    fill();
    await spool.writeReport(complete('att_a'), META);
    machine.disk.capacityBytes += RESERVE_BYTES + spoolDefaults.roomBytes / 2;
    await probed();
    expect(reserve()).toBeUndefined();
    expect(spool.stats().ok).toBe(false);
    machine.disk.capacityBytes += spoolDefaults.roomBytes;
    await probed();
    expect(reserve()).toBe(RESERVE_BYTES);
    expect(spool.stats().ok).toBe(true);
  });

  it('is not tried by writing while the disk says that it is full, and seldom where only a quota is', async () => {
    const { spool, fill, empty, machine, probed, reserve } = await world();
    fill();
    await spool.writeReport(complete('att_a'), META);
    const tries = () => machine.disk.trace.filter((step) => step.includes('room.probe')).length;
    for (let i = 0; i < 20; i++) await probed();
    expect(tries()).toBe(0);
    empty();
    let written = 0;
    const { platter } = machine.disk;
    const quota = machine.disk.fail({ step: 'write', path: /room/, code: 'EDQUOT' });
    for (let i = 0; i < 60; i++) {
      const before = machine.disk.trace.length;
      await probed();
      if (machine.disk.trace.slice(before).some((step) => step.startsWith('open'))) written++;
    }
    // After 5, 15, 35 and 75 s, then once a minute: 8 of 60.
    expect(written).toBeLessThan(10);
    expect(written).toBeGreaterThan(5);
    quota.clear();
    for (let i = 0; i < 12; i++) await probed();
    expect(reserve()).toBe(RESERVE_BYTES);
    expect(platter.get(`${FOLDER}/room.probe`)).toBeUndefined();
    expect(spool.stats().ok).toBe(true);
  });

  it('that is given up while it is being made leaves its room to the report', async () => {
    const { spool, fill, empty, machine, reserve, probed } = await world();
    fill();
    await spool.writeReport(complete('att_a'), META);
    empty();
    machine.disk.fail({ step: 'syncFile', path: /reserve/, ms: 1_000, times: 1 });
    await probed();
    // It is being written now, and takes the last room.
    fill();
    await machine.clock.time.until(spool.writeReport(complete('att_b'), META), 5_000);
    expect(spool.stats()).toMatchObject({ pending: 2, ok: false });
    expect(reserve()).toBeUndefined();
  });

  it('cannot be made where something else lies: that is told, and stays untouched', async () => {
    const machine = new SimulatedMachine();
    // In a folder that was no spool it would be somebody's.
    for (const part of ['reports', 'running', 'stale', 'refused', 'corrupt'])
      machine.disk.platter.addFolder(`${FOLDER}/${part}`);
    machine.disk.platter.addFolder(RESERVE);
    const spool = await open(machine.start());
    expect(spool.stats()).toMatchObject({
      ok: false,
      why: `the reserve of the spool ${FOLDER} cannot be made: ${RESERVE} is no regular file. Move it away; the worker goes on by itself after that`,
    });
    await spool.writeReport(complete('att_a'), META);
    expect(machine.disk.platter.folders.has(RESERVE)).toBe(true);
  });
});

describe('a reserve that somebody altered', () => {
  const looked = (machine: SimulatedMachine) => machine.clock.advance(spoolDefaults.reserveLookMs);

  it('is made anew at the start where it takes no room: a full disk then still has one', async () => {
    const { machine, process, spool, fill } = await world();
    await spool.recordClaim([held('att_a')]);
    machine.disk.platter.get(RESERVE)!.holes = RESERVE_BYTES;
    const next = await restart(machine, process);
    expect(machine.disk.platter.get(RESERVE)?.holes).toBeUndefined();
    fill();
    await next.spool.writeReport(complete('att_a'), META);
    expect(reportIds((await restart(machine, next.process)).spool)).toEqual(['att_a']);
  });

  it.each(['was removed', 'has holes', 'is shorter'])(
    'is made again while the spool is open, with a word in the log: %s',
    async (how) => {
      const { machine, process, spool, reserve, told } = await world();
      const { platter } = machine.disk;
      if (how === 'was removed') await process.disk.remove(RESERVE);
      else if (how === 'has holes')
        Object.assign(platter.get(RESERVE)!, { holes: 8_000, modifiedMs: 1 });
      else await process.disk.writeOver(RESERVE, 'short');
      await looked(machine);
      await spool.idle();
      expect(reserve()).toBe(RESERVE_BYTES);
      expect(platter.get(RESERVE)?.holes).toBeUndefined();
      expect(spool.stats().ok).toBe(true);
      expect(told).toEqual([]);
      expect(process.log.of('spool.reserve-altered')).toEqual([
        expect.objectContaining({
          text: expect.stringMatching(/reserve, .+: it was made again\.$/),
        }),
      ]);
      machine.disk.trace.length = 0;
      await looked(machine);
      expect(machine.disk.trace.some((step) => step.startsWith('write'))).toBe(false);
    },
  );

  it('and that finds no room again stops the claiming until there is some', async () => {
    const { machine, process, spool, reserve, fill, empty, probed } = await world();
    await process.disk.remove(RESERVE);
    fill();
    await looked(machine);
    await spool.idle();
    expect(spool.stats()).toMatchObject({ ok: false, why: expect.stringContaining('(ENOSPC)') });
    empty();
    await probed();
    expect(reserve()).toBe(RESERVE_BYTES);
    expect(spool.stats().ok).toBe(true);
  });

  it('is believed on a file system that tells no blocks, once we wrote it ourselves', async () => {
    const { machine, process } = await world();
    const next = machine.start();
    process.kill();
    const { disk } = next;
    const stat = disk.stat.bind(disk);
    Object.assign(disk, {
      stat: async (path: string) => {
        const found = await stat(path);
        return found && { ...found, allocatedBytes: 0 };
      },
    });
    machine.disk.trace.length = 0;
    const spool = await open(next);
    for (let i = 0; i < 3; i++) await looked(machine);
    expect(spool.stats().ok).toBe(true);
    expect(machine.disk.trace.filter((step) => step === `write ${RESERVE}`)).toHaveLength(1);
  });

  it('is not looked at any more once the spool was closed', async () => {
    const { machine, spool } = await world();
    await spool.close();
    machine.disk.trace.length = 0;
    await looked(machine);
    expect(machine.disk.trace).toEqual([]);
  });
});

describe('a disk that is full at the start', () => {
  /** What a session left that met a full disk, gave up its reserve and was killed. */
  async function left() {
    const before = await world();
    await before.spool.recordClaim([held('att_r')]);
    await before.spool.writeReport(complete('att_a'), META);
    await before.process.disk.remove(RESERVE);
    before.fill();
    before.process.kill();
    return before;
  }

  it('keeps no report from being delivered, without a free byte; nothing is claimed, and it recovers by itself', async () => {
    const { machine, empty, probed, reserve } = await left();
    const process = machine.start();
    const spool = await open(process, { sessionId: 'ses_full' });
    expect(spool.stats()).toMatchObject({ ok: false, pending: 1 });
    expect(spool.stats().why).toContain('is full (ENOSPC)');
    expect(runningIds(spool)).toEqual(['att_r']);
    // It is the owner, for all to see.
    const second = await openSpool(optionsFor(machine.start()));
    expect(second).toMatchObject({ ok: false, error: { code: 'SPOOL_LOCKED' } });
    for (const report of spool.recovered.reports) await spool.answered(report);
    await spool.idle();
    expect(files(machine).filter((name) => name.startsWith('reports'))).toEqual([]);
    empty();
    await probed();
    expect(spool.stats()).toMatchObject({ ok: true, pending: 0 });
    expect(reserve()).toBe(RESERVE_BYTES);
    process.kill();
    const next = await open(machine.start());
    expect(next.earlierSessions[0]).toBe('ses_full');
  });

  it('gives the reserve to the owner record first, and does not write over the one that is there', async () => {
    const before = await world();
    await before.spool.writeReport(complete('att_a'), META);
    before.fill();
    before.process.kill();
    const { disk } = before.machine;
    disk.trace.length = 0;
    const next = await open(before.machine.start());
    expect(disk.trace.some((step) => step.startsWith('writeOver'))).toBe(false);
    expect(disk.trace.indexOf(`remove ${RESERVE}`)).toBeGreaterThan(0);
    expect(reportIds(next)).toEqual(['att_a']);
    await next.answered(next.recovered.reports[0]!);
    // What it was, less the new record: there is room for a report, not for new work.
    await before.probed();
    expect(next.stats().ok).toBe(false);
    await next.writeReport(complete('att_b'), META);
  });

  it('survives a power cut at any moment of it: the next start has every report', async () => {
    for (let step = 1; step < 40; step++) {
      const { machine } = await left();
      const process = machine.start();
      const crashed = Promise.withResolvers<void>();
      const armed = machine.disk.crashBefore(machine.disk.steps + step, () => {
        machine.powerCut(machine.random.fork(`cut ${step}`));
        crashed.resolve();
      });
      await machine.clock.time.until(Promise.race([crashed.promise, open(process)]), 60_000);
      armed.clear();
      process.kill();
      const next = await machine.clock.time.until(open(machine.start()), 60_000);
      expect(reportIds(next), `step ${step}`).toEqual(['att_a']);
      expect(runningIds(next)).toEqual(['att_r']);
    }
  });

  it('lets the lock have the reserve’s room where that itself finds none, and no holder lives', async () => {
    const { machine, process, fill } = await world();
    fill();
    process.kill();
    const next = machine.start();
    const { lock } = next;
    let tries = 0;
    const full: FolderLock = {
      take: lock.take.bind(lock),
      look: lock.look.bind(lock),
      breakOpen: lock.breakOpen.bind(lock),
      door: async (folder, work) => {
        if (tries++ === 0) throw Object.assign(new Error('ENOSPC: mkdir'), { code: 'ENOSPC' });
        return lock.door(folder, work);
      },
    };
    expect((await open(next, { lock: full })).stats().ok).toBe(false);
    expect(machine.disk.trace).toContain(`remove ${RESERVE}`);
  });

  it('has a spool without its inner folders opened, and makes them later', async () => {
    const machine = new SimulatedMachine();
    machine.disk.platter.addFolder(FOLDER);
    const fault = machine.disk.fail({ step: 'makeFolder', path: /spool\/./, code: 'ENOSPC' });
    const spool = await open(machine.start());
    await expect(spool.writeReport(complete('att_a'), META)).rejects.toMatchObject({
      code: 'SPOOL_WRITE_FAILED',
    });
    fault.clear();
    await machine.clock.advance(spoolDefaults.probeEveryMs);
    expect(spool.stats().ok).toBe(true);
    await spool.writeReport(complete('att_a'), META);
  });
});

describe('trouble that is no want of room', () => {
  it.each([
    ['EROFS', /read-only.*mount it writable/],
    ['EMFILE', /too many files open.*ulimit -n/],
    ['ENFILE', /open on this machine.*limit/],
    ['EIO', /disk reports an error.*check its health/],
  ])(
    '%s is told in words with the next step, keeps the reserve, and is over by itself',
    async (code, words) => {
      const { machine, process, spool, told, reserve, probed } = await world();
      await spool.recordClaim([held('att_a')]);
      const fault = machine.disk.fail({ code });
      await expect(spool.writeReport(complete('att_a'), META)).rejects.toMatchObject({
        code: 'SPOOL_WRITE_FAILED',
        hint: expect.stringMatching(words),
        details: { reason: code },
      });
      expect(spool.stats().why).toMatch(words);
      expect(spool.stats().why).toContain('goes on by itself');
      await probed();
      expect(spool.stats().ok).toBe(false);
      fault.clear();
      await probed();
      expect(spool.stats().ok).toBe(true);
      expect(reserve()).toBe(RESERVE_BYTES);
      expect(told).toEqual([expect.stringContaining(code), undefined]);
      await spool.writeReport(complete('att_a'), META);
      expect(reportIds((await restart(machine, process)).spool)).toEqual(['att_a']);
    },
  );

  it('on a disk that became read-only, answered reports are removed once it is writable again', async () => {
    const { machine, spool, probed } = await world();
    const report = await spool.writeReport(complete('att_a'), META);
    const fault = machine.disk.fail({
      code: 'EROFS',
      step: ['open', 'append', 'remove', 'rename', 'makeFolder'],
    });
    await spool.answered(report);
    await expect(spool.recordClaim([held('att_b')])).rejects.toThrow();
    expect(files(machine)).toHaveLength(1);
    fault.clear();
    await probed();
    await spool.idle();
    expect(files(machine)).toEqual([]);
  });
});
