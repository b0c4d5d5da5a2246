/** SIGSTOP for longer than the lease: of a whole worker, of its agent, of a host, of the control plane. */
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { childrenOf, type Proc, until } from '../e2e/processes.ts';
import { carries } from '../e2e/proxy.ts';
import { LEASE_MS, World } from '../e2e/world.ts';
import { audit, HANDLERS, KINDS, type Kind, linesOf } from './ledger.ts';
import { harmful } from './machine.ts';

/** Asks for one task of each kind whose handler is in the middle of its work for `beforeMs`. */
async function oneOfEach(world: World, beforeMs: number, lostGraceMs: number) {
  const policy = { leaseMs: LEASE_MS, lostGraceMs };
  const asked = await Promise.all(
    KINDS.map(async (kind) => {
      const input = { file: world.path(kind), beforeMs };
      const { id } = await world.producer.submit(`test/${kind}`, 1, input, { policy });
      return { kind, id, file: kind };
    }),
  );
  await until(() => KINDS.every((kind) => linesOf(world, kind).length === 1), 'beginnings');
  // Where `start` is no gate it follows within a second.
  await Promise.all(asked.map(({ id }) => world.entry(id, 'started')));
  return asked;
}

/** How many effects each kind has made by now. */
const effectsIn = (world: World) =>
  Object.fromEntries(
    KINDS.map((kind) => [
      kind,
      linesOf(world, kind).filter(({ what }) => what === 'effect').length,
    ]),
  ) as Record<Kind, number>;

async function audited(world: World, asked: Awaited<ReturnType<typeof oneOfEach>>) {
  const tasks: Record<string, { status: string; attempts: number }> = {};
  const wrong: string[] = [];
  for (const one of asked) {
    await world.producer.await(one.id, { timeoutMs: 60_000 });
    const found = await audit(world, one);
    wrong.push(...found.wrong);
    tasks[one.kind] = { status: found.task.status, attempts: found.task.attempts };
  }
  expect(wrong).toEqual([]);
  return tasks;
}

function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) process.kill(pid, signal);
}

/** Stopped for so long that the lease is over and the sweeper has been there. */
const STOPPED_MS = LEASE_MS + 1_500;

interface Stopped {
  readonly who: string;
  readonly pids: (agent: Proc) => number[];
  readonly lostGraceMs: number;
  readonly expected: Record<Kind, { status: string; attempts: number }>;
}
const done = (attempts: number) => ({ status: 'succeeded', attempts });

const wholeTree = (agent: Proc) => [...childrenOf(agent.pid), agent.pid];
const cases: Stopped[] = [
  {
    who: 'a whole worker, its word waited for',
    pids: wholeTree,
    lostGraceMs: 60_000,
    expected: { once: done(1), 'once-gated': done(2), again: done(2), look: done(2) },
  },
  {
    who: 'a whole worker, its word not waited for',
    pids: wholeTree,
    lostGraceMs: 500,
    expected: {
      once: { status: 'outcome-unknown', attempts: 1 },
      'once-gated': done(2),
      again: done(2),
      look: done(2),
    },
  },
  {
    who: 'the agent alone, while its handlers go on',
    pids: (agent) => [agent.pid],
    lostGraceMs: 60_000,
    expected: { once: done(1), 'once-gated': done(2), again: done(2), look: done(2) },
  },
];

for (const { who, pids, lostGraceMs, expected } of cases)
  harmful.concurrent(
    `SIGSTOP beyond the lease of ${who}: another does what may be done again, and the first asks before it trusts`,
    async () => {
      await using world = new World();
      await world.controlPlane('task-producer', 'task-worker');
      const proxy = await world.proxy();
      const first = await world.worker({
        id: 'first',
        url: proxy.url,
        max: 4,
        handlers: HANDLERS,
        args: ['--stop-grace', '500ms'],
      });
      // Due the moment it goes on: each handler races with its own stop.
      const asked = await oneOfEach(world, STOPPED_MS, lostGraceMs);
      const stopped = pids(first);
      signalAll(stopped, 'SIGSTOP');
      const stoppedAt = performance.now();
      await world.worker({ id: 'second', max: 4, handlers: HANDLERS });
      for (const kind of ['again', 'once-gated', 'look'] as const)
        await until(
          () => linesOf(world, kind).some((line) => line.what === 'effect' && line.fence === 2),
          `effect of ${kind} by the second worker`,
        );
      expect(effectsIn(world)['once-gated']).toBe(1);
      const left = STOPPED_MS - (performance.now() - stoppedAt);
      if (left > 0) await pause(left);

      const before = proxy.seen.length;
      signalAll(stopped, 'SIGCONT');
      const tasks = await audited(world, asked);
      expect(tasks).toEqual(expected);
      // A claim of a worker that does not know what it still has would be trust.
      const words = () =>
        proxy.seen
          .slice(before)
          .map((passing) =>
            carries('renew', passing) ? 'renew' : passing.path === '/claims' ? 'claim' : 'other',
          );
      // Tasks whose word nobody waits for are over before it goes on.
      await until(() => words().includes('renew'), 'renewal of the first worker');
      const sent = words();
      const renewed = sent.indexOf('renew');
      const claimed = sent.indexOf('claim');
      if (claimed >= 0) expect(renewed, sent.join()).toBeLessThan(claimed);
      const effects = effectsIn(world);
      expect(effects['once-gated']).toBe(1);
      // One whose outcome nobody waits for is stopped before its effect, or a moment after.
      if (expected.once.status === 'succeeded') expect(effects.once).toBe(1);
      else expect(effects.once).toBeLessThanOrEqual(1);
      // What nobody wants any more has stopped.
      await until(() => first.events('attempt.over').length === KINDS.length, 'ends of all');
      for (const part of ['reports', 'running', 'refused', 'corrupt'])
        await until(() => world.inSpool(part, 'first').length === 0, `empty ${part}`);
    },
    120_000,
  );

harmful.concurrent(
  'SIGSTOP of one host: its lease is renewed, it ends when it goes on, or by its time limit when it does not',
  async () => {
    await using world = new World();
    await world.controlPlane('task-producer', 'task-worker');
    const args = ['--stop-grace', '500ms'];
    await world.worker({ max: 2, handlers: HANDLERS, args });
    const submit = (kind: Kind, file: string, attemptTimeoutMs: number | null) =>
      world.producer.submit(
        `test/${kind}`,
        1,
        { file: world.path(file), beforeMs: 1_500 },
        {
          policy: {
            leaseMs: LEASE_MS,
            attemptTimeoutMs,
            backoff: { initialMs: 100, factor: 1, maxMs: 100, jitter: 0 },
          },
        },
      );
    const goesOn = await submit('once', 'goes-on', null);
    const never = await submit('again', 'never', 8_000);
    const files = ['goes-on', 'never'];
    const hosts = await until(() => {
      const begun = files.map((file) => linesOf(world, file)[0]?.pid);
      return begun.every((pid) => pid !== undefined) && (begun as number[]);
    }, 'beginnings');
    signalAll(hosts, 'SIGSTOP');
    await pause(STOPPED_MS);
    expect(await world.producer.get(goesOn)).toMatchObject({ status: 'running', attempts: 1 });
    const again = await world.producer.await(never, { timeoutMs: 60_000 });
    expect(again).toMatchObject({ status: 'succeeded', attempts: 2 });
    const lost = await world.entry(never.id, 'lost');
    expect(lost.data).toMatchObject({ reason: 'timeout' });
    process.kill(hosts[0] as number, 'SIGCONT');
    expect(await world.producer.await(goesOn, { timeoutMs: 30_000 })).toMatchObject(done(1));
    for (const [kind, id, file] of [
      ['once', goesOn.id, 'goes-on'],
      ['again', never.id, 'never'],
    ] as const)
      expect((await audit(world, { kind, id, file })).wrong).toEqual([]);
  },
  120_000,
);

harmful.concurrent(
  'SIGSTOP of the control plane beyond the lease: no attempt is ended for a silence that was its own (contract 1.35)',
  async () => {
    await using world = new World();
    const plane = await world.controlPlane('task-producer', 'task-worker');
    await world.worker({ max: 4, handlers: HANDLERS, args: ['--stop-grace', '500ms'] });
    const asked = await oneOfEach(world, STOPPED_MS + 1_500, 500);
    plane.kill('SIGSTOP');
    await pause(STOPPED_MS);
    plane.kill('SIGCONT');
    const tasks = await audited(world, asked);
    // The worker itself has stopped what another might have run; it was the only one, and did it again.
    expect(tasks).toEqual({
      once: done(1),
      'once-gated': done(2),
      again: done(2),
      look: done(1),
    });
    for (const { id } of asked) {
      const lost = (await world.journal(id)).filter(({ kind }) => kind === 'lost');
      for (const { by } of lost) expect(by).not.toBe('sweeper');
    }
    expect(effectsIn(world)).toEqual({ once: 1, 'once-gated': 1, again: 1, look: 1 });
    expect(plane.events('sweep.was-away')).toHaveLength(1);
  },
  120_000,
);
