/** discovery/…: what a control plane says of itself, and what a worker makes of it. */
import type { Answer } from '../../../fcp/answers.ts';
import { expect, same } from '../../check.ts';
import type { WorkerCase } from '../worker-case.ts';
import { kept, runsOn } from './attempt-steps.ts';
import { about, came, echo, effect, oneAttempt, sleep } from './steps.ts';

const YEAR_MS = 366 * 86_400_000;
/** A version that no worker of today speaks. */
const STRANGE = 97;

/** The answer with these fields, where it is a JSON object. */
const withFields = (answer: Answer, fields: Record<string, unknown>): Answer => ({
  ...answer,
  body: { ...(answer.body as Record<string, unknown>), ...fields },
});

const MORE = { colour: 'red', retries: { max: 7 }, tags: [1, null, 'x'] };

export const discovery: readonly WorkerCase[] = [
  {
    name: 'discovery/other-version',
    title: 'stops with one sentence where its version is not among `contracts`, and claims nothing',
    promises: ['7.10', '7.11'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane();
      const task = fcp.offer(echo());
      fcp.on('discovery', (_, ctl) =>
        ctl.pass((said) => withFields(said, { contracts: [STRANGE] })),
      );
      const worker = await world.worker({ ready: false });
      worker.mayEnd = true;
      const { code } = await world.ending(worker, 25_000);
      expect(
        code !== null && code !== 0,
        `It ended with ${code}, which a service unit takes for good.`,
      );
      same(fcp.requests('claim').length, 0, 'the count of claims');
      same(task.attempts.length, 0, 'the count of attempts');
      const told = world.findings.lines.some((line) => line.includes(String(STRANGE)));
      expect(told, `It did not say that the control plane speaks version ${STRANGE}.`);
    },
  },
  {
    name: 'discovery/more-versions',
    title: 'works where its version is one of several',
    promises: ['7.10'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane();
      const contracts = [STRANGE, 1];
      fcp.on('discovery', (_, ctl) => ctl.pass((said) => withFields(said, { contracts })));
      await world.worker();
      await runsOn(fcp, echo());
    },
  },
  {
    name: 'discovery/unknown-fields',
    title: 'ignores fields and features of answers that it does not know',
    promises: ['7.4'],
    handlers: ['conformance/echo', 'conformance/effect'],
    async run(world) {
      const fcp = await world.controlPlane({ features: ['telepathy', 'stream2'] });
      const task = fcp.offer(echo('x', { wire: (attempt) => ({ ...attempt, ...MORE }) }));
      const gone = fcp.offer(effect('y', 500, { wire: (attempt) => ({ ...attempt, ...MORE }) }));
      fcp.on(
        ({ route }) => route !== 'hints',
        (_, ctl) => ctl.pass((said) => withFields(said, MORE)),
      );
      await world.worker();
      for (const one of [task, gone]) {
        same((await one.ended()).op, 'complete', `the end of ${one.task.offer.type}`);
        oneAttempt(one);
      }
    },
  },
  {
    name: 'discovery/foreign-page',
    title: 'asks again where a page of a proxy stands in for discovery or presence',
    promises: ['7.10', '7.3'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane();
      for (const route of ['discovery', 'present'] as const) {
        fcp.on(route, (_, ctl) => ctl.html(200), { times: 1 });
        fcp.on(route, (_, ctl) => ctl.html(502), { times: 1 });
      }
      await world.worker();
      await runsOn(fcp, echo());
    },
  },
  {
    name: 'discovery/skewed-clocks',
    title: 'works the same where the clock of the control plane is a year off',
    promises: ['1.36'],
    handlers: ['conformance/sleep'],
    async run(world) {
      const leaseMs = 6_000;
      const ahead = await world.controlPlane({ leaseMs, clockSkewMs: YEAR_MS });
      const worker = await world.worker();
      const task = ahead.offer(sleep(7_000));
      same((await task.ended()).op, 'complete', 'the end of the task');
      kept([task]);
      await worker.kill();
    },
  },
  {
    name: 'discovery/version-refused',
    title: 'claims nothing and loses nothing while it is answered 426',
    promises: ['7.11', '5.32'],
    handlers: ['conformance/echo', 'conformance/effect'],
    async run(world) {
      const fcp = await world.controlPlane();
      const task = fcp.offer(effect('once', 1_000));
      const supported = [STRANGE];
      let on = true;
      fcp.on(
        (request) => on && about(task, 'complete')(request),
        (_, ctl) => ctl.problem(426, 'CONTRACT_UNSUPPORTED', { supported }),
      );
      await world.worker();
      await came(fcp, task, 'complete', 1);
      await world.pause(1_000);
      const from = fcp.log.length;
      fcp.hints.wake('conformance/echo@1');
      await world.pause(3_000);
      const claims = fcp.log.slice(from).filter(({ route }) => route === 'claim').length;
      same(claims, 0, 'how many claims came while a report was answered 426');
      on = false;
      same((await task.ended()).op, 'complete', 'the end of the task');
      oneAttempt(task);
      await runsOn(fcp, echo());
    },
  },
];
