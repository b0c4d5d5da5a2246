import { describe, expect, it } from 'vitest';
import type { SimulatedProcess } from '../../sim/machine.ts';
import { spoolDefaults } from '../../src/core/defaults.ts';
import { inspectSpool } from '../../src/spool/index.ts';
import { complete, FOLDER, files, held, META, restart, start } from './world.ts';

const look = (process: SimulatedProcess, folder = FOLDER) => inspectSpool({ ...process, folder });

describe('a look at a spool', () => {
  it('beside its worker tells what is in it and who holds it, and changes nothing', async () => {
    const { machine, process, spool } = await start();
    await spool.recordClaim([held('att_r'), held('att_s')]);
    const stale = await spool.writeReport(complete('att_a'), META);
    await spool.setAside(stale, 'stale', { status: 409 });
    await machine.clock.advance(5_000);
    const reports = await Promise.all(
      ['att_b', 'att_c'].map((id) => spool.writeReport(complete(id), META)),
    );
    await machine.clock.advance(60_000);
    await spool.idle();
    const before = machine.disk.platter.tree();
    const doctor = machine.start();
    expect(await look(doctor)).toEqual({
      folder: FOLDER,
      exists: true,
      readable: { ok: true },
      writable: { ok: true, tookMs: 0 },
      owner: {
        workerId: 'garage',
        pid: process.processInfo.self.pid,
        hostName: 'sim',
        since: '2026-01-01T00:00:00.000Z',
        state: 'alive',
      },
      oldSessions: [],
      reserveBytes: expect.any(Number),
      pending: 2,
      bytes: reports.reduce((sum, { bytes }) => sum + bytes, 0),
      oldestMs: 60_000,
      running: 2,
      setAside: { stale: 1, refused: 0, corrupt: 0 },
      corruptLines: [],
      newer: 0,
      unreadable: [],
    });
    expect(machine.disk.platter.tree()).toEqual(before);
    await spool.writeReport(complete('att_d'), META);
    expect(spool.stats()).toMatchObject({ ok: true, pending: 3 });
  });

  it('tells an owner that is gone from one that gave it back', async () => {
    const { machine, process } = await start();
    process.kill();
    expect((await look(machine.start())).owner?.state).toBe('gone');
    const next = await restart(machine, process);
    await next.spool.close();
    expect((await look(machine.start())).owner?.state).toBe('closed');
  });

  it('finds corrupt lines before any start has set them aside, and what is set aside', async () => {
    const { machine, process, spool } = await start();
    await spool.writeReport(complete('att_a'), META);
    process.kill();
    const hands = machine.start();
    const [name = ''] = files(machine);
    await hands.disk.appendFile(`${FOLDER}/${name}`, 'garbage\n');
    const seen = await look(hands);
    expect(seen).toMatchObject({ pending: 1, setAside: { corrupt: 0 } });
    expect(seen.corruptLines).toEqual([
      { file: `${FOLDER}/${name}`, line: 2, why: expect.stringContaining('checksum') },
    ]);
    await restart(machine, hands);
    expect((await look(machine.start())).setAside.corrupt).toBe(1);
  });

  it('tells the refusal that the worker has noted, until it is heard again, and no note that is none', async () => {
    const { machine, process, spool } = await start();
    const seen = async (eyes = machine.start()) => (await look(eyes)).refusal;
    expect(await seen()).toBeUndefined();
    spool.refusal.tell('401: the key "gw2" was revoked');
    spool.refusal.tell('401: the key "gw2" was revoked');
    await spool.idle();
    expect(await seen()).toEqual({
      at: expect.stringMatching(/^20\d\d-/),
      why: '401: the key "gw2" was revoked',
    });
    process.kill();
    // The next process does not know of it, and takes it away when it is heard.
    const next = machine.start();
    const heir = await restart(machine, process);
    expect(await seen(next)).toMatchObject({ why: expect.stringContaining('gw2') });
    heir.spool.refusal.tell(undefined);
    await heir.spool.idle();
    expect(await seen()).toBeUndefined();
    heir.spool.refusal.tell('403: limited');
    await heir.spool.close();
    expect(await seen()).toMatchObject({ why: '403: limited' });
    heir.spool.refusal.tell(undefined);
    await heir.spool.idle();
    expect(await seen()).toMatchObject({ why: '403: limited' });
    await next.disk.writeFile(`${FOLDER}/refusal.json`, 'garbage');
    expect(await seen()).toBeUndefined();
  });

  it('of an empty name tells that there is none, and does not make it', async () => {
    const { machine } = await start();
    const doctor = machine.start();
    expect(await look(doctor, '/nowhere')).toMatchObject({ exists: false, pending: 0 });
    expect(machine.disk.platter.folders.has('/nowhere')).toBe(false);
  });

  it('tells why it cannot be written, or read', async () => {
    const { machine } = await start();
    const doctor = machine.start();
    const readOnly = machine.disk.fail({ step: ['open', 'write'], code: 'EROFS' });
    expect(await look(doctor)).toMatchObject({
      readable: { ok: true },
      writable: { ok: false, why: 'EROFS' },
    });
    readOnly.clear();
    machine.disk.fail({ step: ['list', 'read'], code: 'EACCES' });
    expect(await look(doctor)).toMatchObject({
      exists: true,
      readable: { ok: false, why: 'EACCES' },
      writable: { ok: true },
    });
  });

  it('measures how long the disk takes', async () => {
    const { machine } = await start();
    machine.disk.fail({ step: 'syncFile', path: /probe/, ms: 250 });
    const seen = await machine.clock.time.until(look(machine.start()));
    expect(seen.writable).toEqual({ ok: true, tookMs: 250 });
  });

  it('survives records that go while it looks', async () => {
    const { machine, spool } = await start();
    const reports = [];
    // Large ones: each has a file of its own.
    const result = 'x'.repeat(spoolDefaults.segmentRecordBytes);
    for (let i = 0; i < 20; i++)
      reports.push(await spool.writeReport(complete(`att_${i}`, result), META));
    machine.disk.fail({ step: 'read', ms: 10 });
    const looking = look(machine.start());
    await machine.clock.advance(15);
    for (const report of reports) await spool.answered(report);
    const seen = await machine.clock.time.until(looking);
    expect(seen).toMatchObject({ readable: { ok: true }, unreadable: [] });
    expect(seen.pending).toBeLessThan(20);
  });
});
