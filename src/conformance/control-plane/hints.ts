import { expect, same } from '../check.ts';
import type { ControlPlaneCase } from './index.ts';
import { drain, said } from './presence.ts';
import { given } from './steps.ts';
import type { StreamReader } from './stream-reader.ts';
import type { WorkerActor } from './worker-actor.ts';
import type { ControlPlaneWorld } from './world.ts';

/** The stream that tells workers to look again. */
export const hints: readonly ControlPlaneCase[] = [
  {
    name: 'hints/ping',
    title: 'begins a stream with ping, and sends another within 15 s',
    promises: ['6.37'],
    async run(world) {
      const worker = world.worker();
      await said(worker, world);
      const stream = await listening(world, worker);
      // A wake would come at once.
      await world.submit();
      const first = await stream.next('a first event', () => true);
      same(first.event, 'ping', 'the first event');
      const second = ({ event, atMs }: { event: string; atMs: number }) =>
        event === 'ping' && atMs > first.atMs;
      await stream.next('a second ping', second, PING_MS);
      stream.close();
    },
  },
  {
    name: 'hints/wake',
    title: 'wakes a ready worker for a new task of a type that it serves',
    promises: ['6.38'],
    async run(world) {
      const worker = world.worker();
      await said(worker, world);
      const stream = await listening(world, worker);
      await stream.next('a ping', ({ event }) => event === 'ping');
      await world.submit();
      const { data } = await stream.next('a wake', ({ event }) => event === 'wake');
      same(data?.types, [`${world.type()}@1`], '`types` of the wake');
      stream.close();
    },
  },
  {
    name: 'hints/wakes-two-at-most',
    title: 'wakes at most twice as many workers as there are tasks',
    promises: ['6.38'],
    async run(world) {
      const workers = [1, 2, 3, 4, 5, 6].map(() => world.worker());
      const streams: StreamReader[] = [];
      for (const worker of workers) {
        await said(worker, world);
        const stream = await listening(world, worker);
        await stream.next('a ping', ({ event }) => event === 'ping');
        streams.push(stream);
      }
      await world.submit();
      const woken = () =>
        streams.filter(({ frames }) => frames.some(({ event }) => event === 'wake')).length;
      await world.until('a wake', async () => woken() > 0 || undefined);
      await world.pause(QUIET_MS);
      expect(woken() <= 2, `One task woke ${woken()} workers; at most 2 are allowed.`);
      for (const stream of streams) stream.close();
    },
  },
  {
    name: 'hints/cancel',
    title: 'tells the worker whose attempt is asked to stop',
    promises: ['6.39'],
    async run(world) {
      const { task, worker, attempt } = await given(world);
      const stream = await listening(world, worker);
      await stream.next('a ping', ({ event }) => event === 'ping');
      (await world.cancel(task.id)).is(200);
      const { data } = await stream.next('a cancel', ({ event }) => event === 'cancel');
      same(data?.attemptId, attempt.attemptId, '`attemptId` of the cancel');
      stream.close();
    },
  },
  {
    name: 'hints/drain',
    title: 'tells a worker that an operator drains it',
    promises: ['6.28'],
    needs: ['operator-key'],
    async run(world) {
      const worker = world.worker();
      await said(worker, world);
      const stream = await listening(world, worker);
      await stream.next('a ping', ({ event }) => event === 'ping');
      await drain(world, worker);
      await stream.next('a drain', ({ event }) => event === 'drain');
      stream.close();
    },
  },
];

function listening(world: ControlPlaneWorld, { workerId, sessionId }: WorkerActor) {
  return world.listen(`/hints?workerId=${workerId}&sessionId=${sessionId}`, world.keys.worker);
}

/** 15 s, and a little for a busy peer. */
const PING_MS = 20_000;
/** For a wake too many, which would come in the same moment as the others. */
const QUIET_MS = 700;
