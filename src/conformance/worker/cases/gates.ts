/** gates/…: nothing begins before its gate was opened, and only an answer in time opens one. */
import type { Fcp, TaskHandle } from '../../../fcp/fcp.ts';
import type { ReportExchange } from '../../../fcp/report-exchange.ts';
import { NotApplicable } from '../../case.ts';
import { expect, oneOf, same } from '../../check.ts';
import type { WorkerCase } from '../worker-case.ts';
import type { World } from '../world.ts';
import {
  bothSlotsRun,
  effectsStay,
  endings,
  endWords,
  nothingMore,
  othersHaveRun,
  runsOn,
} from './attempt-steps.ts';
import { about, came, echo, effect, gated, reportOf } from './steps.ts';

type Bend = (ctl: ReportExchange) => void;

/**
 * Answers every report of this op by this, and gives the task to a worker: one with a single slot, or, where the gate is
 * `start`, one with two that runs other tasks before the first answer.
 */
async function bent(world: World, offer: ReturnType<typeof effect>, op: string, bend: Bend) {
  const fcp = await world.controlPlane();
  const task = fcp.offer(offer);
  fcp.onReport(reportOf(task, op), (_, ctl) => bend(ctl));
  const atStart = op === 'start';
  if (atStart)
    fcp.on(about(task, op), async (_, ctl) => {
      await ctl.wait(othersHaveRun(fcp));
      await ctl.pass();
    });
  await world.worker({ slots: atStart ? 2 : 1 });
  await came(fcp, task, op);
  return { fcp, task };
}

/** What has no answer opens nothing; the gate is asked again, and opens once. */
async function asksAgain(world: World, op: 'start' | 'effect'): Promise<void> {
  const fcp = await world.controlPlane();
  const task = fcp.offer(op === 'start' ? effect('once') : gated('once'));
  const asked = about(task, op);
  fcp.on(asked, (_, ctl) => ctl.cutBefore('rst'), { times: 1 });
  fcp.on(asked, (_, ctl) => ctl.html(200), { times: 1 });
  fcp.on(asked, (_, ctl) => ctl.problem(503, 'UNAVAILABLE'), { times: 1 });
  const early: number[] = [];
  fcp.on(asked, async (_, ctl) => {
    await ctl.wait(othersHaveRun(fcp));
    early.push((await world.effects()).length);
    await ctl.pass();
  });
  await world.worker();
  same((await task.ended()).op, 'complete', 'the end of the task');
  same(Math.max(...early), 0, `the count of effects before ${op} was accepted`);
  same((await world.effects()).length, 1, 'how many lines handlers wrote to effects.jsonl');
}

/** Of several quick ones at least one has ended before its start was due. */
const QUICK_ONES = 5;

/** A task whose outcome carries its start. @throws NotApplicable where the worker lets none. */
async function carrying(fcp: Fcp): Promise<TaskHandle> {
  for (let n = 0; n < QUICK_ONES; n++) {
    const task = fcp.offer(echo(n));
    if ((await task.ended()).body.start !== undefined) return task;
  }
  throw new NotApplicable('it lets no outcome carry its start');
}

export const gates: readonly WorkerCase[] = [
  {
    name: 'gates/start-asked-again',
    title: 'begins no handler before its start was accepted, and asks until there is an answer',
    promises: ['4.2'],
    handlers: ['conformance/echo', 'conformance/effect'],
    run: (world) => asksAgain(world, 'start'),
  },
  {
    name: 'gates/effect-asked-again',
    title: 'lets no effect begin before it was accepted, and asks until there is an answer',
    promises: ['4.3'],
    handlers: ['conformance/echo', 'conformance/gated'],
    run: (world) => asksAgain(world, 'effect'),
  },
  {
    name: 'gates/start-refused',
    title: 'begins no handler whose start was refused, and goes on with other work',
    promises: ['5.41', '4.2'],
    handlers: ['conformance/echo', 'conformance/effect'],
    async run(world) {
      const { fcp, task } = await bent(world, effect('no'), 'start', (ctl) =>
        ctl.problem(409, 'CONFLICT'),
      );
      oneOf((await task.ended()).op, ['release', 'lost'], 'the end of the task');
      await bothSlotsRun(fcp);
      await effectsStay(world, 0);
    },
  },
  {
    name: 'gates/start-stale',
    title: 'begins no handler whose start is stale, and says nothing more of it',
    promises: ['1.13', '1.14', '5.41'],
    handlers: ['conformance/echo', 'conformance/effect'],
    async run(world) {
      const { fcp, task } = await bent(world, effect('no'), 'start', (ctl) => ctl.stale());
      await fcp.until(() => task.reports('start')[0]?.request.answered, {
        what: 'that it hears the answer to its start',
      });
      await bothSlotsRun(fcp);
      await nothingMore(world, task);
      await effectsStay(world, 0, 0);
    },
  },
  {
    name: 'gates/start-expired',
    title: 'renews once and asks again where its start was answered LEASE_EXPIRED',
    promises: ['1.30'],
    handlers: ['conformance/effect'],
    async run(world) {
      const fcp = await world.controlPlane();
      const task = fcp.offer(effect('once'));
      const expire = () => fcp.expire(task.latest?.attemptId ?? '', { ended: false });
      fcp.onReport(
        reportOf(task, 'start'),
        (_, ctl) => {
          expire();
          ctl.pass();
        },
        { times: 1 },
      );
      await world.worker();
      same((await task.ended()).op, 'complete', 'the end of the task');
      const [first, second] = task.reports('start');
      const between = task
        .reports('renew')
        .some(({ n }) => n > (first?.n ?? 0) && n < (second?.n ?? 0));
      expect(between, 'No renewal was sent between the refused start and the next one.');
      same((await world.effects()).length, 1, 'how many lines handlers wrote to effects.jsonl');
    },
  },
  {
    name: 'gates/start-stays-expired',
    title: 'releases an attempt whose start is answered LEASE_EXPIRED again and again',
    promises: ['1.30', '5.41'],
    handlers: ['conformance/echo', 'conformance/effect'],
    async run(world) {
      const { task } = await bent(world, effect('no'), 'start', (ctl) => ctl.leaseExpired());
      same((await task.ended()).op, 'release', 'the end of the task');
      await effectsStay(world, 0);
    },
  },
  {
    name: 'gates/effect-refused',
    title: 'rejects a gate whose effect was refused: nothing is done, and nothing released',
    promises: ['5.41', '5.23'],
    handlers: ['conformance/echo', 'conformance/gated'],
    async run(world) {
      const { fcp, task } = await bent(world, gated('no'), 'effect', (ctl) =>
        ctl.problem(409, 'CONFLICT'),
      );
      oneOf((await task.ended()).op, ['fail', 'unknown', 'lost'], 'the end of the task');
      await runsOn(fcp, echo());
      await effectsStay(world, 0);
    },
  },
  {
    name: 'gates/effect-stale',
    title: 'rejects a gate whose effect is stale, stops the handler and says nothing more of it',
    promises: ['1.13', '1.14'],
    handlers: ['conformance/echo', 'conformance/gated'],
    async run(world) {
      const { fcp, task } = await bent(world, gated('no'), 'effect', (ctl) => ctl.stale());
      await runsOn(fcp, echo());
      await nothingMore(world, task);
      await effectsStay(world, 0, 0);
    },
  },
  {
    name: 'gates/effect-stays-expired',
    title: 'rejects a gate that is answered LEASE_EXPIRED twice, and releases nothing',
    promises: ['1.30', '5.23'],
    handlers: ['conformance/gated'],
    async run(world) {
      const { task } = await bent(world, gated('no'), 'effect', (ctl) => ctl.leaseExpired());
      oneOf((await task.ended()).op, ['fail', 'unknown', 'lost'], 'the end of the task');
      same(endings(task).includes('release'), false, 'whether it was released past its gate');
      await effectsStay(world, 0);
    },
  },
  {
    name: 'gates/late-answer',
    title: 'opens no gate by an answer that comes after the lease has run out',
    promises: ['5.14'],
    handlers: ['conformance/gated'],
    async run(world) {
      const fcp = await world.controlPlane({ leaseMs: 4_000 });
      const task = fcp.offer(gated('no'));
      const outage = fcp.on(about(task, 'effect'), (_, ctl) => ctl.later(7_000), { times: 1 });
      // From the gate on nothing is answered, until its answer comes.
      fcp.on(
        ({ reports }) => outage.seen.length > 0 && reports.length > 0 && !open(),
        (_, ctl) => ctl.cutBefore('rst'),
      );
      const open = () => fcp.now > (outage.seen[0]?.t ?? 0) + 7_500;
      await world.worker();
      const end = await task.ended();
      oneOf(endWords(end), ['lost lease', 'lost lease killed', 'fail', 'unknown'], 'its end');
      await effectsStay(world, 0);
    },
  },
  {
    name: 'gates/no-gate',
    title: 'waits for no answer to a start that is not the gate',
    promises: ['4.5'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane();
      const quick = fcp.offer(echo({ ms: 1_500 }));
      fcp.on(about(quick, 'start'), (_, ctl) => ctl.never(), { times: 1 });
      await world.worker({ slots: 2 });
      // After it, so that the start of the next one cannot be in the same call.
      await came(fcp, quick, 'start');
      const slow = fcp.offer(echo({ ms: 6_000 }));
      const told = await slow.accepted('start');
      const after = told.t - (slow.latest?.grantedAt ?? 0);
      const says = `The start of a handler was told ${Math.round(after)} ms after its claim; a second is due.`;
      expect(after < 4_000, says);
      const { t } = await quick.ended();
      const ms = Math.round(t - (quick.latest?.grantedAt ?? 0));
      expect(ms < 9_000, `A handler whose start was never answered took ${ms} ms.`);
    },
  },
  {
    name: 'gates/start-not-offered',
    title: 'lets no outcome carry its start where that is no feature',
    promises: ['4.47'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane();
      await world.worker();
      for (let n = 0; n < QUICK_ONES; n++) {
        const { body } = await fcp.offer(echo(n)).ended();
        same(body.start, undefined, '`start` of an outcome');
      }
    },
  },
  {
    name: 'gates/start-in-outcome',
    title:
      'lets an outcome carry a start that is not the gate, instead of it and each time it is sent',
    promises: ['4.47'],
    handlers: ['conformance/echo', 'conformance/effect'],
    async run(world) {
      const fcp = await world.controlPlane({ features: ['start-in-outcome'] });
      await world.worker();
      const quick = await carrying(fcp);
      same(quick.reports('start').length, 0, 'how many other reports told the start');
      const again = fcp.offer(echo('again'));
      fcp.on(about(again, 'complete'), (_, ctl) => ctl.cutAfter(), { times: 1 });
      const [first, second] = await came(fcp, again, 'complete', 2);
      same(second?.body, first?.body, 'the report whose answer was lost, sent again');
      const gate = fcp.offer(effect('once'));
      const { op, body } = await gate.ended();
      same([op, body.start], ['complete', undefined], 'end and `start` of a task with a gate');
      same(gate.reports('start').length, 1, 'how often its start was asked');
    },
  },
  {
    name: 'gates/unknown-safety',
    title: 'takes an effect safety that it does not know as non-idempotent',
    promises: ['7.7'],
    handlers: ['conformance/echo'],
    async run(world) {
      const offer = echo({ ms: 0 }, { effectSafety: 'quantum', effectGate: 'start' });
      const { fcp, task } = await bent(world, offer, 'start', (ctl) => ctl.leaseExpired());
      same((await task.ended()).op, 'release', 'the end of a task whose start stays refused');
      await runsOn(fcp, echo());
    },
  },
];
