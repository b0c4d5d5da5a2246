import { expect } from '../check.ts';
import type { ControlPlaneCase } from './index.ts';
import { answered, type CalledIds, calls } from './scopes.ts';
import { given } from './steps.ts';
import type { KeyShape } from './wire-shapes.ts';
import type { ControlPlaneWorld } from './world.ts';

const needs = ['admin-key'] as const;
const KINDS = ['task-producer', 'task-operator', 'task-worker', 'metrics'] as const;

/** Every call there is, about a task, an attempt and a worker that there are: none is answered with such a key. */
async function refusedEverywhere(
  world: ControlPlaneWorld,
  keys: readonly KeyShape[],
  ids: CalledIds,
): Promise<void> {
  for (const { key, kind } of keys)
    for (const [sent] of calls(world, ids)) {
      const seen = await answered(world, { ...sent, key });
      const what = `${sent.method} ${sent.path.split('?')[0]}`;
      expect(seen !== undefined, `${what} opened a stream for a key of kind ${kind} that is none.`);
      seen.refuses(401, 'UNAUTHENTICATED');
    }
}

async function idsOf(world: ControlPlaneWorld): Promise<CalledIds> {
  const { task, worker, attempt } = await given(world, { passed: 'start' });
  const { workerId, sessionId } = worker;
  return { task: task.id, attempt: attempt.attemptId, worker: workerId, session: sessionId };
}

/** Keys that are none any more. */
export const keysEnded: readonly ControlPlaneCase[] = [
  {
    name: 'keys/revoked-everywhere',
    title: 'refuses a revoked key of each kind in every call that there is',
    promises: ['9.14'],
    needs,
    async run(world) {
      const keys: KeyShape[] = [];
      for (const kind of KINDS) keys.push(await world.newKey(kind));
      const ids = await idsOf(world);
      for (const { id } of keys) {
        const path = `/keys/${id}`;
        (await world.call({ method: 'DELETE', path, key: world.keys.admin })).is(200);
      }
      await refusedEverywhere(world, keys, ids);
    },
  },
  {
    name: 'keys/expired-everywhere',
    title: 'refuses an expired key of each kind in every call that there is',
    promises: ['9.14'],
    needs,
    async run(world) {
      const ids = await idsOf(world);
      const expiresAt = new Date((await world.serverNowMs()) + EXPIRES_MS).toISOString();
      const keys: KeyShape[] = [];
      for (const kind of KINDS) keys.push(await world.newKey(kind, { expiresAt }));
      await world.pause(EXPIRES_MS + 100);
      await refusedEverywhere(world, keys, ids);
    },
  },
  {
    name: 'keys/expiry-ends-streams',
    title: 'ends the open streams of a key that expires, and no others',
    promises: ['9.15', '9.16'],
    needs,
    timeoutMs: 120_000,
    async run(world) {
      const expiresAt = new Date((await world.serverNowMs()) + EXPIRES_MS).toISOString();
      const producer = await world.newKey('task-producer', { expiresAt });
      const worker = await world.newKey('task-worker', { expiresAt });
      const actor = world.worker({ key: worker.key });
      (await actor.present([world.type()])).is(200);
      const hints = `/hints?workerId=${actor.workerId}&sessionId=${actor.sessionId}`;
      const theirs = [
        await world.listen('/events', producer.key),
        await world.listen(hints, worker.key),
      ];
      const other = await world.listen('/events', world.keys.producer);
      for (const stream of theirs) await stream.end('its key expired', ENDED_STREAM_MS);
      const { id } = await world.submit();
      await other.next(`task ${id}`, ({ data }) => data?.taskId === id);
      other.close();
    },
  },
];

/** Long enough for what has to be made before. */
const EXPIRES_MS = 4_000;
/** The promise's 60 s, what is left of the key's life, and what a slow peer adds. */
const ENDED_STREAM_MS = 80_000;
