import { NotApplicable } from '../case.ts';
import { expect, same } from '../check.ts';
import type { ControlPlaneCase } from './index.ts';
import { given } from './steps.ts';
import type { WorkerActor } from './worker-actor.ts';
import type { ControlPlaneWorld } from './world.ts';

/** What workers say of themselves, and what is shown of them. */
export const presence: readonly ControlPlaneCase[] = [
  {
    name: 'presence/answer',
    title: 'answers presence with the project, durations, and whether to drain',
    promises: ['6.1', '6.28'],
    async run(world) {
      const { body } = await said(world.worker(), world);
      for (const name of ['presentAfterMs', 'offlineAfterMs'] as const) {
        const ms = body[name] ?? 1;
        expect(Number.isInteger(ms) && Number(ms) > 0, `${name} is ${ms}: no milliseconds.`);
      }
      expect(typeof body.project === 'string', 'The answer to presence does not name the project.');
      same(body.drain ?? false, false, '`drain` of a worker that nobody drains');
    },
  },
  {
    name: 'presence/need-handlers',
    title: 'asks for handlers that it does not know by their hash, and for no others',
    promises: ['6.36'],
    async run(world) {
      const worker = world.worker({ workerId: world.fresh('worker') });
      const asks = async (handlersHash: string, withHandlers: boolean) => {
        const more = { handlersHash, ...(withHandlers ? {} : { handlers: undefined }) };
        return (await said(worker, world, more)).body.needHandlers ?? false;
      };
      same(await asks('one', false), true, '`needHandlers` before they were ever told');
      same(await asks('one', true), false, '`needHandlers` where they are told');
      same(await asks('one', false), false, '`needHandlers` once they were told');
      same(await asks('two', false), true, '`needHandlers` for another hash');
      same(await asks('two', true), false, '`needHandlers` where the others are told');
    },
  },
  {
    name: 'presence/offline',
    title: 'shows a worker that said so as offline, and one that claims again as there',
    promises: ['3.6', '3.7'],
    async run(world) {
      const worker = world.worker();
      await said(worker, world);
      same(await shownState(world, worker), 'ready', 'the state of a ready worker');
      await said(worker, world, { state: 'offline' });
      same(await shownState(world, worker), 'offline', 'the state of a worker that said so');
      (await worker.claim([world.type()])).is(200);
      const state = await shownState(world, worker);
      expect(state !== 'offline', 'A worker that has just claimed is shown as offline.');
    },
  },
  {
    name: 'presence/offline-after',
    title: 'shows a worker as offline that was not heard of for offlineAfterMs, renewals heard',
    promises: ['3.6', '3.7'],
    timeoutMs: 150_000,
    async run(world) {
      const [quiet, claiming] = [world.worker(), world.worker()];
      // Its claim is the older sign of life: without its renewals it would be offline first.
      const { attempt } = await given(world, { worker: claiming });
      const { body, sentAtMs } = await said(quiet, world);
      const afterMs = Number(body.offlineAfterMs ?? 45_000);
      if (afterMs > LONGEST_OFFLINE_MS)
        throw new NotApplicable(`offlineAfterMs is ${afterMs}: too long to wait for.`);
      await world.until(
        'the state offline',
        async () => {
          (await claiming.report(attempt, 'renew')).is(200);
          const state = await shownState(world, quiet);
          const ms = Math.ceil(world.clock.now() - sentAtMs);
          if (state !== 'offline') return undefined;
          expect(ms >= afterMs - 25, `It is shown as offline after ${ms} ms, not ${afterMs} ms.`);
          return state;
        },
        afterMs + 20_000,
      );
      const state = await shownState(world, claiming);
      expect(state !== 'offline', 'A worker that renews is shown as offline.');
    },
  },
  {
    name: 'presence/claim-is-presence',
    title: 'shows a worker that only claims as there',
    promises: ['3.7'],
    async run(world) {
      const worker = world.worker({ workerId: world.fresh('worker') });
      (await worker.claim([world.type()])).is(200);
      const state = await shownState(world, worker);
      expect(state !== undefined && state !== 'offline', `It is shown as ${state}.`);
    },
  },
  {
    name: 'presence/no-secrets',
    title: 'shows no session, token or key in the views of workers and tasks',
    promises: ['6.48', '9.22'],
    async run(world) {
      const { task, worker, attempt } = await given(world, { passed: 'start' });
      await said(worker, world);
      const paths = [
        `/workers/${worker.workerId}`,
        '/workers',
        `/tasks/${task.id}`,
        `/tasks/${task.id}/events`,
      ];
      for (const path of paths) {
        const { text } = (await world.get(path)).is(200);
        for (const secret of [worker.sessionId, attempt.leaseToken, world.keys.worker])
          expect(!text.includes(secret), `GET ${path} shows a session, a token or a key.`);
      }
    },
  },
  {
    name: 'presence/drain',
    title: 'tells an operator’s drain in answers to presence and claims, to that session only',
    promises: ['6.28', '6.29'],
    needs: ['operator-key'],
    async run(world) {
      const worker = world.worker();
      await said(worker, world);
      await drain(world, worker);
      const claimed = (await worker.claim([world.type()])).is(200).body();
      same(claimed.drain, true, '`drain` in the answer to a claim');
      same((await said(worker, world)).body.drain, true, '`drain` in the answer to presence');
      const fresh = worker.restarted();
      same((await said(fresh, world)).body.drain ?? false, false, '`drain` for a new session');
      const again = (await fresh.claim([world.type()])).is(200).body();
      same(again.drain ?? false, false, '`drain` in the claim of a new session');
    },
  },
];

/** Presence for the case's type, accepted. */
export async function said(
  worker: WorkerActor,
  world: ControlPlaneWorld,
  more: Readonly<Record<string, unknown>> = {},
) {
  const seen = (await worker.present([world.type()], more)).is(200);
  return { body: seen.body(), sentAtMs: seen.sentAtMs };
}

async function shownState(world: ControlPlaneWorld, worker: WorkerActor): Promise<unknown> {
  return (await world.get(`/workers/${worker.workerId}`)).is(200).body().state;
}

export async function drain(world: ControlPlaneWorld, { workerId }: WorkerActor): Promise<void> {
  (await world.post(`/workers/${workerId}/drain`, {}, world.operatorKey)).is(200);
}

/** Twice the contract's own. */
const LONGEST_OFFLINE_MS = 90_000;
