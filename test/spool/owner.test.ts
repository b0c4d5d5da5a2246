import { describe, expect, it } from 'vitest';
import type { SimulatedFolderLock } from '../../sim/folder-lock.ts';
import { SimulatedMachine } from '../../sim/machine.ts';
import type { FolderLock } from '../../src/ports/folder-lock.ts';
import { openSpool } from '../../src/spool/index.ts';
import { layoutOf } from '../../src/spool/layout.ts';
import { encodeOwner, judgeOwner, type Owner, predecessorOf } from '../../src/spool/owner.ts';
import { readOwner, rewriteOwner, takeAgain } from '../../src/spool/owner-lock.ts';
import { complete, FOLDER, files, META, open, optionsFor, reportIds, start } from './world.ts';

const SELF = {
  hostName: 'garage',
  pid: 42,
  startTime: '1000',
  bootId: 'boot-1',
  pidNamespace: 'pid:[1]',
  bootedAtMs: 1_000_000,
};
const OWNER: Owner = {
  workerId: 'w',
  sessionId: 's',
  earlierSessions: [],
  since: '2026-01-01T00:00:00.000Z',
  hostName: 'garage',
  pid: 7,
  startTime: '900',
  bootId: 'boot-1',
  pidNamespace: 'pid:[1]',
};
const RUNS = { alive: true, startTime: '900' };
const OTHER = { alive: true, startTime: '950' };
const GONE = { alive: false };
const NOW = 2_000_000;

describe('how an owner went', () => {
  it.each([
    ['killed or crashed', {}, 'died'],
    ['killed in another container of this boot', { hostName: 'a', pidNamespace: 'b' }, 'died'],
    ['with the machine', { bootId: 'boot-0' }, 'machine-restarted'],
    ['elsewhere', { bootId: 'boot-0', hostName: 'attic' }, 'unknown'],
    ['where no boot is told', { bootId: undefined }, 'unknown'],
    ['in order', { closedAt: '2026-01-01T00:00:00.000Z', bootId: 'boot-0' }, 'in-order'],
  ])('%s', (_, more, went) => {
    expect(predecessorOf({ ...OWNER, ...more }, SELF)).toEqual({
      workerId: 'w',
      sessionId: 's',
      pid: 7,
      hostName: 'garage',
      since: '2026-01-01T00:00:00.000Z',
      went,
      ...('hostName' in more ? { hostName: more.hostName } : {}),
    });
    expect(predecessorOf(undefined, SELF)).toBeUndefined();
  });
});

describe('an owner (F33)', () => {
  it.each([
    ['that runs', {}, RUNS, 'alive'],
    ['whose process is gone', {}, GONE, 'gone'],
    ['whose pid is somebody else’s now', {}, OTHER, 'gone'],
    ['whose pid is our own now', { pid: 42 }, { alive: true, startTime: '1000' }, 'gone'],
    [
      'that is this very process',
      { pid: 42, startTime: '1000' },
      { alive: true, startTime: '1000' },
      'alive',
    ],
    [
      'of a host that has another name today, in the same boot',
      { hostName: 'renamed' },
      RUNS,
      'alive',
    ],
    ['of another host', { hostName: 'attic', bootId: 'boot-9' }, GONE, 'unknown'],
    ['of another container of this machine', { pidNamespace: 'pid:[2]' }, GONE, 'unknown'],
    ['of a system that tells no start times', { startTime: undefined }, OTHER, 'unknown'],
    ['of such a system, and gone', { startTime: undefined }, GONE, 'gone'],
    [
      'of another host that tells no boot',
      { hostName: 'attic', bootId: undefined },
      RUNS,
      'unknown',
    ],
    ['of this host that tells no boot', { bootId: undefined }, RUNS, 'alive'],
  ] as const)('%s', (_, change, sight, state) => {
    expect(judgeOwner({ ...OWNER, ...change }, SELF, sight, NOW)).toBe(state);
  });

  it.each([
    ['untouched since before it', 900_000, 'gone'],
    ['without a lock', undefined, 'gone'],
    ['touched after it: a twin of the same name', NOW, 'unknown'],
    ['with a time in the future', NOW + 86_400_000, 'unknown'],
  ])('of this host before its last boot, %s', (_, touchedAtMs, state) => {
    expect(judgeOwner({ ...OWNER, bootId: 'boot-0' }, SELF, RUNS, touchedAtMs)).toBe(state);
  });
});

async function refusal(machine: SimulatedMachine, process = machine.start()) {
  const opened = await machine.clock.time.until(openSpool(optionsFor(process)));
  if (opened.ok) throw new Error('it was not refused');
  return opened.error;
}

describe('taking a spool', () => {
  it('is refused at once while its owner runs, with who that is and what to do; the owner does not notice', async () => {
    const { machine, process, spool } = await start({ workerId: 'first' });
    const from = machine.clock.now();
    const error = await refusal(machine);
    expect(machine.clock.now()).toBe(from);
    expect(error).toMatchObject({
      code: 'SPOOL_LOCKED',
      details: { workerId: 'first', pid: process.processInfo.self.pid, hostName: 'sim' },
    });
    expect(error.message).toBe(
      `The spool ${FOLDER} is held by worker "first" (process 101 on sim, since 2026-01-01T00:00:00.000Z), which is running.`,
    );
    expect(error.hint).toContain('--spool');
    await spool.writeReport(complete('att_a'), META);
    await machine.clock.advance(60_000);
    expect(spool.stats()).toMatchObject({ ok: true, pending: 1 });
  });

  it('is refused to a second one in the same process', async () => {
    const { machine, process } = await start();
    expect(await refusal(machine, process)).toMatchObject({ code: 'SPOOL_LOCKED' });
  });

  it('of a killed owner works at once, also under its own pid, also if its pid is taken', async () => {
    for (const pid of [101, 555]) {
      const { machine, process, spool } = await start();
      await spool.writeReport(complete('att_a'), META);
      const from = machine.clock.now();
      process.kill();
      if (pid === 555) machine.start(101);
      expect(reportIds(await open(machine.start(pid)))).toEqual(['att_a']);
      expect(machine.clock.now()).toBe(from);
    }
  });

  it('after a reboot works at once, whatever the wall clock says now', async () => {
    const { machine, process } = await start();
    process.kill();
    await machine.clock.advance(1_000);
    machine.powerCut();
    const from = machine.clock.now();
    await open(machine.start());
    expect(machine.clock.now()).toBe(from);
  });

  it('of an owner out of sight waits until it has been silent long enough', async () => {
    const { machine, process, spool } = await start();
    await spool.writeReport(complete('att_a'), META);
    process.kill();
    const elsewhere = { ...process.processInfo.self, hostName: 'attic', bootId: 'boot-9' };
    const second = machine.start();
    const options = optionsFor(second, {
      processInfo: { self: elsewhere, look: async () => ({ alive: false }) },
    });
    const from = machine.clock.now();
    const opened = await machine.clock.time.until(openSpool(options));
    expect(opened.ok).toBe(true);
    expect(machine.clock.now() - from).toBeGreaterThanOrEqual(16_000);
    expect(machine.clock.now() - from).toBeLessThan(21_000);
  });

  it('of an owner out of sight is refused at its first sign of life', async () => {
    const { machine, process } = await start();
    const elsewhere = { ...process.processInfo.self, hostName: 'attic', bootId: 'boot-9' };
    const second = machine.start();
    const options = optionsFor(second, {
      processInfo: { self: elsewhere, look: async () => ({ alive: false }) },
    });
    const opened = await machine.clock.time.until(openSpool(options));
    expect(opened).toMatchObject({
      ok: false,
      error: { code: 'SPOOL_LOCKED', message: expect.stringContaining('sign of life') },
    });
    expect(machine.clock.now()).toBeLessThanOrEqual(5_000 + 5_000);
  });

  it('by many at once, after a crash, lets one in', async () => {
    const { machine, process } = await start();
    process.kill();
    const tries = await Promise.all(
      Array.from({ length: 8 }, () => openSpool(optionsFor(machine.start()))),
    );
    expect(tries.filter(({ ok }) => ok)).toHaveLength(1);
    for (const one of tries) if (!one.ok) expect(one.error.code).toBe('SPOOL_LOCKED');
  });
});

describe('one who stood still behind the door until it was broken open', () => {
  it.each(['look', 'breakOpen', 'take', 'taken'] as const)(
    'leaves the spool to whoever took it meanwhile (%s)',
    async (step) => {
      const { machine, process } = await start();
      process.kill();
      const slow = machine.start();
      const lock = slow.lock as SimulatedFolderLock;
      const stands = Promise.withResolvers<void>();
      const goesOn = Promise.withResolvers<void>();
      const standStill = async (at: typeof step) => {
        if (at !== step) return;
        lock.fallSilent();
        stands.resolve();
        await goesOn.promise;
      };
      const slowly: FolderLock = {
        look: async (folder) => {
          const seen = await lock.look(folder);
          await standStill('look');
          return seen;
        },
        breakOpen: async (folder, stamp) => {
          await standStill('breakOpen');
          return lock.breakOpen(folder, stamp);
        },
        take: async (folder, onLost) => {
          await standStill('take');
          const held = await lock.take(folder, onLost);
          await standStill('taken');
          return held;
        },
        door: lock.door.bind(lock),
      };
      const { time } = machine.clock;
      const late = openSpool(optionsFor(slow, { lock: slowly }));
      await time.until(stands.promise);
      const lost: string[] = [];
      const next = machine.start();
      const heir = await time.until(
        open(next, { sessionId: 'ses_heir', onLost: (why) => lost.push(why) }),
      );
      goesOn.resolve();
      expect(await time.until(late)).toMatchObject({ ok: false, error: { code: 'SPOOL_LOCKED' } });
      await machine.clock.advance(20_000);
      expect(lost).toEqual([]);
      expect(next.log.of('spool.lock-retaken')).toEqual([]);
      await heir.writeReport(complete('att_a'), META);
      expect(heir.stats().ok).toBe(true);
      expect((await readOwner(slow.disk, layoutOf(FOLDER)))?.sessionId).toBe('ses_heir');
    },
  );

  it.each([
    ['takes its lock again', takeAgain],
    ['writes its record', rewriteOwner],
  ] as const)('%s only after another look at whose it is', async (_, act) => {
    const { machine, process } = await start({ sessionId: 'ses_a' });
    const { disk } = process;
    const layout = layoutOf(FOLDER);
    const owner = (await readOwner(disk, layout)) as Owner;
    let doors = 0;
    const lock: Pick<FolderLock, 'door'> = {
      // The first time another comes right after its record was read.
      door: async (_, work) => {
        const first = ++doors === 1;
        return work(async () => {
          if (!first) return true;
          await disk.writeFile(layout.owner, encodeOwner({ ...owner, sessionId: 'ses_heir' }));
          return false;
        });
      },
    };
    const ports = { ...process, lock: Object.assign(Object.create(process.lock), lock) };
    ports.lock.look = process.lock.look.bind(process.lock);
    const ends =
      act === takeAgain
        ? expect(takeAgain(ports, layout, 'ses_a', () => {})).resolves.toBe('taken')
        : expect(rewriteOwner(ports, layout, owner)).rejects.toMatchObject({ code: 'SPOOL_LOST' });
    await machine.clock.time.until(ends);
    expect(doors).toBe(2);
    expect((await readOwner(disk, layout))?.sessionId).toBe('ses_heir');
    process.kill();
  });
});

describe('an owner whose lock is altered', () => {
  it('takes it again if nobody has come, and goes on', async () => {
    const { machine, process, spool } = await start();
    await process.lock.breakOpen(FOLDER);
    await machine.clock.advance(5_000);
    expect(process.log.of('spool.lock-retaken')).toHaveLength(1);
    expect(await process.lock.look(FOLDER)).toBeDefined();
    await spool.writeReport(complete('att_a'), META);
    expect(await refusal(machine)).toMatchObject({ code: 'SPOOL_LOCKED' });
  });

  it('is not robbed by one who comes while the lock is away', async () => {
    const { machine, process, spool } = await start();
    await process.lock.breakOpen(FOLDER);
    expect(await refusal(machine)).toMatchObject({ code: 'SPOOL_LOCKED' });
    expect(spool.stats().ok).toBe(true);
  });

  it('has lost the spool if another took it: it is told once, writes nothing more, and leaves the other alone', async () => {
    const lost: string[] = [];
    const { machine, process, spool } = await start({ onLost: (why) => lost.push(why) });
    await spool.writeReport(complete('att_a'), META);
    // On another host, the owner seems to be silent: it was stopped for long.
    const second = machine.start();
    const elsewhere = { ...second.processInfo.self, hostName: 'attic', bootId: 'boot-9' };
    const look = second.lock.look.bind(second.lock);
    const still = await look(FOLDER);
    const taken = await machine.clock.time.until(
      open(second, {
        processInfo: { self: elsewhere, look: async () => ({ alive: false }) },
        lock: Object.assign(Object.create(second.lock), {
          look: async () => ((await look(FOLDER)) ? still : undefined),
          take: second.lock.take.bind(second.lock),
          door: second.lock.door.bind(second.lock),
          // Whatever its stamp: it seems to be the same for long.
          breakOpen: (folder: string) => second.lock.breakOpen(folder),
        }),
      }),
    );
    await machine.clock.advance(5_000);
    expect(lost).toEqual([expect.stringContaining('lost to another process')]);
    expect(spool.stats().ok).toBe(false);
    await expect(spool.writeReport(complete('att_b'), META)).rejects.toMatchObject({
      code: 'SPOOL_LOST',
    });
    await spool.close();
    expect(reportIds(taken)).toEqual(['att_a']);
    await taken.writeReport(complete('att_c'), META);
    await machine.clock.advance(60_000);
    expect(taken.stats().ok).toBe(true);
    process.kill();
  });
});

describe('an owner that was robbed and does not know it', () => {
  it('does not overwrite its heir’s record when it closes', async () => {
    const { process, spool } = await start({ sessionId: 'ses_robbed' });
    const file = `${FOLDER}/owner.json`;
    const heir = encodeOwner({ ...OWNER, sessionId: 'ses_heir' });
    await process.disk.writeFile(file, heir);
    await spool.close();
    expect(Buffer.from(await process.disk.readFile(file)).toString()).toBe(heir);
  });
});

describe('two sessions', () => {
  it('never give the same name to a file, even if neither knows of the other', async () => {
    const names = [];
    for (const sessionId of ['ses_stopped', 'ses_heir']) {
      const { machine, spool } = await start({ sessionId });
      await spool.writeReport(complete('att_a'), META);
      names.push(...files(machine));
    }
    expect(new Set(names).size).toBe(2);
  });
});

describe('a folder that cannot be used', () => {
  it.each(['EACCES', 'EROFS', 'ENOSPC', 'ENOTDIR'])(
    'by %s is told, with what to do',
    async (code) => {
      const machine = new SimulatedMachine();
      machine.disk.fail({ step: ['makeFolder', 'open', 'write'], code });
      expect(await refusal(machine)).toMatchObject({
        code: 'SPOOL_UNWRITABLE',
        message: `The spool ${FOLDER} cannot be made or written (${code}).`,
        hint: expect.stringMatching(/\.$/),
      });
      // Nothing is held by the one that failed.
      const later = new SimulatedMachine();
      const fault = later.disk.fail({ path: /owner/, step: 'write', code });
      const process = later.start();
      await expect(open(process)).rejects.toMatchObject({ code: 'SPOOL_UNWRITABLE' });
      fault.clear();
      await open(process);
    },
  );
});
