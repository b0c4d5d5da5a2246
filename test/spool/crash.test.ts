import { describe, expect, it } from 'vitest';
import { SimulatedMachine, type SimulatedProcess } from '../../sim/machine.ts';
import { SimulatedRandom } from '../../sim/random.ts';
import type { TerminalReport } from '../../src/contract/index.ts';
import { openSpool, type Spool } from '../../src/spool/index.ts';
import { runs } from '../property.ts';
import {
  bodies,
  complete,
  four,
  held,
  META,
  open,
  optionsFor,
  reportIds,
  runningIds,
} from './world.ts';

/**
 * A day in the life of a spool, crashed before each of its steps on the disk, by a kill (the system keeps what it has)
 * and by a power cut (what was not synced is lost, or perhaps is there all the same). After each crash the next session
 * must find what it was promised, and nothing that was never there.
 */

/** What the spool has promised so far: written down in the moment a promise resolves. */
class Promised {
  readonly opened: string[] = [];
  readonly submitted = new Map<string, TerminalReport[]>();
  readonly durable = new Map<string, TerminalReport>();
  /** From the moment it is told, a report may be gone. */
  readonly answered = new Set<string>();
  readonly aside = new Set<string>();
  readonly claimed: string[] = [];
  readonly recorded = new Set<string>();
  readonly begun = new Set<string>();
  readonly forgetting = new Set<string>();
  readonly forgotten = new Set<string>();
}

async function day(process: SimulatedProcess, promised: Promised): Promise<void> {
  const options = optionsFor(process);
  const opened = await openSpool(options);
  if (!opened.ok) throw opened.error;
  const { spool } = opened;
  promised.opened.push(options.sessionId);

  const claim = async (ids: string[], safety: 'non-idempotent' | 'pure') => {
    promised.claimed.push(...ids);
    await spool.recordClaim(ids.map((id) => held(id, safety)));
    for (const id of ids) promised.recorded.add(id);
  };
  const begin = async (id: string) => {
    await spool.markBegun(id);
    promised.begun.add(id);
  };
  const report = async (body: TerminalReport, followUp = false) => {
    const { attemptId } = body;
    promised.submitted.set(attemptId, [...(promised.submitted.get(attemptId) ?? []), body]);
    const spooled = await spool.writeReport(body, { ...META, followUp });
    promised.durable.set(attemptId, body);
    return spooled;
  };
  const answer = (spooled: Awaited<ReturnType<typeof report>>) => {
    promised.answered.add(spooled.head.attemptId);
    return spool.answered(spooled);
  };

  await claim(['att_a', 'att_b', 'att_c'], 'non-idempotent');
  await Promise.all([begin('att_a'), begin('att_b')]);
  await claim(['att_d', 'att_e'], 'pure');
  await begin('att_d');
  const [a, b] = await Promise.all([
    report(complete('att_a')),
    report(complete('att_b')),
    claim(['att_f', 'att_g'], 'non-idempotent'),
  ]);
  void answer(a);
  const [d, e] = await Promise.all([report(complete('att_d')), report(complete('att_e'))]);
  await spool.setAside(b, 'stale', { status: 409 });
  promised.aside.add('att_b');
  promised.forgetting.add('att_c');
  await spool.forget('att_c');
  promised.forgotten.add('att_c');
  await spool.setAside(d, 'refused', { status: 413 });
  const refused = { code: 'RESULT_REFUSED', message: 'too large', retryable: false };
  await report({ op: 'fail', ...four('att_d'), error: refused }, true);
  await report(complete('att_h'));
  await answer(e);
  await claim(['att_i'], 'non-idempotent');
  await begin('att_i');
  await spool.close();
}

async function check(spool: Spool, promised: Promised, how: 'kill' | 'power') {
  const found = await bodies(spool);
  const ids = reportIds(spool);
  expect(new Set(ids).size, 'one report for an attempt').toBe(ids.length);
  for (const report of found) {
    const submitted = promised.submitted.get(report.attemptId) ?? [];
    expect(submitted, `${report.attemptId} was never submitted so`).toContainEqual(report);
  }
  for (const [attemptId, report] of promised.durable) {
    if (promised.answered.has(attemptId)) continue;
    if (promised.aside.has(attemptId)) {
      expect(ids, `${attemptId} was set aside as stale`).not.toContain(attemptId);
      continue;
    }
    // A set-aside that is durable but has not told so yet may have taken it away.
    if (attemptId === 'att_b' && !ids.includes('att_b')) {
      expect(spool.stats().setAside.stale).toBe(1);
      continue;
    }
    const latest = promised.submitted.get(attemptId)?.at(-1);
    const there = found.find((one) => one.attemptId === attemptId);
    expect([report, latest], `${attemptId} was durable and is lost`).toContainEqual(there);
  }
  const order = [...promised.submitted.keys()];
  const known = ids.map((id) => order.indexOf(id)).filter((at) => order[at] !== 'att_d');
  expect(known, 'order is kept').toEqual([...known].sort((x, y) => x - y));

  const running = runningIds(spool);
  for (const id of running) expect(promised.claimed, 'never claimed').toContain(id);
  for (const id of running) expect(ids, 'a report wins over a running record').not.toContain(id);
  if (promised.opened.length > 0) {
    expect(spool.earlierSessions).toContain(promised.opened[0]);
  }
  for (const id of promised.recorded) {
    const over = promised.submitted.has(id) || promised.forgetting.has(id);
    const kept = how === 'kill' || !['att_d', 'att_e'].includes(id);
    if (!over && kept) expect(running, `${id} was recorded`).toContain(id);
    if (how === 'kill' && (promised.durable.has(id) || promised.forgotten.has(id)))
      expect(running, `${id} is over`).not.toContain(id);
  }
  if (how === 'kill') {
    for (const { attemptId, begun } of spool.recovered.running)
      if (promised.begun.has(attemptId)) expect(begun, `${attemptId} has begun`).toBe(true);
  }
  expect(spool.recovered.corrupt, 'nothing is corrupt after a crash').toBe(0);
}

/** Steps of the whole day. */
async function steps(): Promise<number> {
  const machine = new SimulatedMachine();
  await day(machine.start(), new Promised());
  return machine.disk.steps;
}

/** Runs the day up to a step; what it promised until then. */
async function dayUntil(step: number, crash: (machine: SimulatedMachine) => void) {
  const machine = new SimulatedMachine();
  const promised = new Promised();
  const process = machine.start();
  const crashed = new Promise<void>((resolve) => {
    machine.disk.crashBefore(step, () => {
      process.kill();
      crash(machine);
      resolve();
    });
  });
  await Promise.race([day(process, promised), crashed]);
  process.kill();
  // What was resolved before the crash gets its turn; nothing of the disk moves any more.
  await machine.clock.time.settle();
  return { machine, promised };
}

/** Opens the spool as the next session, with time for what has to wait and see. */
function reopen(machine: SimulatedMachine): Promise<Spool> {
  return machine.clock.time.until(open(machine.start()));
}

describe('a crash before any step of the disk', () => {
  it('by a kill loses no durable report, invents none, keeps their order', async () => {
    const last = await steps();
    expect(last).toBeGreaterThan(60);
    for (let step = 1; step <= last; step++) {
      const { machine, promised } = await dayUntil(step, () => {});
      await check(await reopen(machine), promised, 'kill');
    }
  });

  it('by a power cut that forgets all that was not synced', async () => {
    const last = await steps();
    for (let step = 1; step <= last; step++) {
      const { machine, promised } = await dayUntil(step, (m) => m.powerCut());
      await check(await reopen(machine), promised, 'power');
    }
  });

  it('by a power cut that keeps a part of it, torn or out of order', async () => {
    const last = await steps();
    for (let seed = 0; seed < runs(6); seed++) {
      for (let step = 1; step <= last; step++) {
        const random = new SimulatedRandom(`${seed}:${step}`);
        const { machine, promised } = await dayUntil(step, (m) => m.powerCut(random));
        await check(await reopen(machine), promised, 'power');
      }
    }
  });

  it('and again while the next session opens: what it found is still there for the one after', async () => {
    const last = await steps();
    const random = new SimulatedRandom('twice');
    for (let round = 0; round < runs(150); round++) {
      const { machine, promised } = await dayUntil(1 + random.below(last), (m) =>
        random.chance(0.5) ? m.powerCut(random.fork('cut')) : undefined,
      );
      const second = machine.start();
      const crashed = Promise.withResolvers<void>();
      const armed = machine.disk.crashBefore(machine.disk.steps + 1 + random.below(25), () => {
        machine.powerCut(random.fork('again'));
        crashed.resolve();
      });
      await machine.clock.time.until(Promise.race([crashed.promise, open(second)]));
      armed.clear();
      second.kill();
      await check(await reopen(machine), promised, 'power');
    }
  });
});

describe('a power cut after a kill', () => {
  it('takes nothing away that the session between them had seen and counted on', async () => {
    const last = await steps();
    for (let step = 1; step <= last; step++) {
      const { machine, promised } = await dayUntil(step, () => {});
      const second = machine.start();
      const spool = await machine.clock.time.until(open(second));
      await machine.clock.time.until(spool.idle());
      // Makes durable what was removed before it.
      promised.submitted.set('att_z', [complete('att_z')]);
      await machine.clock.time.until(spool.writeReport(complete('att_z'), META));
      machine.powerCut();
      const third = await reopen(machine);
      await check(third, promised, 'power');
      // Its record went because of its set-aside: that must be durable then.
      const b = promised.durable.has('att_b') && !reportIds(third).includes('att_b');
      if (b) expect(third.stats().setAside.stale, `step ${step}`).toBe(1);
    }
  });
});

describe('after any crash', () => {
  it('the spool is used up to the end: all answered, nothing is left but set-asides', async () => {
    const last = await steps();
    for (let step = 1; step <= last; step += 3) {
      const { machine } = await dayUntil(step, (m) => m.powerCut(new SimulatedRandom(step)));
      const spool = await reopen(machine);
      for (const report of spool.recovered.reports) await spool.answered(report);
      for (const { attemptId } of spool.recovered.running) {
        const lost = { op: 'lost', ...four(attemptId), reason: 'host-died', begun: true } as const;
        await spool.answered(await spool.writeReport(lost, META));
      }
      await spool.close();
      const left = Object.keys(machine.disk.platter.tree());
      expect(
        left.filter((path) => !/owner\.json$|\/reserve$|\/stale\/|\/refused\//.test(path)),
      ).toEqual([]);
    }
  });
});
