import { NotApplicable } from '../case.ts';
import { expect, same } from '../check.ts';
import type { Seen } from './caller.ts';
import type { ControlPlaneCase } from './index.ts';
import type { AttemptOffer } from './wire-shapes.ts';
import type { WorkerActor } from './worker-actor.ts';
import type { ControlPlaneWorld } from './world.ts';

/** Long enough that nobody can take its end for an answer that came at once. */
const SHORT_MS = 1_500;
const LONG_MS = 20_000;
/** A claim that was sent so long ago waits. */
const SETTLED_MS = 700;
/** What a busy peer may need for what it does at once; far below the long wait. */
const SOON_MS = 8_000;

/** Claims that wait for work (feature `claim-wait`). */
export const claimsWaiting: readonly ControlPlaneCase[] = [
  {
    name: 'claims-waiting/work-comes',
    title:
      'answers a claim that waits as soon as there is work for it, and tells how long it waited',
    promises: ['2.31', '2.33'],
    async run(world) {
      await offered(world);
      const { answer } = await waits(world, world.worker());
      const task = await world.submit();
      const seen = (await answer).is(200);
      const tookMs = seen.receivedAtMs - seen.sentAtMs;
      same(
        attemptsOf(seen).map(({ taskId }) => taskId),
        [task.id],
        'the tasks that the claim got',
      );
      expect(tookMs < SOON_MS, `Its answer came ${Math.round(tookMs)} ms after it was sent.`);
      const { waitedMs } = seen.body<{ waitedMs?: unknown }>();
      const says = `\`waitedMs\` is ${waitedMs} in an answer that took ${Math.round(tookMs)} ms; the task came ${SETTLED_MS} ms after the claim.`;
      expect(typeof waitedMs === 'number' && waitedMs >= 0 && waitedMs <= tookMs, says);
    },
  },
  {
    name: 'claims-waiting/in-vain',
    title: 'answers a claim empty when its wait is over, and one without a wait at once',
    promises: ['2.31'],
    async run(world) {
      await offered(world);
      const worker = world.worker();
      const more = { waitMs: SHORT_MS };
      const waited = (await worker.claim([world.type()], { more })).is(200);
      const tookMs = waited.receivedAtMs - waited.sentAtMs;
      same(attemptsOf(waited), [], 'the attempts of a claim for which there was nothing');
      expect(
        tookMs >= SHORT_MS * 0.9 && tookMs <= SHORT_MS + SOON_MS,
        `A claim with waitMs ${SHORT_MS} was answered after ${Math.round(tookMs)} ms.`,
      );
      const { sentAtMs, receivedAtMs } = (await worker.claim([world.type()])).is(200);
      const plainMs = receivedAtMs - sentAtMs;
      expect(plainMs <= SOON_MS, `One without waitMs took ${Math.round(plainMs)} ms.`);
    },
  },
  {
    name: 'claims-waiting/ended',
    title: 'ends the wait by the same claim for nothing, and gives it nothing after that',
    promises: ['2.32', '2.13'],
    async run(world) {
      await offered(world);
      const worker = world.worker();
      const requestId = world.id('req');
      const { answer } = await waits(world, worker, requestId);
      const last = (await worker.claim([world.type()], { requestId, max: 0 })).is(200);
      same(attemptsOf(last), [], 'the attempts of the claim that ended the wait');
      const task = await world.submit();
      const seen = (await answer).is(200);
      same(attemptsOf(seen), [], 'the attempts of the claim whose wait was ended');
      const again = (await worker.claim([world.type()], { requestId })).is(200);
      same(attemptsOf(again), [], 'the attempts of that claim sent once more');
      same((await worker.claimOne(task.type)).taskId, task.id, 'the task of the next claim');
    },
  },
  {
    name: 'claims-waiting/repeated',
    title: 'gives a claim that waited, and is repeated, the same attempts',
    promises: ['2.12', '2.32'],
    async run(world) {
      await offered(world);
      const worker = world.worker();
      const requestId = world.id('req');
      const { answer } = await waits(world, worker, requestId);
      await world.submit();
      const first = attemptsOf((await answer).is(200));
      await world.submit();
      const again = attemptsOf((await worker.claim([world.type()], { requestId, max: 0 })).is(200));
      same(
        again.map(({ attemptId }) => attemptId),
        first.map(({ attemptId }) => attemptId),
        'the attempts of the repeated claim',
      );
      same(first.length, 1, 'the number of attempts that the claim got');
    },
  },
  {
    name: 'claims-waiting/gone',
    title: 'gives nothing to a claim whose caller has gone',
    promises: ['2.34'],
    async run(world) {
      await offered(world);
      const requestId = world.id('req');
      const claiming = world.worker().claiming([world.type()], { requestId, more: LONG });
      await world.cutOff(claiming, SETTLED_MS);
      await world.pause(SETTLED_MS);
      const task = await world.submit();
      const attempt = await world.worker().claimOne(task.type);
      same([attempt.taskId, attempt.fence], [task.id, 1], 'task and fence of the next claim');
    },
  },
  {
    name: 'claims-waiting/superseded',
    title: 'ends the wait of a session that is superseded, and gives it nothing',
    promises: ['2.35', '2.5'],
    async run(world) {
      await offered(world);
      const worker = world.worker();
      const { answer } = await waits(world, worker);
      const next = worker.restarted();
      (await next.claim([world.type()])).is(200);
      const seen = await answer;
      const tookMs = seen.receivedAtMs - seen.sentAtMs;
      seen.refuses(409, 'SESSION_SUPERSEDED');
      expect(tookMs < SOON_MS, `It was answered after ${Math.round(tookMs)} ms.`);
      const task = await world.submit();
      same((await next.claimOne(task.type)).fence, 1, 'the fence of the next attempt');
    },
  },
  {
    name: 'claims-waiting/drain',
    title: 'ends the wait of a worker that an operator drains, and says so',
    promises: ['2.35'],
    needs: ['operator-key'],
    async run(world) {
      await offered(world);
      const worker = world.worker();
      const { answer } = await waits(world, worker);
      (await world.post(`/workers/${worker.workerId}/drain`, {}, world.operatorKey)).is(200);
      const seen = (await answer).is(200);
      const tookMs = seen.receivedAtMs - seen.sentAtMs;
      same(seen.body<{ drain?: unknown }>().drain, true, '`drain` of its answer');
      same(attemptsOf(seen), [], 'its attempts');
      expect(tookMs < SOON_MS, `It was answered after ${Math.round(tookMs)} ms.`);
    },
  },
];

const LONG = { waitMs: LONG_MS };

/** @throws NotApplicable where no claim can wait. */
async function offered(world: ControlPlaneWorld): Promise<void> {
  const { features } = (await world.get('/')).is(200).body<{ features?: readonly unknown[] }>();
  if (!features?.includes('claim-wait'))
    throw new NotApplicable('its features do not list claim-wait.');
}

/** Sends a claim, and resolves when it waits. @throws where it was answered already. */
async function waits(
  world: ControlPlaneWorld,
  worker: WorkerActor,
  requestId: string = world.id('req'),
): Promise<{ readonly answer: Promise<Seen> }> {
  let answered = false;
  const answer = worker.claim([world.type()], { requestId, more: LONG });
  answer.then(
    () => {
      answered = true;
    },
    () => {},
  );
  await world.pause(SETTLED_MS);
  expect(!answered, `A claim with waitMs ${LONG_MS} was answered at once, with nothing to give.`);
  return { answer };
}

const attemptsOf = (seen: Seen) => seen.body<{ attempts: AttemptOffer[] }>().attempts;
