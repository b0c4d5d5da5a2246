/** spool/…: what is on the worker's disk when it is killed, judged by what the next one sends. */
import type { Fcp, Report, RequestHandler, TaskHandle } from '../../../fcp/fcp.ts';
import { expect, oneOf, same } from '../../check.ts';
import type { WorkerCase } from '../worker-case.ts';
import type { World } from '../world.ts';
import {
  about,
  busyFor,
  came,
  completed,
  echo,
  effect,
  gated,
  oneAttempt,
  QUIET_MS,
  sameBody,
} from './steps.ts';

/** Kills the worker as soon as this report of the task has arrived; the answer never leaves. */
async function killedAt(
  world: World,
  fcp: Fcp,
  task: TaskHandle,
  op: string,
  answer: RequestHandler = (_, ctl) => ctl.never(),
): Promise<void> {
  const frozen = fcp.on(about(task, op), answer);
  const times = task.reports(op).length + 1;
  const worker = await world.worker({ ready: false });
  await came(fcp, task, op, times);
  await worker.kill();
  frozen.off();
}

/** A restarted worker says that the attempt is lost; the effect is not made again. */
async function lost(task: TaskHandle, begun?: boolean): Promise<void> {
  const { op, body } = await task.ended();
  same(op, 'lost', 'what a restarted worker reports of an attempt without a report');
  same(body.reason, 'worker-restarted', 'the reason');
  if (begun !== undefined) same(body.begun, begun, 'begun');
}

/** 5.10, with what section 8 says of `worker-restarted`: when it was claimed, and how the process before went. */
function evidence({ details, message }: Report['body'], sinceMs: number, untilMs: number): void {
  expect(
    typeof message === 'string' && message !== '',
    'The `lost` of a restarted worker has no `message`.',
  );
  const { claimedAt, begunAt = claimedAt, workerProcess } = (details ?? {}) as Evidence;
  const [claimed, begun] = [Date.parse(`${claimedAt}`), Date.parse(`${begunAt}`)];
  expect(
    claimed >= sinceMs && begun >= claimed && begun <= untilMs,
    `The details of a \`lost\` say claimedAt ${claimedAt} and begunAt ${begunAt}; it was claimed and killed between ${at(sinceMs)} and ${at(untilMs)}.`,
  );
  // It was killed: whoever says another thing does not know.
  oneOf(workerProcess?.went, ['died', 'unknown'], '`details.workerProcess.went` of a `lost`');
}

interface Evidence {
  readonly claimedAt?: unknown;
  readonly begunAt?: unknown;
  readonly workerProcess?: { readonly went?: unknown };
}

const at = (ms: number) => new Date(ms).toISOString();

async function effectsAre(world: World, lines: readonly string[]): Promise<void> {
  const found = (await world.effects()).map(({ line }) => line);
  same(found, lines, 'the lines that handlers wrote');
}

export const spool: readonly WorkerCase[] = [
  {
    name: 'spool/report-before-sending',
    title: 'has a result on disk before it sends it: killed then, it sends the same again',
    promises: ['5.2', '5.4', '2.14'],
    handlers: ['conformance/effect'],
    async run(world) {
      const fcp = await world.controlPlane();
      const task = fcp.offer(effect('once'));
      await killedAt(world, fcp, task, 'complete');
      await world.worker();
      await completed(task);
      await effectsAre(world, ['once']);
    },
  },
  {
    name: 'spool/accepted-unheard',
    title: 'killed after its result was accepted but before it heard so, it sends the same again',
    promises: ['5.4', '5.2'],
    handlers: ['conformance/effect'],
    async run(world) {
      const fcp = await world.controlPlane();
      const task = fcp.offer(effect('once'));
      await killedAt(world, fcp, task, 'complete', (_, ctl) => ctl.never({ applied: true }));
      await world.worker();
      const [, again] = await came(fcp, task, 'complete', 2);
      await fcp.until(() => again?.answer, { what: 'an answer to the second report' });
      same(again?.answer?.body.replayed, true, 'replayed');
      oneAttempt(task);
      await effectsAre(world, ['once']);
    },
  },
  {
    name: 'spool/failure-before-sending',
    title: 'has a failure on disk before it sends it',
    promises: ['5.2', '5.4'],
    handlers: ['conformance/fail'],
    async run(world) {
      const fcp = await world.controlPlane();
      const input = { code: 'NO_INK', message: 'The printer has no ink.', retryable: true };
      const task = fcp.offer({ type: 'conformance/fail', input });
      await killedAt(world, fcp, task, 'fail');
      await world.worker();
      const { op, body } = await task.ended();
      same([op, body.error?.code], ['fail', 'NO_INK'], 'what the restarted worker reports');
      oneAttempt(task, 'fail');
    },
  },
  {
    name: 'spool/record-before-start',
    title: 'has a running record on disk before it sends `start` of a non-idempotent attempt',
    promises: ['5.1', '5.9', '5.10', '4.2'],
    handlers: ['conformance/effect'],
    async run(world) {
      const fcp = await world.controlPlane();
      const task = fcp.offer(effect('never'));
      await killedAt(world, fcp, task, 'start');
      await world.worker();
      await lost(task, false);
      await effectsAre(world, []);
    },
  },
  {
    name: 'spool/killed-while-running',
    title: 'killed while a handler runs, it reports `lost` and makes its effect no second time',
    promises: ['5.9', '5.10', '2.14', '5.21'],
    handlers: ['conformance/echo', 'conformance/effect'],
    async run(world) {
      const fcp = await world.controlPlane();
      const task = fcp.offer(effect('once', 60_000));
      const worker = await world.worker();
      await world.done(1);
      await worker.kill();
      await world.worker();
      await lost(task, true);
      await fcp.offer(echo('next')).ended();
      await effectsAre(world, ['once']);
    },
  },
  {
    name: 'spool/evidence',
    title: 'tells in the `lost` of a killed worker when it was claimed and how that worker went',
    promises: ['5.10'],
    handlers: ['conformance/effect'],
    async run(world) {
      const fcp = await world.controlPlane();
      const task = fcp.offer(effect('once', 60_000));
      const since = world.clock.wall();
      const worker = await world.worker();
      await world.done(1);
      await worker.kill();
      const until = world.clock.wall();
      await world.worker();
      await lost(task, true);
      const [{ body } = { body: {} }] = task.reports('lost');
      // Instants may be told in whole seconds.
      evidence(body, since - 1_000, until + 1_000);
    },
  },
  {
    name: 'spool/killed-before-effect',
    title: 'killed before a handler has passed its gate, it reports `lost` and lets nothing go on',
    promises: ['5.9', '5.21', '4.3'],
    handlers: ['conformance/gated'],
    async run(world) {
      const fcp = await world.controlPlane();
      const task = fcp.offer(gated('never', { beforeMs: 5_000 }));
      const worker = await world.worker();
      await task.accepted('start');
      await world.pause(QUIET_MS);
      await worker.kill();
      await world.worker();
      // Whether its handler had its input by then cannot be seen from here.
      await lost(task);
      await world.pause(2 * QUIET_MS);
      await effectsAre(world, []);
      same(task.reports('effect').length, 0, 'the count of `effect`');
    },
  },
  {
    name: 'spool/killed-at-the-gate',
    title: 'killed while its `effect` is unanswered, it reports `lost` and makes no effect',
    promises: ['5.9', '4.3', '5.21'],
    handlers: ['conformance/gated'],
    async run(world) {
      const fcp = await world.controlPlane();
      const task = fcp.offer(gated('never'));
      await killedAt(world, fcp, task, 'effect');
      await world.worker();
      await lost(task, true);
      await effectsAre(world, []);
    },
  },
  {
    name: 'spool/killed-many',
    title: 'killed while several handlers run, it reports each attempt lost once, and resumes none',
    promises: ['5.9', '2.14'],
    handlers: ['conformance/progress'],
    async run(world) {
      const fcp = await world.controlPlane();
      const tasks = [1, 2, 3].map(() => fcp.offer(busyFor(3_000)));
      const worker = await world.worker({ slots: 3 });
      for (const task of tasks) await task.accepted('progress');
      await worker.kill();
      await world.worker({ slots: 3 });
      for (const task of tasks) await lost(task, true);
      await world.pause(2 * QUIET_MS);
      for (const task of tasks) {
        same(task.reports('lost').length, 1, 'how often `lost` was sent');
        same(task.reports('complete').length, 0, 'how often the result was sent');
      }
    },
  },
  {
    name: 'spool/lost-before-sending',
    title: 'killed again while its `lost` is unanswered, it sends the same `lost` again',
    promises: ['5.2', '5.9'],
    handlers: ['conformance/effect'],
    async run(world) {
      const fcp = await world.controlPlane();
      const task = fcp.offer(effect('once', 60_000));
      const worker = await world.worker();
      await world.done(1);
      await worker.kill();
      await killedAt(world, fcp, task, 'lost');
      await killedAt(world, fcp, task, 'lost');
      await world.worker({ ready: false });
      await lost(task, true);
      sameBody(task.reports('lost'));
      await effectsAre(world, ['once']);
    },
  },
  {
    name: 'spool/restart-loop',
    title: 'loses and doubles nothing through a row of kills, some before it could begin',
    promises: ['5.6', '5.4', '2.14'],
    handlers: ['conformance/effect'],
    async run(world) {
      const fcp = await world.controlPlane({ leaseMs: 60_000 });
      const task = fcp.offer(effect('once'));
      for (const afterMs of [20, 150, 400]) {
        await killedAt(world, fcp, task, 'complete');
        const worker = await world.worker({ ready: false });
        await world.pause(afterMs);
        await worker.kill();
        if (task.latest?.outcome) break;
      }
      await world.worker({ ready: false });
      await completed(task);
      await effectsAre(world, ['once']);
    },
  },
  {
    name: 'spool/outage',
    title: 'keeps all results while nobody answers, and delivers every one of them afterwards',
    promises: ['5.6', '5.35', '5.15'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane({ leaseMs: 30_000 });
      const tasks = [1, 2, 3].map((n) => fcp.offer(echo({ n, ms: 1_000 })));
      await world.worker({ slots: 3 });
      for (const task of tasks) await task.granted();
      // First nobody answers, then nobody listens.
      const away = fcp.on('any', (_, ctl) => ctl.cutBefore('rst'));
      const tried = () => fcp.reports.some(({ op }) => op === 'complete');
      await fcp.until(tried, { what: 'a result that somebody tries to deliver' });
      await fcp.restart({ mode: 'refused', downMs: 2_000 });
      away.off();
      for (const task of tasks)
        same((await completed(task)).body.result, task.task.offer.input, 'the result');
    },
  },
  {
    name: 'spool/outage-and-restart',
    title: 'starts without a control plane, and delivers what the killed one had, as it was',
    promises: ['5.4', '5.6', '5.2'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane({ leaseMs: 60_000 });
      const tasks = [1, 2, 3].map((n) => fcp.offer(echo({ n })));
      const silent = fcp.on('reports', (_, ctl) => ctl.cutBefore('rst'));
      const worker = await world.worker({ slots: 3 });
      for (const task of tasks) await came(fcp, task, 'complete');
      const away = fcp.on('any', (_, ctl) => ctl.cutBefore('rst'));
      silent.off();
      await worker.kill();
      const before = fcp.log.length;
      await world.worker({ slots: 3, ready: false });
      await fcp.until(() => fcp.log.length > before + 1, { what: 'a try of the restarted worker' });
      away.off();
      for (const task of tasks) {
        await completed(task);
      }
    },
  },
];
