/** restarts/…: a control plane that goes away and comes back. */
import { carrying } from '../../../fcp/fcp.ts';
import { same } from '../../check.ts';
import type { WorkerCase } from '../worker-case.ts';
import { runsOn } from './attempt-steps.ts';
import { echo, effect, oneAttempt, sleep } from './steps.ts';

/** Then it must come to an end. */
const MOST_TORN = 16;

export const restarts: readonly WorkerCase[] = [
  {
    name: 'restarts/idle',
    title: 'works again when a control plane that was gone is back',
    promises: ['1.2', '2.11'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane();
      await world.worker();
      await fcp.restart({ mode: 'refused', downMs: 4_000 });
      await runsOn(fcp, echo());
    },
  },
  {
    name: 'restarts/at-work',
    title:
      'goes on with its handlers while a control plane is gone, and reports them once it is back',
    promises: ['1.2', '5.6', '5.33'],
    handlers: ['conformance/echo', 'conformance/sleep', 'conformance/effect'],
    async run(world) {
      const fcp = await world.controlPlane();
      const tasks = [
        fcp.offer(sleep(9_000)),
        fcp.offer(echo({ ms: 2_000 })),
        fcp.offer(effect('once', 2_000)),
      ];
      await world.worker({ slots: 3 });
      for (const task of tasks) await task.accepted('start');
      await fcp.restart({ mode: 'refused', downMs: 5_000 });
      for (const task of tasks) {
        same((await task.ended()).op, 'complete', `the end of ${task.task.offer.type}`);
        oneAttempt(task);
      }
      same((await world.effects()).length, 1, 'how many lines handlers wrote to effects.jsonl');
    },
  },
  {
    name: 'restarts/torn',
    title: 'loses and doubles nothing while connections are torn again and again',
    promises: ['1.2', '5.35', '2.11'],
    handlers: ['conformance/effect'],
    async run(world) {
      const fcp = await world.controlPlane();
      const tasks = Array.from({ length: 12 }, (_, n) => fcp.offer(effect(`${n}`, 200)));
      // The first results do not arrive; every other claim and report is torn at first, half of them after they were carried out.
      let torn = 0;
      fcp.on(carrying('complete'), (_, ctl) => ctl.cutBefore('rst'), { times: 2 });
      fcp.on(
        ({ route, n }) => n % 2 === 0 && torn < MOST_TORN && /claim|report|batch/.test(route),
        (_, ctl) => (torn++ % 2 === 0 ? ctl.cutAfter('rst') : ctl.cutBefore('rst')),
      );
      await world.worker({ slots: 3 });
      for (let n = 0; n < 3; n++) {
        await world.pause(700);
        await fcp.restart({ mode: n % 2 === 0 ? 'rst' : 'fin' });
      }
      for (const task of tasks) {
        same((await task.ended()).op, 'complete', 'the end of a task');
        oneAttempt(task);
      }
      same(
        (await world.effects()).length,
        tasks.length,
        'how many lines handlers wrote to effects.jsonl',
      );
    },
  },
];
