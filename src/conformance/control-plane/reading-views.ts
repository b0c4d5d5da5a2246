import { expect, same, shown } from '../check.ts';
import { isInstant } from './faults.ts';
import type { ControlPlaneCase } from './index.ts';
import { failure, given } from './steps.ts';

/** What people read of tasks that wait, of workers and of the whole. */
export const readingViews: readonly ControlPlaneCase[] = [
  {
    name: 'reading/waiting-for',
    title: 'says in words why a task is not running',
    promises: ['6.18', '1.3'],
    async run(world) {
      const waits = async (id: string) => {
        const { status, waitingFor } = await world.task(id);
        same(status, 'queued', 'the status of the task');
        expect(
          typeof waitingFor === 'string' && waitingFor.trim() !== '',
          `waitingFor of a queued task is ${shown(waitingFor)}; expected are words.`,
        );
        return waitingFor;
      };
      // How it is put is the peer's; why is not: that nobody serves this type in this pool, and when it may begin.
      const nobody = await waits((await world.submit()).id);
      for (const word of [world.type(), world.pool])
        expect(nobody.includes(word), `waitingFor ${shown(nobody)} does not name ${word}.`);
      const notBeforeAt = '2999-01-01T00:00:00Z';
      const later = await waits((await world.submit({ notBeforeAt })).id);
      expect(later.includes('2999'), `waitingFor ${shown(later)} does not tell the year 2999.`);
      const { task, worker, attempt } = await given(world, {
        word: 'delayed',
        policy: { backoff: { initialMs: 60_000, jitter: 0 } },
        effectSafety: 'idempotent',
      });
      (await worker.report(attempt, 'fail', failure(true))).is(200);
      const again = await waits(task.id);
      expect(/\d/.test(again), `waitingFor ${shown(again)} does not tell when it is tried again.`);
      expect(again !== nobody, `waitingFor of a delayed task is ${shown(again)} too.`);
    },
  },
  {
    name: 'reading/no-sessions-and-tokens',
    title: 'shows no session, token or key in any view, journal or list',
    promises: ['6.48', '9.22'],
    async run(world) {
      const { task, worker, attempt } = await given(world, { passed: 'start' });
      (await worker.present([task.type])).is(200);
      const secrets = {
        'a session id': worker.sessionId,
        'a leaseToken': attempt.leaseToken,
        'a key': world.keys.worker,
      };
      for (const path of [
        `/tasks/${task.id}`,
        `/tasks/${task.id}/events`,
        `/tasks?type=${task.type}&include=input,result`,
        `/workers/${worker.workerId}`,
        '/workers',
        '/doctor',
      ]) {
        const { text } = (await world.get(path)).is(200);
        for (const [what, secret] of Object.entries(secrets))
          expect(!text.includes(secret), `GET ${path} shows ${what}.`);
      }
    },
  },
  {
    name: 'reading/worker',
    title: 'shows a worker from its first claim on, and as offline when it says so',
    promises: ['3.6', '3.7'],
    async run(world) {
      const worker = world.worker({ workerId: world.fresh('worker') });
      const state = async () =>
        (await world.get(`/workers/${worker.workerId}`)).is(200).body().state;
      (await worker.claim([world.type()])).is(200);
      same(await state(), 'ready', 'the state of a worker that has claimed');
      for (const said of ['ready', 'offline']) {
        (await worker.present([world.type()], { state: said })).is(200);
        same(await state(), said, 'the state of the worker');
      }
    },
  },
  {
    name: 'reading/doctor',
    title: 'tells each key its project, the queue, the workers and their troubles',
    promises: ['6.47', '3.6'],
    async run(world) {
      const worker = world.worker();
      const notClaiming = `the case says so ${world.id('x')}`;
      (await worker.present([world.type()], { notClaiming })).is(200);
      await world.submit({ type: world.type('waits') });
      const { project } = (await world.get('/doctor')).is(200).body();
      for (const [keyKind, key] of [
        ['task-producer', world.keys.producer],
        ['task-worker', world.keys.worker],
      ] as const) {
        // On a slow machine it may have gone offline since.
        (await worker.present([world.type()], { notClaiming })).is(200);
        const seen = (await world.get('/doctor', key)).is(200).body();
        same([seen.project, seen.keyKind], [project, keyKind], 'project and kind of the key');
        expect(isInstant(seen.serverTime), `serverTime is ${shown(seen.serverTime)}.`);
        // One task waits and one worker is ready here; others of the project may have more.
        const { ready, full, draining, offline } = seen.workers as Record<string, unknown>;
        for (const [name, count, least] of [
          ['queueDepth', seen.queueDepth, 1],
          ['oldestQueuedMs', seen.oldestQueuedMs, 0],
          ['outboxDebt', seen.outboxDebt, 0],
          ['workers.ready', ready, 1],
          ['workers.full', full, 0],
          ['workers.draining', draining, 0],
          ['workers.offline', offline, 0],
        ] as const)
          expect(
            Number.isInteger(count) && (count as number) >= least,
            `${name} is ${shown(count)}; expected is an integer of at least ${least}.`,
          );
        const troubles = seen.troubles as { workerId: string; says: string }[];
        expect(troubles.length <= 20, `${troubles.length} troubles are told; at most are 20.`);
        expect(
          troubles.length === 20 || troubles.some((one) => one.workerId === worker.workerId),
          `troubles do not tell that ${worker.workerId} is not claiming: ${shown(troubles)}.`,
        );
      }
    },
  },
];
