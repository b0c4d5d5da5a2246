import type { ControlPlaneCase } from './index.ts';
import { accepted, given, isNow, lost, unchanged } from './steps.ts';

/** Who speaks for a worker id. */
export const sessions: readonly ControlPlaneCase[] = [
  ...(['claim', 'presence'] as const).map(
    (by): ControlPlaneCase => ({
      name: `sessions/superseded-by-${by}`,
      title: `makes the session first seen last the current one (by its ${by}), for good`,
      promises: ['2.4', '2.5'],
      async run(world) {
        const type = world.type();
        const old = world.worker();
        (await old.claim([type])).is(200);
        const fresh = old.restarted();
        (await (by === 'claim' ? fresh.claim([type]) : fresh.present([type]))).is(200);
        for (const _ of [1, 2]) {
          (await old.claim([type])).refuses(409, 'SESSION_SUPERSEDED');
          (await old.present([type])).refuses(409, 'SESSION_SUPERSEDED');
        }
        const { sessionId } = old;
        (await fresh.claim([type], { earlierSessions: [sessionId] })).is(200);
        (await old.claim([type])).refuses(409, 'SESSION_SUPERSEDED');
      },
    }),
  ),
  ...(['claim', 'presence'] as const).map(
    (by): ControlPlaneCase => ({
      name: `sessions/earlier-unseen-by-${by}`,
      title: `supersedes a session named as earlier in a ${by} though it was never seen`,
      promises: ['2.3', '2.5'],
      async run(world) {
        const type = world.type();
        const unseen = world.worker();
        const fresh = unseen.restarted();
        const earlierSessions = [unseen.sessionId];
        const said =
          by === 'claim'
            ? await fresh.claim([type], { earlierSessions })
            : await fresh.present([type], { earlierSessions });
        said.is(200);
        (await unseen.claim([type])).refuses(409, 'SESSION_SUPERSEDED');
        (await unseen.present([type])).refuses(409, 'SESSION_SUPERSEDED');
        (await fresh.claim([type])).is(200);
      },
    }),
  ),
  {
    name: 'sessions/refused-ones-supersede-nobody',
    title: 'lets a superseded session supersede nobody by the sessions that it names',
    promises: ['2.3', '2.4'],
    async run(world) {
      const type = world.type();
      const old = world.worker();
      (await old.claim([type])).is(200);
      const { attempt, worker: fresh } = await given(world, { worker: old.restarted() });
      const seen = await old.claim([type], { earlierSessions: [fresh.sessionId] });
      seen.refuses(409, 'SESSION_SUPERSEDED');
      accepted(await fresh.report(attempt, 'start'), attempt, 'start');
      (await fresh.claim([type])).is(200);
    },
  },
  {
    name: 'sessions/gates-of-a-superseded-one',
    title: 'opens no gate for a superseded session',
    promises: ['2.5', '2.7'],
    async run(world) {
      const { task, worker, attempt } = await given(world, { effectGate: 'effect' });
      (await worker.report(attempt, 'start')).is(200);
      (await worker.restarted().claim([task.type])).is(200);
      await unchanged(world, task, async () => {
        for (const op of ['start', 'effect'])
          (await worker.report(attempt, op)).refuses(409, 'SESSION_SUPERSEDED');
      });
    },
  },
  {
    name: 'sessions/gates-of-another',
    title: 'opens no gate for a session that did not claim the attempt',
    promises: ['2.7'],
    async run(world) {
      const { task, worker, attempt } = await given(world, { effectGate: 'effect' });
      const fresh = worker.restarted();
      (await fresh.claim([task.type])).is(200);
      const never = { sessionId: world.id('ses') };
      await unchanged(world, task, async () => {
        for (const op of ['start', 'effect']) {
          (await fresh.report(attempt, op)).refuses(409, 'STALE_ATTEMPT');
          (await fresh.report(attempt, op, never)).refuses(409, 'STALE_ATTEMPT');
        }
      });
    },
  },
  {
    name: 'sessions/token-before-session',
    title: 'checks the session after fence and token',
    promises: ['2.8'],
    async run(world) {
      const { task, worker, attempt } = await given(world);
      (await worker.restarted().claim([task.type])).is(200);
      for (const wrong of [{ fence: attempt.fence + 1 }, { leaseToken: 'guessed' }])
        (await worker.report(attempt, 'start', wrong)).refuses(409, 'STALE_ATTEMPT');
      (await worker.report(attempt, 'start')).refuses(409, 'SESSION_SUPERSEDED');
    },
  },
  {
    name: 'sessions/terminal-reports',
    title: 'accepts terminal reports of a superseded session and of its successor',
    promises: ['2.9'],
    async run(world) {
      const worker = world.worker();
      const ends = { complete: { result: 1 }, lost: lost(), release: { reason: 'no-slot' } };
      const held = [];
      for (const [op, fields] of Object.entries(ends))
        for (const who of ['old', 'new'])
          held.push({
            ...(await given(world, { worker, word: `${op}-${who}` })),
            ...{ op, fields, who },
          });
      const fresh = worker.restarted();
      (await fresh.claim([world.type()], { earlierSessions: [worker.sessionId] })).is(200);
      const statuses = { complete: 'succeeded', lost: 'queued', release: 'queued' };
      for (const { task, attempt, op, fields, who } of held) {
        const from = who === 'old' ? worker : fresh;
        accepted(await from.report(attempt, op, fields), attempt, op);
        await isNow(world, task, statuses[op as keyof typeof statuses]);
      }
    },
  },
  {
    name: 'sessions/one-worker-id-each',
    title: 'keeps the sessions of each worker id for itself',
    promises: ['2.4'],
    async run(world) {
      const [one, two] = [world.worker(), world.worker()];
      const type = world.type();
      (await one.claim([type])).is(200);
      (await two.claim([type], { earlierSessions: [one.sessionId] })).is(200);
      (await one.claim([type])).is(200);
    },
  },
  {
    name: 'sessions/another-key',
    title: 'lets another key of the project speak for a worker id only with its current session',
    promises: ['9.11', '9.8'],
    needs: ['admin-key'],
    async run(world) {
      const { key } = await world.newKey('task-worker');
      const { task, worker, attempt } = await given(world);
      (await worker.present([task.type])).is(200);
      const { workerId, sessionId } = worker;
      const thief = world.worker({ workerId, key });
      (await thief.claim([task.type])).refuses(409, 'CONFLICT');
      (await thief.present([task.type])).refuses(409, 'CONFLICT');
      (await worker.claim([task.type])).is(200);
      // The same process with a key that was changed under it.
      (await thief.claim([task.type], { more: { sessionId } })).is(200);
      accepted(await thief.report(attempt, 'complete', { result: 1 }), attempt, 'complete');
    },
  },
  {
    name: 'sessions/taken-over-when-offline',
    title: 'lets another key of the project take a worker id over once its worker said offline',
    promises: ['9.11', '2.4'],
    needs: ['admin-key'],
    async run(world) {
      const { key } = await world.newKey('task-worker');
      const type = world.type();
      const worker = world.worker();
      (await worker.present([type])).is(200);
      (await worker.present([type], { state: 'offline' })).is(200);
      const other = world.worker({ workerId: worker.workerId, key });
      (await other.claim([type])).is(200);
      (await worker.claim([type])).refuses(409, 'SESSION_SUPERSEDED');
    },
  },
];
