import { describe, expect, it } from 'vitest';
import { SimulatedMachine, type SimulatedProcess } from '../../sim/machine.ts';
import { SimulatedRandom } from '../../sim/random.ts';
import {
  discardAsides,
  inspectSpool,
  openSpool,
  putBack,
  readEntries,
  type SpoolEntry,
} from '../../src/spool/index.ts';
import { runs } from '../property.ts';
import { complete, FOLDER, four, META, open, optionsFor } from './world.ts';

const error = { code: 'RESULT_REFUSED', message: 'too large', retryable: false };

/** Two refused reports (the small one of att_b still waits) and a stale one, in a spool that was given back. */
async function withAsides() {
  const machine = new SimulatedMachine();
  const process = machine.start();
  const spool = await open(process, { sessionId: 'ses_before' });
  for (const id of ['att_a', 'att_b']) {
    const report = await spool.writeReport(complete(id), META);
    await spool.setAside(report, 'refused', { status: 413 });
    const small = { op: 'fail' as const, ...four(id), error };
    const written = await spool.writeReport(small, { ...META, followUp: true });
    if (id === 'att_a') await spool.answered(written);
  }
  await spool.setAside(await spool.writeReport(complete('att_c'), META), 'stale', { status: 409 });
  await spool.close();
  process.kill();
  return machine;
}

async function entries(
  process: SimulatedProcess,
  ...states: SpoolEntry['state'][]
): Promise<SpoolEntry[]> {
  const read = await readEntries({ ...process, folder: FOLDER });
  if (!read.ok) throw read.error;
  return read.entries.filter(({ state }) => states.includes(state));
}

const asides = (process: SimulatedProcess) => entries(process, 'stale', 'refused');

async function retryAll(process: SimulatedProcess) {
  return putBack({ ...process, folder: FOLDER }, await asides(process));
}

/** The next worker finds each of them, owed or still set aside, never neither. */
async function nothingIsLost(machine: SimulatedMachine) {
  const process = machine.start();
  const spool = await machine.clock.time.until(open(process, { sessionId: 'ses_after' }));
  expect(spool.earlierSessions).toContain('ses_before');
  expect(spool.recovered.corrupt).toBe(0);
  const owed = new Map((await entries(process, 'owed')).map((one) => [one.attemptId, one]));
  expect(spool.stats().pending).toBe(owed.size);
  const kept = (await asides(process)).map(({ attemptId }) => attemptId);
  for (const id of ['att_a', 'att_b', 'att_c']) {
    const whole = owed.get(id)?.op === 'complete';
    expect(whole || kept.includes(id), `${id} is lost`).toBe(true);
  }
  expect(owed.has('att_b'), 'of att_b something is owed, whatever happens').toBe(true);
  await spool.close();
}

describe('putting set-asides back', () => {
  it('makes them owed, the whole report in the place of the small one', async () => {
    const machine = await withAsides();
    const result = await retryAll(machine.start());
    expect(result).toMatchObject({ ok: true, value: { left: [], done: { length: 3 } } });
    const next = machine.start();
    const spool = await open(next);
    const owed = (await entries(next, 'owed')).map(({ attemptId, op }) => `${attemptId} ${op}`);
    expect(owed.sort()).toEqual(['att_a complete', 'att_b complete', 'att_c complete']);
    expect(spool.stats()).toMatchObject({
      pending: 3,
      setAside: { stale: 0, refused: 0, corrupt: 0 },
    });
    expect(spool.earlierSessions).toEqual(['ses_before']);
  });

  it('loses none of them to a kill or a power cut before any step of the disk', async () => {
    const whole = await withAsides();
    const before = whole.disk.steps;
    await retryAll(whole.start());
    const last = whole.disk.steps - before;
    expect(last).toBeGreaterThan(15);
    for (let step = 1; step <= last; step++) {
      for (const how of ['kill', 'cut', ...Array.from({ length: runs(3) }, (_, n) => n)]) {
        const machine = await withAsides();
        const process = machine.start();
        const crashed = new Promise<void>((resolve) => {
          machine.disk.crashBefore(machine.disk.steps + step, () => {
            process.kill();
            if (how === 'cut') machine.powerCut();
            else if (how !== 'kill') machine.powerCut(new SimulatedRandom(`${how}:${step}`));
            resolve();
          });
        });
        await Promise.race([retryAll(process), crashed]);
        process.kill();
        await machine.clock.time.settle();
        await nothingIsLost(machine);
      }
    }
  });

  it('leaves them where they are on a full disk, and gives the spool back', async () => {
    const machine = await withAsides();
    const process = machine.start();
    const full = machine.disk.fail({ step: 'write', path: /reports/, code: 'ENOSPC' });
    const result = await retryAll(process);
    expect(result).toMatchObject({
      ok: true,
      value: { done: [], left: { length: 3 }, error: { code: 'SPOOL_WRITE_FAILED' } },
    });
    full.clear();
    expect(await asides(process)).toHaveLength(3);
    await nothingIsLost(machine);
  });

  it('is refused beside a live worker', async () => {
    const machine = await withAsides();
    const worker = machine.start();
    const spool = await open(worker);
    const result = await retryAll(machine.start());
    expect(result).toMatchObject({ ok: false, error: { code: 'SPOOL_LOCKED' } });
    await spool.writeReport(complete('att_d'), META);
    expect(spool.stats()).toMatchObject({ ok: true, setAside: { refused: 2, stale: 1 } });
  });

  it('tells of each that is gone or damaged, and puts the rest back', async () => {
    const machine = await withAsides();
    const process = machine.start();
    const [stale, first, second] = await asides(process);
    await process.disk.remove(`${FOLDER}/${first?.file}`);
    await process.disk.appendFile(`${FOLDER}/${second?.file}`, 'garbage');
    const three = [stale, first, second].filter((entry) => entry !== undefined);
    expect(await putBack({ ...process, folder: FOLDER }, three)).toMatchObject({
      ok: true,
      value: {
        done: [{ entry: stale }],
        left: [{ why: 'it is gone' }, { why: expect.stringContaining('checksum') }],
      },
    });
  });
});

describe('while set-asides are being put back', () => {
  /** A retry that waits for a slow disk. */
  async function slowRetry() {
    const machine = await withAsides();
    const process = machine.start();
    machine.disk.fail({ step: 'syncFile', path: /reports/, ms: 1_000, times: 1 });
    const result = retryAll(process);
    await machine.clock.advance(500);
    return { machine, process, result };
  }
  const visit = {
    ok: false,
    error: {
      code: 'SPOOL_LOCKED',
      message: expect.stringMatching(
        /^The spool \S+ is held by `interlock spool retry` \(process \d+ on sim, since 2026\S+\)\.$/,
      ),
      hint: 'It needs seconds: wait until it has ended, then try again.',
    },
  };

  it('whoever else comes is told what it is, not that a worker is there', async () => {
    const { machine, process, result } = await slowRetry();
    const other = machine.start();
    expect(await openSpool(optionsFor(other))).toMatchObject(visit);
    expect(await retryAll(other)).toMatchObject(visit);
    expect((await inspectSpool({ ...other, folder: FOLDER })).owner).toMatchObject({
      state: 'alive',
      visit: 'interlock spool retry',
      pid: process.processInfo.self.pid,
    });
    expect(await machine.clock.time.until(result)).toMatchObject({ ok: true });
    expect((await inspectSpool({ ...other, folder: FOLDER })).owner).toMatchObject({
      workerId: 'garage',
      state: 'closed',
    });
  });

  it('nothing is discarded: it is put back or discarded, and told as that, never both', async () => {
    const { machine, result } = await slowRetry();
    const other = machine.start();
    const meant = await asides(other);
    expect(await discardAsides(other, FOLDER, meant)).toMatchObject({
      error: { code: 'SPOOL_LOCKED' },
      left: { length: 3 },
    });
    expect(await machine.clock.time.until(result)).toMatchObject({
      value: { done: { length: 3 } },
    });
    const { left, error } = await discardAsides(other, FOLDER, meant);
    expect(error).toBeUndefined();
    expect(left).toEqual(meant.map((entry) => ({ entry, why: 'it is gone', gone: true })));
    await nothingIsLost(machine);
  });

  it('a kill leaves what it was: the worker before it is the one that counts', async () => {
    const { machine, process } = await slowRetry();
    process.kill();
    const other = machine.start();
    expect((await inspectSpool({ ...other, folder: FOLDER })).owner).toMatchObject({
      workerId: 'garage',
      state: 'closed',
    });
    const spool = await machine.clock.time.until(open(other));
    expect(spool.predecessor).toMatchObject({ sessionId: 'ses_before', went: 'in-order' });
    expect(spool.earlierSessions).toEqual(['ses_before']);
  });

  it('a disk that is full before changes nothing, and the reserve stays the worker’s', async () => {
    const machine = await withAsides();
    const process = machine.start();
    const before = machine.disk.platter.tree();
    machine.disk.capacityBytes = machine.disk.platter.usedBytes();
    expect(await retryAll(process)).toMatchObject({
      ok: false,
      error: { code: 'SPOOL_UNWRITABLE', hint: expect.stringContaining('free some space') },
    });
    expect(machine.disk.platter.tree()).toEqual(before);
  });

  it('a disk that becomes full lets owner.json be as it was, and says that nothing goes on by itself', async () => {
    const machine = await withAsides();
    const process = machine.start();
    const before = machine.disk.platter.text(`${FOLDER}/owner.json`);
    machine.disk.fail({ step: 'open', path: /reports/, ms: 1_000, times: 1 });
    const result = retryAll(process);
    await machine.clock.advance(500);
    machine.disk.capacityBytes = machine.disk.platter.usedBytes();
    expect(await machine.clock.time.until(result)).toMatchObject({
      value: {
        error: {
          code: 'SPOOL_WRITE_FAILED',
          hint: expect.stringMatching(/free some space.* Then run this again\.$/),
        },
      },
    });
    expect(machine.disk.platter.text(`${FOLDER}/owner.json`)).toBe(before);
  });
});
