import { expect, same, shown } from '../check.ts';
import { isInstant } from './faults.ts';
import type { ControlPlaneCase } from './index.ts';
import { given } from './steps.ts';
import type { AttemptOffer, TaskShape } from './wire-shapes.ts';
import type { ControlPlaneWorld } from './world.ts';

/** What the shapes of section 6 tell is so: instants, names, lists. */
export const readingFacts: readonly ControlPlaneCase[] = [
  {
    name: 'reading/instants',
    title:
      'tells in views and in the journal when something happened, by its own clock, and who did it',
    promises: ['6.1', '6.9', '6.15'],
    async run(world) {
      const within = await window(world);
      const { task, worker, attempt } = await given(world, { passed: 'start' });
      same((await world.task(task.id)).worker, worker.workerId, 'the worker of a running task');
      (await worker.report(attempt, 'complete', { result: 1 })).is(200);
      const { createdAt, startedAt, finishedAt, worker: last } = await world.task(task.id);
      same(last, worker.workerId, 'the worker of a task that has ended');
      await within('createdAt, startedAt and finishedAt', [createdAt, startedAt, finishedAt]);
      const events = await world.events(task.id);
      await within(
        'at of the entries',
        events.map(({ at }) => at),
      );
      const leased = events.find(({ kind }) => kind === 'leased');
      same(
        [leased?.attemptId, leased?.fence],
        [attempt.attemptId, attempt.fence],
        'attemptId and fence of the entry leased',
      );
    },
  },
  {
    name: 'reading/newest-first',
    title: 'lists tasks newest first',
    promises: ['6.13'],
    async run(world) {
      const ids: string[] = [];
      for (let i = 0; i < 3; i++) {
        ids.unshift((await world.submit()).id);
        await world.pause(20);
      }
      const seen = (await world.get(`/tasks?type=${world.type()}`)).is(200);
      const { tasks } = seen.body<{ tasks: TaskShape[] }>();
      same(
        tasks.map(({ id }) => id),
        ids,
        'the tasks of the list',
      );
    },
  },
  {
    name: 'reading/workers-and-types',
    title: 'lists the workers that there are, and the types that have tasks or are served',
    promises: ['9.6', '3.6'],
    async run(world) {
      const worker = world.worker();
      const [served, waiting] = [world.type('served'), world.type('waiting')];
      await world.submit({ type: waiting });
      // Said again each time: on a slow machine it may be offline before it is looked for.
      const present = async () => (await worker.present([served])).is(200);
      await world.until(`${worker.workerId}, ready, in GET /workers`, async () => {
        await present();
        const { workers } = (await world.get('/workers')).is(200).body<{
          workers: { workerId: string; state: string }[];
        }>();
        const ready = ({ workerId, state }: { workerId: string; state: string }) =>
          workerId === worker.workerId && state === 'ready';
        return workers.find(ready);
      });
      await world.until(`${served}, served, and ${waiting}, queued, in GET /types`, async () => {
        await present();
        const { types } = (await world.get('/types')).is(200).body<{
          types: { type: string; queued: number; workers: string[] }[];
        }>();
        const of = (name: string) => types.find(({ type }) => type === name);
        const is = of(served)?.workers.includes(worker.workerId) && of(waiting)?.queued === 1;
        return is || undefined;
      });
    },
  },
  {
    name: 'claims/answer',
    title: 'gives with an attempt what was submitted, and with a claim durations and its own time',
    promises: ['6.1', '4.35', '6.20', '2.25'],
    async run(world) {
      const within = await window(world);
      const traceparent = `00-${world.id('x').slice(2)}-${world.id('x').slice(2, 18)}-01`;
      const labels = { ...(world.submission().labels as Record<string, string>), n: '1' };
      const policy = { maxAttempts: 2 };
      const task = await world.submit({ traceparent, labels, policy, input: { n: 1 } });
      const worker = world.worker();
      const said = (await worker.present([task.type])).is(200).body();
      await within('serverTime of presence', [said.serverTime]);
      const attempt = await world.until('an attempt', async () => {
        const seen = (await worker.claim([task.type])).is(200).body<{
          attempts: AttemptOffer[];
          pollAfterMs: number;
          serverTime: string;
        }>();
        await within('serverTime of the claim', [seen.serverTime]);
        const { pollAfterMs: ms } = seen;
        expect(Number.isInteger(ms) && ms >= 0 && ms <= 120_000, `pollAfterMs is ${shown(ms)}.`);
        return seen.attempts[0];
      });
      same(
        [attempt.pool, attempt.labels, attempt.policy, attempt.traceparent, attempt.input],
        [world.pool, labels, task.policy, traceparent, { n: 1 }],
        'pool, labels, policy, traceparent and input of the attempt',
      );
    },
  },
];

/** Instants that are not before this call, not after now, and in their order, by the peer's clock. */
async function window(world: ControlPlaneWorld) {
  const fromMs = (await world.serverNowMs()) - SLACK_MS;
  return async (what: string, instants: readonly unknown[]): Promise<void> => {
    const untilMs = (await world.serverNowMs()) + SLACK_MS;
    let beforeMs = fromMs;
    for (const at of instants) {
      const ms = isInstant(at) ? Date.parse(String(at)) : Number.NaN;
      expect(
        ms >= beforeMs - SLACK_MS && ms <= untilMs,
        `${what}: ${shown(instants)}; expected are instants in this order, from ${new Date(fromMs).toISOString()} to ${new Date(untilMs).toISOString()}.`,
      );
      beforeMs = ms;
    }
  };
}

/** A clock that is set a little while it runs, instants to the second, several nodes. */
const SLACK_MS = 2_000;
