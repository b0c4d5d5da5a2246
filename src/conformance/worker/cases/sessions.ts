/** sessions/…: one process is one session, and a newer one of the same worker takes over. */
import { expect, oneOf, same } from '../../check.ts';
import type { WorkerCase } from '../worker-case.ts';
import type { WorkerProcess } from '../worker-process.ts';
import type { World } from '../world.ts';
import { effectsStay, othersHaveRun } from './attempt-steps.ts';
import { about, came, echo, effect, sleep } from './steps.ts';

/** It drained, and a service manager can tell that from an ordinary end. */
async function stoodDown(world: World, worker: WorkerProcess): Promise<void> {
  const { code } = await world.ending(worker, 25_000);
  expect(
    code !== null && code !== 0,
    `The superseded worker ended with ${code}; a code of its own is due.`,
  );
}

export const sessions: readonly WorkerCase[] = [
  {
    name: 'sessions/fresh',
    title: 'makes a fresh session for each start and names those before it',
    promises: ['2.1', '2.2'],
    handlers: [],
    async run(world) {
      const fcp = await world.controlPlane();
      const seen: string[] = [];
      for (let start = 1; start <= 3; start++) {
        const from = fcp.log.length;
        const worker = await world.worker();
        const mine = await fcp.until(
          () => {
            const all = fcp.log.slice(from).filter(({ route }) => /^(claim|present)$/.test(route));
            const both = ['claim', 'present'].every((one) =>
              all.some(({ route }) => route === one),
            );
            return both && all;
          },
          { what: 'a claim and a PUT' },
        );
        const { sessionId = '' } = mine[0]?.body ?? {};
        same(seen.includes(sessionId), false, 'whether the session of an earlier start came again');
        for (const { body, route } of mine) {
          same(body?.sessionId, sessionId, `the session in a ${route}`);
          const told = body?.earlierSessions ?? [];
          const missing = seen.filter((one) => !told.includes(one));
          expect(
            missing.length === 0,
            `A ${route} of start ${start} does not name ${missing.length} earlier sessions.`,
          );
        }
        seen.push(sessionId);
        await worker.kill();
      }
    },
  },
  {
    name: 'sessions/superseded-claim',
    title: 'drains where its claim is answered SESSION_SUPERSEDED: reports what it has, and ends',
    promises: ['2.6'],
    handlers: ['conformance/effect'],
    async run(world) {
      const fcp = await world.controlPlane();
      const task = fcp.offer(effect('mine', 3_000));
      const worker = await world.worker({ slots: 2 });
      await world.done(1);
      worker.mayEnd = true;
      const told = fcp.on('claim', (_, ctl) => ctl.problem(409, 'SESSION_SUPERSEDED'));
      fcp.hints.wake('conformance/echo@1');
      await fcp.until(() => told.seen.length > 0, { what: 'a claim (POST /claims)' });
      same((await task.ended()).op, 'complete', 'the report that ended the task that it had');
      await stoodDown(world, worker);
      expect(told.seen.length <= 2, `${told.seen.length} claims came after SESSION_SUPERSEDED.`);
    },
  },
  {
    name: 'sessions/superseded-presence',
    title: 'claims nothing and ends where its presence is answered SESSION_SUPERSEDED',
    promises: ['2.6'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane();
      const task = fcp.offer(echo());
      fcp.on('present', (_, ctl) => ctl.problem(409, 'SESSION_SUPERSEDED'));
      // Who claims first hears it there.
      fcp.on('claim', (_, ctl) => ctl.problem(409, 'SESSION_SUPERSEDED'));
      const worker = await world.worker({ ready: false });
      worker.mayEnd = true;
      await stoodDown(world, worker);
      same(task.attempts.length, 0, 'the count of attempts');
    },
  },
  {
    name: 'sessions/superseded-start',
    title: 'begins no handler whose start is answered SESSION_SUPERSEDED, and ends',
    promises: ['2.6', '5.41'],
    handlers: ['conformance/echo', 'conformance/effect'],
    async run(world) {
      const fcp = await world.controlPlane();
      const task = fcp.offer(effect('no'));
      fcp.on(about(task, 'start'), async (_, ctl) => {
        await ctl.wait(othersHaveRun(fcp));
        await ctl.problem(409, 'SESSION_SUPERSEDED');
      });
      const worker = await world.worker();
      worker.mayEnd = true;
      await came(fcp, task, 'start');
      await stoodDown(world, worker);
      await effectsStay(world, 0, 0);
    },
  },
  {
    name: 'sessions/second-process',
    title: 'leaves one of two processes on a state folder at work, and the tasks to one',
    promises: ['2.6'],
    handlers: ['conformance/sleep', 'conformance/effect'],
    async run(world) {
      const fcp = await world.controlPlane();
      const first = await world.worker({ slots: 1 });
      first.mayEnd = true;
      const second = await world.worker({ slots: 1, ready: false });
      second.mayEnd = true;
      const gone = await Promise.race([
        world.ending(first, 40_000).then((end) => ({ end, which: 'first' })),
        world.ending(second, 40_000).then((end) => ({ end, which: 'second' })),
      ]);
      expect(gone.end.code !== 0, `The ${gone.which} process ended with 0, as if all were well.`);
      const tasks = [fcp.offer(effect('a')), fcp.offer(sleep(500))];
      for (const task of tasks) oneOf((await task.ended()).op, ['complete'], 'the end of a task');
      same((await world.effects()).length, 1, 'how many lines handlers wrote to effects.jsonl');
      expect(first.running || second.running, 'Both processes have ended.');
    },
  },
];
