import { describe, expect, it } from 'vitest';
import { SimulatedMachine } from '../../sim/machine.ts';
import { SimulatedRandom } from '../../sim/random.ts';
import type { Spool } from '../../src/spool/index.ts';
import { complete, held, META, open, reportIds, restart, runningIds } from './world.ts';

async function world() {
  const machine = new SimulatedMachine();
  const process = machine.start();
  const { time } = machine.clock;
  return { machine, process, time, spool: await time.until(open(process)) };
}

const pass = (...reports: ReturnType<typeof complete>[]) =>
  reports.map((report) => ({ report, meta: META }));

/** What became of each, in words. */
async function ends(spool: Spool, reports: ReturnType<typeof pass>): Promise<string[]> {
  const made = await spool.writeReports(reports);
  const told = made.map(async (one) => {
    try {
      return (await one).head.attemptId;
    } catch (error) {
      return (error as Error).message;
    }
  });
  return Promise.all(told);
}

const eight = Array.from({ length: 8 }, (_, i) => `att_${i}`);

describe('a pass of reports', () => {
  it('tells those that are durable while a large one of it is still being written', async () => {
    const { machine, process, time, spool } = await world();
    // Large ones are written beside; nothing else is.
    machine.disk.fail({ step: 'write', ms: 20_000 });
    const reports = pass(complete('att_1'), complete('att_2', 'x'.repeat(300_000)));
    const [small, large] = await time.until(spool.writeReports(reports));
    expect(small).toMatchObject({ head: { attemptId: 'att_1' } });
    expect(process.clock.now()).toBeLessThan(20_000);
    expect(large).toBeInstanceOf(Promise);
    expect(spool.stats().pending).toBe(1);
    expect(await time.until(Promise.resolve(large))).toMatchObject({
      head: { attemptId: 'att_2' },
    });
    expect(process.clock.now()).toBeGreaterThanOrEqual(20_000);
    expect(spool.stats().pending).toBe(2);
  });

  it('on a full disk finds room in the reserve for each', async () => {
    const { machine, time, spool } = await world();
    machine.disk.capacityBytes = machine.disk.platter.usedBytes();
    const reports = pass(...eight.map((id) => complete(id)));
    expect(await time.until(ends(spool, reports))).toEqual(eight);
    expect(spool.stats().pending).toBe(8);
  });

  it('is written but for the one that no line can be made of; that is no trouble of the disk', async () => {
    const { time, spool } = await world();
    const reports = pass(complete('att_1'), complete('att_2', 1n as never), complete('att_3'));
    const [one, two, three] = await time.until(ends(spool, reports));
    expect([one, three]).toEqual(['att_1', 'att_3']);
    expect(two).toContain('BigInt');
    expect(spool.stats()).toMatchObject({ pending: 2, ok: true });
  });

  it('that the disk refuses rejects each by itself', async () => {
    const { machine, time, spool } = await world();
    machine.disk.fail({ step: 'syncFile', code: 'EIO', times: 8 });
    const told = await time.until(ends(spool, pass(complete('att_1'), complete('att_2'))));
    expect(told).toEqual([
      expect.stringContaining('The report of att_1 could not be written'),
      expect.stringContaining('The report of att_2 could not be written'),
    ]);
    expect(spool.stats()).toMatchObject({ pending: 0, ok: false });
  });
});

/** Two rounds of two passes at once, some of it answered: ids of what was told durable, and of what was answered. */
async function work(spool: Spool, durable: Set<string>, answered: Set<string>): Promise<void> {
  for (const round of [0, 1]) {
    const ids = eight.map((id) => `${id}_${round}`);
    await spool.recordClaim(ids.map((id) => held(id)));
    const passes = [ids.slice(0, 5), ids.slice(5)].map(async (some) => {
      const reports = some.map((id) =>
        complete(id, id === 'att_2_0' ? 'x'.repeat(300_000) : { id }),
      );
      for (const one of await spool.writeReports(pass(...reports))) {
        const record = await one;
        durable.add(record.head.attemptId);
        if (!record.head.attemptId.startsWith('att_1')) continue;
        answered.add(record.head.attemptId);
        await spool.answered(record);
      }
    });
    await Promise.all(passes);
  }
}

it.each(['kill', 'power cut'])(
  'passes lose and double nothing where they end at any step by a %s',
  async (how) => {
    const whole = await world();
    await whole.time.until(work(whole.spool, new Set(), new Set()));
    const steps = whole.machine.disk.steps;
    for (let step = 1; step <= steps; step += 1) {
      const machine = new SimulatedMachine();
      const process = machine.start();
      const spool = await open(process);
      const durable = new Set<string>();
      const answered = new Set<string>();
      const crashed = new Promise<void>((resolve) => {
        machine.disk.crashBefore(step, () => {
          if (how === 'kill') process.kill();
          else machine.powerCut(new SimulatedRandom(step));
          resolve();
        });
      });
      await Promise.race([work(spool, durable, answered).catch(() => {}), crashed]);
      const next = (await restart(machine, process)).spool;
      const there = reportIds(next);
      expect(new Set(there).size).toBe(there.length);
      for (const id of durable) {
        if (!answered.has(id)) expect(there, `${id}, step ${step}`).toContain(id);
        expect(runningIds(next), `${id}, step ${step}`).not.toContain(id);
      }
    }
  },
);
