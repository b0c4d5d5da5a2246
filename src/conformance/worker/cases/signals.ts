/** signals/…: SIGTERM, SIGSTOP and SIGCONT to the worker's process. */
import type { Fcp, Offer } from '../../../fcp/fcp.ts';
import { expect, same } from '../../check.ts';
import type { WorkerCase } from '../worker-case.ts';
import { endedWith, type WorkerProcess } from '../worker-process.ts';
import type { World } from '../world.ts';
import { about, busyFor, came, completed, echo, effect, gated, oneAttempt } from './steps.ts';

const stubborn = (ms: number): Offer => ({ type: 'conformance/stubborn', input: { ms } });

/** What a claim that was on its way may take. */
const CROSSING_MS = 1_000;
/** `start` may be on its way this long before the handler has its input. */
const BEGUN_MS = 1_500;
/** Beyond the drain's own time: a spool that nobody takes, a goodbye that nobody hears. */
const LEAVE_MS = 30_000;

/** Its end after SIGTERM: exit code 0, `draining` and `offline` said, nothing claimed after the signal. */
async function drained(world: World, fcp: Fcp, worker: WorkerProcess): Promise<void> {
  const at = fcp.now;
  worker.signal('SIGTERM');
  endedWith(await world.ending(worker, LEAVE_MS), 0);
  same(
    fcp.workers.get('under-test')?.states.at(-1),
    'offline',
    'the last state that it told in its presence before it ended',
  );
  const late = fcp.requests('claim').filter(({ t }) => t > at + CROSSING_MS);
  same(late.length, 0, 'how many claims came later than a second after SIGTERM');
}

export const signals: readonly WorkerCase[] = [
  {
    name: 'signals/idle',
    title: 'told to end while idle, it says offline and exits with 0',
    promises: ['5.24'],
    handlers: [],
    async run(world) {
      const fcp = await world.controlPlane();
      const worker = await world.worker();
      await drained(world, fcp, worker);
    },
  },
  {
    name: 'signals/finishes',
    title: 'told to end, it lets handlers end, delivers their results and claims nothing more',
    promises: ['5.24', '3.5', '5.12'],
    handlers: ['conformance/echo', 'conformance/progress'],
    async run(world) {
      const fcp = await world.controlPlane({ leaseMs: 5_000 });
      const task = fcp.offer(busyFor(6_000));
      const worker = await world.worker();
      await task.accepted('progress');
      const end = drained(world, fcp, worker);
      end.catch(() => {});
      await fcp.until(() => fcp.workers.get('under-test')?.states.includes('draining'), {
        what: 'the state draining',
      });
      const next = fcp.offer(echo('next'));
      await end;
      same(task.latest?.outcome?.op, 'complete', 'the report of the task that ran');
      expect(
        task.lapsedMs() === 0,
        'The lease of the task that ran was not renewed during the drain.',
      );
      expect(next.queued, 'It claimed a task after it had told the state draining.');
    },
  },
  {
    name: 'signals/deadline',
    title:
      'told to end, it stops handlers at its deadline, kills those that do not hear, and reports both',
    promises: ['5.24', '5.16', '5.19', '5.20'],
    handlers: ['conformance/stubborn', 'conformance/progress'],
    async run(world) {
      const fcp = await world.controlPlane();
      const polite = fcp.offer(busyFor(120_000));
      const deaf = fcp.offer(stubborn(120_000));
      const worker = await world.worker({ drainTimeout: 4, stopGrace: 1 });
      const begun = await polite.accepted('progress');
      await deaf.accepted('start');
      // The other has as much time again to begin: nothing tells when it does.
      await world.pause(BEGUN_MS + begun.t - (polite.latest?.grantedAt ?? 0));
      await drained(world, fcp, worker);
      for (const [task, killed] of [
        [polite, undefined],
        [deaf, true],
      ] as const) {
        const said = task.latest?.outcome;
        const { reason, begun } = said?.body ?? {};
        same(
          [said?.op, reason, begun],
          ['lost', 'drain', true],
          'op, reason and begun of the report of a handler that the drain stopped',
        );
        same(
          said?.body.killed || undefined,
          killed,
          '`killed` in the report of a handler that the drain stopped',
        );
      }
    },
  },
  {
    name: 'signals/not-begun',
    title: 'told to end, it gives back what has not begun',
    promises: ['5.24', '4.2'],
    handlers: ['conformance/effect'],
    async run(world) {
      const fcp = await world.controlPlane();
      const task = fcp.offer(effect('never'));
      fcp.on(about(task, 'start'), (_, ctl) => ctl.problem(503, 'UNAVAILABLE'));
      const worker = await world.worker({ drainTimeout: 4 });
      await came(fcp, task, 'start');
      await drained(world, fcp, worker);
      same(task.latest?.outcome?.op, 'release', 'the report of an attempt that has not begun');
      same((await world.effects()).length, 0, 'how many lines handlers wrote to effects.jsonl');
    },
  },
  {
    name: 'signals/late-claim',
    title:
      'told to end while a claim is on its way, it begins nothing of the answer and gives it back',
    promises: ['5.24'],
    handlers: ['conformance/effect'],
    async run(world) {
      const fcp = await world.controlPlane();
      const task = fcp.offer(effect('never'));
      fcp.on('claim', (_, ctl) => ctl.later(2_000), { times: 1 });
      const asked = fcp.next('claim');
      const worker = await world.worker();
      const { n } = await asked;
      await world.pause(500);
      await drained(world, fcp, worker);
      same((await world.effects()).length, 0, 'how many lines handlers wrote to effects.jsonl');
      same(
        task.reports('start').length,
        0,
        'how often `start` was sent for what a claim brought during the drain',
      );
      const [claim] = fcp.log.filter((request) => request.n === n);
      // A worker may also hang up: then it never knew of the attempt.
      if (claim?.answered && !claim.cut)
        same(task.latest?.outcome?.op, 'release', 'the report of what came too late');
    },
  },
  {
    name: 'signals/spool-first',
    title: 'told to end, it goes on delivering until its results are answered',
    promises: ['5.24', '5.33'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane();
      const task = fcp.offer(echo('kept'));
      const busy = fcp.on(about(task, 'complete'), (_, ctl) => ctl.problem(503, 'UNAVAILABLE'));
      const worker = await world.worker();
      await came(fcp, task, 'complete');
      const end = drained(world, fcp, worker);
      end.catch(() => {});
      await came(fcp, task, 'complete', task.reports('complete').length + 1);
      busy.off();
      await end;
      same(task.latest?.outcome?.op, 'complete', 'the report of the task');
      oneAttempt(task);
    },
  },
  {
    name: 'signals/nobody-answers',
    title: 'told to end while nobody answers, it exits all the same; the next one delivers',
    promises: ['5.24', '5.6', '5.4'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane({ leaseMs: 60_000 });
      const task = fcp.offer(echo('kept'));
      const silent = fcp.on('reports', (_, ctl) => ctl.cutBefore('rst'));
      const worker = await world.worker({ drainTimeout: 3 });
      await came(fcp, task, 'complete');
      await drained(world, fcp, worker);
      silent.off();
      await world.worker();
      await completed(task);
    },
  },
  {
    name: 'signals/twice',
    title: 'told to end twice, it loses no outcome: what it does not report, the next one does',
    promises: ['5.6', '5.24', '5.9'],
    handlers: ['conformance/effect'],
    async run(world) {
      const fcp = await world.controlPlane({ leaseMs: 60_000 });
      const task = fcp.offer(effect('once', 3_000));
      const worker = await world.worker();
      await world.done(1);
      worker.signal('SIGTERM');
      await world.pause(1_200);
      worker.signal('SIGTERM');
      await world.ending(worker, LEAVE_MS);
      if (!task.latest?.outcome) await world.worker();
      const { op } = await task.ended();
      expect(
        ['complete', 'lost'].includes(op),
        `The worker ended the task with \`${op}\`; allowed is what its handler came to, or that it never began.`,
      );
      same((await world.effects()).length, 1, 'how many lines handlers wrote to effects.jsonl');
    },
  },
  {
    name: 'signals/suspended',
    title: 'stopped and continued after its leases have run out, it stops what another may run',
    promises: ['5.14', '1.28', '1.36', '4.3'],
    handlers: ['conformance/echo', 'conformance/gated'],
    async run(world) {
      const fcp = await world.controlPlane({ leaseMs: 5_000 });
      const idempotent = fcp.offer(echo({ ms: 60_000 }));
      const before = fcp.offer(gated('once', { beforeMs: 5_000 }));
      const worker = await world.worker();
      for (const task of [idempotent, before]) await task.accepted('start');
      await world.pause(BEGUN_MS);
      worker.freeze();
      await world.pause(6_000);
      for (const task of [idempotent, before]) fcp.expire(task.latest?.attemptId ?? '');
      worker.thaw();
      same(
        (await came(fcp, idempotent, 'lost'))[0]?.body.reason,
        'lease',
        'the reason of the `lost` of an idempotent handler whose lease ran out while the process was stopped',
      );
      // A handler that waits at its gate may fail when that rejects.
      const ends = () => before.reports().filter(({ op }) => op === 'lost' || op === 'fail');
      await fcp.until(() => ends().length > 0, { what: 'the end of what was before its gate' });
      same((await world.effects()).length, 0, 'how many lines handlers wrote to effects.jsonl');
      before.reoffer();
      same((await before.ended()).op, 'complete', 'the report of the next attempt');
      same((await world.effects()).length, 1, 'how many lines handlers wrote to effects.jsonl');
    },
  },
  {
    name: 'signals/suspended-claim',
    title:
      'stopped while its claim is answered, it renews the lease that ran out, or gives back what has not begun',
    promises: ['1.36', '1.30', '4.2'],
    handlers: ['conformance/effect'],
    async run(world) {
      const fcp = await world.controlPlane({ leaseMs: 5_000 });
      const task = fcp.offer(effect('once'));
      const stop: { worker?: WorkerProcess } = {};
      fcp.on(
        (request) => request.route === 'claim' && stop.worker !== undefined,
        async (_, ctl) => {
          stop.worker?.freeze();
          await ctl.pass();
        },
        { times: 1 },
      );
      // The task waits for a claim of a worker that is there.
      const all = fcp.on('claim', (_, ctl) => ctl.answer(200, NOTHING), { times: 1 });
      const worker = await world.worker();
      all.off();
      stop.worker = worker;
      const { attemptId } = await task.granted();
      await world.pause(6_000);
      fcp.expire(attemptId, { ended: false });
      worker.thaw();
      const { op } = await task.ended();
      // Nothing of it had begun, so it may be given back too.
      expect(
        op === 'complete' || op === 'release',
        `The worker ended the task with \`${op}\`; allowed is what its handler came to, or that it never began.`,
      );
      same(
        (await world.effects()).length,
        op === 'complete' ? 1 : 0,
        'how many lines handlers wrote to effects.jsonl',
      );
    },
  },
];

const NOTHING = {
  attempts: [],
  pollAfterMs: 1_000,
  serverTime: '2026-01-01T00:00:00.000Z',
  drain: false,
};
