import { expect, oneOf, same, shown } from '../check.ts';
import type { ControlPlaneCase } from './index.ts';
import { given } from './steps.ts';
import type { Frame, StreamReader } from './stream-reader.ts';
import type { ControlPlaneWorld } from './world.ts';

const isPing = ({ event }: Frame) => event === 'ping';
const of =
  (taskId: unknown) =>
  ({ event, data }: Frame) =>
    event === 'task' && data?.taskId === taskId;

/** An open stream: its first event has come. */
async function reader(world: ControlPlaneWorld): Promise<StreamReader> {
  const stream = await world.listen('/events', world.keys.producer);
  await stream.next('the first event', () => true, FIRST_MS);
  return stream;
}

const FIRST_MS = 10_000;
/** The promise's 15 s and what a slow peer and a slow network add. */
const PING_MS = 20_000;

/** Streams of hints: they say when to look, and the row is the truth. */
export const eventsStream: readonly ControlPlaneCase[] = [
  {
    name: 'events-stream/begins-with-ping',
    title: 'answers with an event stream that begins with ping at once',
    promises: ['6.37'],
    async run(world) {
      // A change comes after it, also to a reader that is told at once.
      const stream = await world.listen('/events', world.keys.producer);
      const { id } = await world.submit();
      await stream.next(`task ${id}`, of(id));
      same(stream.frames[0]?.event, 'ping', 'the first event of the stream');
      stream.close();
    },
  },
  {
    name: 'events-stream/pings',
    title: 'sends a ping every 15 s to readers of both streams',
    promises: ['6.37'],
    async run(world) {
      const worker = world.worker();
      (await worker.present([world.type()])).is(200);
      const hints = `/hints?workerId=${worker.workerId}&sessionId=${worker.sessionId}`;
      const streams = [await reader(world), await world.listen(hints, world.keys.worker)];
      for (const stream of streams) {
        const first = await stream.next('ping', isPing, FIRST_MS);
        const again = (frame: Frame) => isPing(frame) && frame !== first;
        await stream.next('another ping', again, PING_MS);
        stream.close();
      }
    },
  },
  {
    name: 'events-stream/tells-changes',
    title: 'tells of a task that has changed, and the row has it by then',
    promises: ['6.19'],
    async run(world) {
      const stream = await reader(world);
      const seen = async (id: string, status: string, seq: number) => {
        const fits = of(id);
        const isNews = (frame: Frame) => fits(frame) && Number(frame.data?.seq) >= seq;
        const { data } = await stream.next(`task ${id} at ${seq}`, isNews);
        const task = await world.task(id);
        const told = shown(data);
        expect(
          task.seq >= Number(data?.seq),
          `The stream told ${told} of a task whose row is at ${task.seq}.`,
        );
        expect(
          data?.seq !== seq || data?.status === status,
          `The stream told ${told} of a task that was ${status} at ${seq}.`,
        );
      };
      const { task, worker, attempt } = await given(world);
      await seen(task.id, 'queued', 1);
      await seen(task.id, 'running', 2);
      (await worker.report(attempt, 'complete', { result: 1 })).is(200);
      await seen(task.id, 'succeeded', 3);
      stream.close();
    },
  },
  {
    name: 'events-stream/every-reader',
    title: 'tells every reader, also while one of them takes nothing',
    promises: ['6.19', '9.29'],
    async run(world) {
      const over = new AbortController();
      const deaf = { method: 'GET', path: '/events', key: world.keys.producer } as const;
      const unread = await world.open({ ...deaf, signal: over.signal });
      same(unread.status, 200, 'the status of the stream that nobody reads');
      const streams = [await reader(world), await reader(world)];
      for (let i = 0; i < 20; i++) {
        const { id } = await world.submit();
        for (const stream of streams) await stream.next(`task ${id}`, of(id));
      }
      over.abort();
      for (const stream of streams) stream.close();
    },
  },
  {
    name: 'events-stream/comes-back',
    title: 'lets a reader come back: the rows have what it missed, the stream what comes',
    promises: ['6.19', '1.1'],
    async run(world) {
      const before = await reader(world);
      const task = await world.submit();
      await before.next(`task ${task.id}`, of(task.id));
      before.close();
      (await world.post(`/tasks/${task.id}/cancel`, {})).is(200);
      const after = await reader(world);
      same((await world.task(task.id)).status, 'cancelled', 'the status that the reader missed');
      const { id } = await world.submit();
      await after.next(`task ${id}`, of(id));
      for (const { event, data } of after.frames)
        if (data?.taskId === task.id)
          oneOf([event, data?.status], [['task', 'cancelled']], 'a frame');
      after.close();
    },
  },
];
