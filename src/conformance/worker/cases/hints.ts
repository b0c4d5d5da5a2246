/** hints/…: work goes on without hints, and whatever comes as one. */
import type { Fcp } from '../../../fcp/fcp.ts';
import { NotApplicable } from '../../case.ts';
import { expect, same } from '../../check.ts';
import type { WorkerCase } from '../worker-case.ts';
import type { World } from '../world.ts';
import { runsOn } from './attempt-steps.ts';
import { echo, sleep } from './steps.ts';

/** A worker that wants a stream has asked for it by then. */
const STREAM_MS = 5_000;
/** One claim in 200 ms, and those that brought something are free. */
const CLAIMS_A_SECOND = 6;

/** Starts a worker whose stream is open; a worker need not open one. */
async function listening(world: World): Promise<Fcp> {
  const fcp = await world.controlPlane();
  await world.worker();
  const open = () => fcp.hints.open.length > 0;
  await fcp.until(open, { timeoutMs: STREAM_MS, what: 'a hint stream' }).catch(() => {
    throw new NotApplicable('it opens no hint stream');
  });
  return fcp;
}

export const hints: readonly WorkerCase[] = [
  {
    name: 'hints/refused',
    title: 'starts work without hints where every stream is refused, and does not ask in a loop',
    promises: ['6.41', '1.2'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane({ refuseHints: 404 });
      await world.worker();
      await runsOn(fcp, echo(1));
      fcp.hints.refuse(503);
      await world.pause(3_000);
      await runsOn(fcp, echo(2));
      const count = fcp.requests('hints').length;
      expect(count <= 12, `${count} hint streams were asked for in some seconds of refusals.`);
    },
  },
  {
    name: 'hints/silent',
    title: 'starts work, and renews, while the stream is open and silent',
    promises: ['6.41', '1.2'],
    handlers: ['conformance/echo', 'conformance/sleep'],
    async run(world) {
      const fcp = await world.controlPlane({ leaseMs: 6_000 });
      fcp.hints.mute();
      await world.worker();
      const task = fcp.offer(sleep(7_000));
      await task.ended();
      same(Math.round(task.lapsedMs()), 0, 'for how long its lease had run out, in ms');
      await runsOn(fcp, echo());
    },
  },
  {
    name: 'hints/storm',
    title: 'claims once in 200 ms at most however many hints come',
    promises: ['2.26'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await listening(world);
      const from = fcp.now;
      for (let n = 0; n < 150; n++) {
        for (let hint = 0; hint < 20; hint++) fcp.hints.wake('conformance/echo@1');
        await world.pause(20);
      }
      const claims = fcp.requests('claim').filter(({ t }) => t > from).length;
      const most = Math.ceil(((fcp.now - from) / 1_000) * CLAIMS_A_SECOND);
      expect(claims <= most, `3000 hints in 3 s made ${claims} claims; ${most} would be many.`);
      await runsOn(fcp, echo());
    },
  },
  {
    name: 'hints/looping',
    title: 'does not come back in a loop to a stream that ends at once',
    promises: ['6.41', '2.26'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await listening(world);
      const from = fcp.hints.connections.length;
      const ends = setCutting(fcp);
      await world.pause(5_000);
      ends.off();
      const count = fcp.hints.connections.length - from;
      expect(count <= 15, `${count} streams were opened in 5 s, each of which ended at once.`);
      await runsOn(fcp, echo());
    },
  },
  {
    name: 'hints/garbage',
    title: 'ignores events and fields that it does not know, and what is no hint at all',
    promises: ['6.40', '7.4'],
    handlers: ['conformance/echo', 'conformance/sleep'],
    async run(world) {
      const fcp = await listening(world);
      const task = fcp.offer(sleep(6_000));
      await task.accepted('start');
      const [stream] = fcp.hints.open;
      const frames = [
        'event: reboot\ndata: {"now": true}\n\n',
        'event: wake\ndata: {"types": 7, "colour": "red"}\n\n',
        'event: wake\ndata: no json\n\n',
        'event: cancel\ndata: null\n\n',
        ': a comment\n\nid: 7\nretry: 5\nfield\n\n',
        'event: drain',
        '\r\r\n\n\u0000\uFEFF data: {\n\n',
        'x'.repeat(200_000),
      ];
      for (const frame of frames) await stream?.raw(frame);
      same((await task.ended()).op, 'complete', 'the end of the task');
      await runsOn(fcp, echo());
    },
  },
  {
    name: 'hints/not-the-truth',
    title: 'stops no handler for a hint that the answers do not bear out',
    promises: ['6.41'],
    handlers: ['conformance/sleep'],
    async run(world) {
      const fcp = await listening(world);
      const task = fcp.offer(sleep(4_000));
      await task.accepted('start');
      fcp.hints.send('cancel', { attemptId: task.latest?.attemptId });
      same((await task.ended()).op, 'complete', 'the end of a task that nobody cancelled');
    },
  },
];

/** Every stream, the open one too, ends as soon as it is open. */
function setCutting(fcp: Fcp): { off(): void } {
  let on = true;
  const cut = async () => {
    while (on) {
      const before = fcp.hints.connections.length;
      fcp.hints.cut();
      await fcp
        .until(() => !on || fcp.hints.connections.length > before, { what: 'the next stream' })
        .catch(() => {});
    }
  };
  void cut();
  return {
    off: () => {
      on = false;
      fcp.note('streams stay open again');
    },
  };
}
