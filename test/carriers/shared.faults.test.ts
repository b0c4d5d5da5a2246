import { afterEach, expect, it } from 'vitest';
import { Suspects } from '../../src/carriers/suspects.ts';
import type { Job } from '../../src/ports/carrier.ts';
import { type Collected, startJob } from './collected.ts';
import { fixtureFile, marked } from './process-harness.ts';
import { sharedCarrier } from './shared-harness.ts';

/** Several jobs in one real process, of which one does harm. */
let shared = sharedCarrier();
afterEach(async () => {
  await shared.carrier.close();
  expect(marked(shared.marker)).toEqual([]);
  shared = sharedCarrier();
});
const job = (input: Record<string, unknown>, more: Partial<Job> = {}): Collected =>
  startJob(shared.carrier, {
    file: fixtureFile('shares'),
    effectSafety: 'pure',
    sharesHost: true,
    input,
    ...more,
  });
const begun = async (...jobs: Collected[]): Promise<void> => {
  for (const one of jobs) await one.until((told) => told.begun === 1);
};
const logged = (event: string) => shared.log.texts[shared.log.events.indexOf(event)];

it('runs jobs of one file in one process, and gives each what it has printed', async () => {
  const jobs = ['a', 'b'].map((name) => job({ do: 'prints', name, of: 2 }));
  await begun(...jobs);
  expect(jobs[0]?.pid).toBe(jobs[1]?.pid);
  for (const [at, name] of ['a', 'b'].entries()) {
    expect(await jobs[at]?.ended).toEqual({ how: 'returned', result: name });
    expect(jobs[at]?.told.lines.map(({ level, text }) => `${level} ${text}`)).toEqual([
      `info ${name} begins`,
      `warn { name: '${name}' }`,
      `info ${name} in two pieces`,
      'info and without an end',
    ]);
  }
  // What was written past the streams is nobody's, and so is what a call says after its end.
  expect(await job({ do: 'printsLater', ms: 1 }).ended).toEqual({
    how: 'returned',
    result: 'over',
  });
  await job({ do: 'sleeps', ms: 20 }).ended;
  await shared.carrier.close();
  expect(shared.log.texts).toEqual(expect.arrayContaining(['raw of a', 'raw of b', 'late words']));
});

it('ends all in a host that one task exits, names it, and lets that one alone run by itself', async () => {
  const neighbour = job({ do: 'begins' });
  await begun(neighbour);
  const exits = job({ do: 'exit', code: 7 });
  expect(await exits.ended).toEqual({ how: 'died', exitCode: 7 });
  const taskId =
    exits.told.begun === 1
      ? /Task (tsk_\d+) called process\.exit\(7\)\. It runs alone the next time/.exec(
          logged('host.died') ?? '',
        )?.[1]
      : '';
  expect(await neighbour.ended).toEqual({
    how: 'died',
    exitCode: 7,
    why: `It shared a process with task ${taskId}, which called process.exit(7): that ended the process. Nothing is wrong with this task.`,
  });
  // The next: a fresh host. The one that did it has one for itself, and dies there alone.
  const next = job({ do: 'begins' });
  await begun(next);
  const again = job({ do: 'exit', code: 7 }, { taskId: taskId as string });
  expect(await again.ended).toEqual({ how: 'died', exitCode: 7 });
  expect(again.host).not.toBe(next.host);
  next.stop('cancel', 0);
  expect(await next.ended).toEqual({ how: 'killed' });
});

it('kills the host for one that ignores its stop, and tells the others why', async () => {
  const [deaf, neighbour] = [job({ do: 'begins' }), job({ do: 'begins' })];
  await begun(deaf, neighbour);
  deaf.stop('timeout', 1_000);
  expect(await deaf.ended).toEqual({ how: 'killed' });
  expect(await neighbour.ended).toMatchObject({
    how: 'died',
    signal: 'SIGKILL',
    why: expect.stringMatching(
      /^It shared a process with task tsk_\d+, which did not stop in its time \(timeout\): that ended/,
    ),
  });
  expect(logged('host.died')).toMatch(
    /with 2 tasks in it .* Task tsk_\d+ did not stop in its time \(timeout\)\. It runs alone/,
  );
});

it('takes each of several that ignore their stops as told to stop, and as one that may do it again', async () => {
  const suspects = new Suspects();
  shared = sharedCarrier({ suspects });
  const deaf = ['tsk_deaf1', 'tsk_deaf2'].map((taskId) => job({ do: 'begins' }, { taskId }));
  const neighbour = job({ do: 'begins' }, { taskId: 'tsk_beside' });
  await begun(...deaf, neighbour);
  for (const one of deaf) one.stop('timeout', 1_000);
  for (const one of deaf) expect(await one.ended).toEqual({ how: 'killed' });
  expect(await neighbour.ended).toMatchObject({ how: 'died', signal: 'SIGKILL' });
  const held = ['tsk_deaf1', 'tsk_deaf2', 'tsk_beside'].map((taskId) => suspects.has(taskId));
  expect(held).toEqual([true, true, false]);
});

it('lets those that cannot be told apart run alone until they are cleared', async () => {
  const [killer, neighbour] = [
    job({ do: 'begins' }, { taskId: 'tsk_killer' }),
    job({ do: 'begins' }, { taskId: 'tsk_neighbour' }),
  ];
  await begun(killer, neighbour);
  process.kill(killer.pid as number, 'SIGKILL');
  for (const one of [killer, neighbour])
    expect(await one.ended).toMatchObject({
      how: 'died',
      signal: 'SIGKILL',
      why: 'Its process, which it shared with one other task, has ended (signal SIGKILL). Which of them did it cannot be told.',
    });
  expect(logged('host.died')).toContain('Which of them did it cannot be told');
  const other = job({ do: 'begins' });
  await begun(other);
  const alone = job({ do: 'pid' }, { taskId: 'tsk_neighbour' });
  expect(await alone.ended).toMatchObject({ how: 'returned' });
  expect(alone.host).not.toBe(other.host);
  const cleared = job({ do: 'pid' }, { taskId: 'tsk_neighbour' });
  expect(await cleared.ended).toEqual({ how: 'returned', result: other.pid });
  const doubted = job({ do: 'pid' }, { taskId: 'tsk_killer' });
  expect(await doubted.ended).not.toEqual({ how: 'returned', result: other.pid });
  other.stop('cancel', 0);
  await other.ended;
});

it('tells that a task holds up the others, gives new ones another host, and ends it at last', async () => {
  shared = sharedCarrier({ pingMs: 200, heldMs: 2_000 });
  const waits = job({ do: 'begins' });
  await begun(waits);
  const spins = job({ do: 'spin' });
  await spins.until((told) => told.progress.length > 0);
  const late = job({ do: 'pid' });
  await expect.poll(() => waits.heldUp, { timeout: 20_000, interval: 20 }).toBe(true);
  for (const one of [waits, spins])
    expect(await one.ended).toMatchObject({
      how: 'died',
      signal: 'SIGKILL',
      why: expect.stringMatching(
        /^One of the 2 tasks in its process \(.*\) held its thread for \d+ s without giving way, so/,
      ),
    });
  expect(logged('host.held-up')).toMatch(
    /has not answered .* and all tasks in it wait: tsk_\d+, .* They keep their slots until it answers, or is ended in 2 s/,
  );
  // It was given to that host and not begun there: nothing has happened to it.
  expect(await late.ended).toMatchObject({ how: 'returned' });
  expect(late.told.begun).toBe(1);
});

it('stops a task that it has not taken from one that holds it, of which nothing has begun', async () => {
  const spins = job({ do: 'spin' });
  await spins.until((told) => told.progress.length > 0);
  const late = job({ do: 'pid' });
  await expect.poll(() => late.host).toBe(spins.host);
  late.stop('cancel', 0);
  expect(await late.ended).toEqual({ how: 'stopped' });
  expect(late.told.begun).toBe(0);
  expect(await spins.ended).toMatchObject({
    how: 'died',
    why: expect.stringMatching(/^It held its thread while task tsk_\d+ had to stop/),
  });
});

it('makes what is thrown beside a promise the failure of that task alone, and replaces the host', async () => {
  const neighbour = job({ do: 'sleeps', ms: 300 });
  await begun(neighbour);
  const thrown = [job({ do: 'throwBesideSoon' }), job({ do: 'rejectBesideSoon' })];
  expect(await thrown[0]?.ended).toMatchObject({
    how: 'threw',
    error: { message: 'beside the promise' },
  });
  expect(await thrown[1]?.ended).toMatchObject({
    how: 'threw',
    error: { message: 'rejected beside' },
  });
  const before = neighbour.pid;
  const next = job({ do: 'pid' });
  expect(await next.ended).not.toEqual({ how: 'returned', result: before });
  expect(logged('host.tainted')).toMatch(/this one goes when those .* are over: .*tsk_\d+\.$/);
  expect(await neighbour.ended).toEqual({ how: 'returned', result: before });
});

it('ends nobody when a task exits that is over', async () => {
  const neighbour = job({ do: 'sleeps', ms: 100 });
  expect(await job({ do: 'exitLater', ms: 1 }).ended).toMatchObject({ how: 'returned' });
  expect(await neighbour.ended).toMatchObject({ how: 'returned' });
});

it('takes another host after a number of calls, for other code, and gives an idle one back', async () => {
  shared = sharedCarrier({ callsPerHost: 3, idleMs: 200 });
  const pids = new Set<unknown>();
  while (pids.size < 2) {
    const end = await job({ do: 'pid' }).ended;
    pids.add(end.how === 'returned' && end.result);
  }
  const old = job({ do: 'sleeps', ms: 50 }, { code: { id: 'old' } });
  await begun(old);
  shared.carrier.keepOnly(new Set(['new']));
  expect(await old.ended).toEqual({ how: 'returned', result: old.pid });
  const next = job({ do: 'sleeps', ms: 50 }, { code: { id: 'old' } });
  await begun(next);
  expect(next.pid).not.toBe(old.pid);
  // The first, one that was made ready beside it however many calls went on meanwhile, and two of that code.
  expect(next.host).toBe(`${shared.marker}/s4`);
  await next.ended;
  await expect.poll(() => marked(shared.marker), { timeout: 20_000 }).toEqual([]);
}, 120_000);
