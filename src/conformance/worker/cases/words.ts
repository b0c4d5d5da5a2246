/** words/…, wire/…: what a worker says while it works, and what it does on a line that gives no answer. */
import { carrying } from '../../../fcp/fcp.ts';
import { NotApplicable } from '../../case.ts';
import { expect, same } from '../../check.ts';
import type { WorkerCase } from '../worker-case.ts';
import { runsOn } from './attempt-steps.ts';
import { about, came, echo, effect, fail, oneAttempt } from './steps.ts';

const WORDS = ['progress', 'log'] as const;
const talking = (steps: number, everyMs: number) => ({
  type: 'conformance/progress',
  input: { steps, everyMs },
});

/** A worker gives a request up after 10 s; then come its own pause and a busy machine. */
const GIVEN_UP_MS = 10_000 + 8_000;
/** The same of a stream that says nothing for 45 s. */
const DEAF_MS = 45_000 + 15_000;

export const words: readonly WorkerCase[] = [
  {
    name: 'words/counted',
    title: 'counts progress and log up, each for itself, and waits for the answer before the next',
    promises: ['1.20', '5.45'],
    handlers: ['conformance/progress'],
    async run(world) {
      const fcp = await world.controlPlane();
      for (const op of WORDS) fcp.on(carrying(op), (_, ctl) => ctl.later(600), { times: 3 });
      await world.worker();
      const task = fcp.offer(talking(12, 150));
      await task.ended();
      for (const op of WORDS) {
        const counts = task.reports(op).map(({ body }) => Number(body.n));
        expect(counts.length > 0, `The handler's ${op} was never told.`);
        const rising = counts.every((n, at) => at === 0 || n > (counts[at - 1] ?? 0));
        expect(rising, `The numbers of its ${op} reports are ${counts.join(', ')}.`);
      }
      oneAttempt(task);
    },
  },
  {
    name: 'words/refused',
    title: 'drops a progress or a log that is refused, and the handler goes on',
    promises: ['5.40'],
    handlers: ['conformance/progress'],
    async run(world) {
      const fcp = await world.controlPlane();
      const rules = WORDS.map((op) =>
        fcp.onReport(op, (_, ctl) => ctl.problem(400, 'INVALID_REQUEST'), { times: 1 }),
      );
      await world.worker();
      const task = fcp.offer(talking(8, 300));
      same((await task.ended()).op, 'complete', 'the end of the task');
      for (const { seen } of rules) {
        const [refused] = seen;
        if (!refused) throw new NotApplicable('its handler told no progress or no log');
        const again = task.reports(refused.op).filter(({ body }) => body.n === refused.body.n);
        same(again.length, 1, `how often the refused ${refused.op} was sent`);
      }
      oneAttempt(task);
    },
  },
  {
    name: 'words/no-secret',
    title: 'tells its key and its tokens to nobody but the control plane, and in no address',
    promises: ['5.47', '5.52'],
    handlers: [
      'conformance/echo',
      'conformance/fail',
      'conformance/effect',
      'conformance/progress',
    ],
    async run(world) {
      // What no worker may do is asked at the end of every case; here it has many occasions.
      const fcp = await world.controlPlane();
      const tasks = [echo({ a: 1 }), fail(), effect('x'), talking(2, 100)].map((offer) =>
        fcp.offer(offer),
      );
      fcp.on('claim', (_, ctl) => ctl.problem(500, 'INTERNAL'), { times: 1 });
      fcp.onReport('complete', (_, ctl) => ctl.problem(400, 'INVALID_REQUEST'), { times: 1 });
      const worker = await world.worker();
      await Promise.all(tasks.map((task) => task.ended()));
      fcp.keys.reject(world.key);
      await fcp.next('any');
      worker.signal('SIGTERM');
      await world.ending(worker, 40_000);
    },
  },
  {
    name: 'words/effect-key',
    title: 'hands the effect key of the attempt to the handler',
    promises: ['1.5'],
    handlers: ['conformance/effect'],
    async run(world) {
      const fcp = await world.controlPlane();
      await world.worker();
      const task = fcp.offer(effect('paid', 0, { effectKey: 'order-17' }));
      await task.ended();
      same(await world.effects(), [{ effectKey: 'order-17', line: 'paid' }], 'the effects');
    },
  },
  {
    name: 'words/called',
    title: 'says of no handler that failed by its own word that it was never called',
    promises: ['5.61'],
    handlers: ['conformance/fail'],
    async run(world) {
      const fcp = await world.controlPlane();
      await world.worker();
      const task = fcp.offer(fail());
      const [failure] = await came(fcp, task, 'fail');
      same(failure?.body.begun, undefined, '`begun` of the failure');
    },
  },
  {
    name: 'wire/no-answer',
    title: 'gives up a call that is never answered, and sends the report again',
    promises: ['5.49', '5.35'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane({ leaseMs: 60_000 });
      await world.worker();
      const task = fcp.offer(echo('patience'));
      fcp.on(about(task, 'complete'), (_, ctl) => ctl.never(), { times: 1 });
      const timeoutMs = GIVEN_UP_MS + 10_000;
      const [first, second] = await came(fcp, task, 'complete', 2, { timeoutMs });
      const ms = Math.round((second?.t ?? 0) - (first?.t ?? 0));
      expect(
        ms <= GIVEN_UP_MS,
        `The result came again only after ${ms} ms without an answer; a call is given up after 10 s, so ${GIVEN_UP_MS} ms are the most.`,
      );
      await task.ended();
      oneAttempt(task);
    },
  },
  {
    name: 'wire/deaf-stream',
    title: 'opens its stream of hints anew when it hears nothing for 45 s',
    promises: ['5.50'],
    handlers: [],
    timeoutMs: 2 * DEAF_MS,
    async run(world) {
      const fcp = await world.controlPlane();
      await world.worker();
      await fcp
        .until(() => fcp.hints.open.length > 0, { timeoutMs: 5_000, what: 'a hint stream' })
        .catch(() => {
          throw new NotApplicable('it opens no hint stream');
        });
      fcp.hints.mute();
      const count = fcp.hints.connections.length;
      await fcp.until(() => fcp.hints.connections.length > count, {
        timeoutMs: DEAF_MS,
        what: 'another hint stream',
      });
    },
  },
  {
    name: 'wire/slash-at-end',
    title: 'takes the address of a control plane with a slash at its end',
    promises: ['5.51'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane();
      await world.worker({ env: { INTERLOCK_URL: `${fcp.url}/` } });
      await runsOn(fcp, echo());
    },
  },
];
