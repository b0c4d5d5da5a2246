import { AsyncLocalStorage } from 'node:async_hooks';
import { readSync, writeSync } from 'node:fs';
import { CallQueue } from './call-queue.ts';
import type { Channel } from './channel.ts';
import type { Handler } from './declaration.ts';
import { errorText } from './failure.ts';
import { type CallOut, HostCall } from './host-call.ts';
import { keepCompiled, loadHandler } from './load.ts';
import { printsGoTo } from './prints.ts';
import {
  type CallJob,
  type CallOutcome,
  encodeFrame,
  type FromHost,
  type KeptCode,
  RECORDER_FD,
} from './protocol.ts';
import { FORBIDDEN_BYTES, forbids, Recorder } from './recorder.ts';

/** Kept here: a handler may put another in its place, as tests with false timers do, and then no job would begin any more. */
const nextTurn = setImmediate;

/**
 * Role `host`: one call at a time. Woken by frames of the agent (`load` once, then `run` again and again) and by what the
 * handler does. Never ends by itself: the agent ends it, or the closing of the channel.
 */
export function serveCalls(channel: Channel, monotonicMs: () => number): void {
  let handler: Handler | undefined;
  let current: HostCall | undefined;
  /** The last short one. */
  let shortCall: HostCall | undefined;
  let tainted = false;
  let compiled = false;
  const owner = new AsyncLocalStorage<HostCall>();
  const recorder = new Recorder(
    (record, at) => {
      try {
        const bytes = writeSync(RECORDER_FD, record, 0, record.length, FORBIDDEN_BYTES + at);
        return bytes === record.length;
      } catch {
        return false; // A full disk, or a handler has closed it.
      }
    },
    (frames, out) => channel.writeThen(frames, out),
  );
  const out: CallOut = {
    add: (frame, maxBytes = Number.POSITIVE_INFINITY) => {
      const bytes = encodeFrame(frame);
      if (bytes.length <= maxBytes) recorder.add(bytes);
      return bytes.length;
    },
    flush: () => recorder.flush(),
  };
  const short = new CallQueue<CallJob>({
    begin: (n, job, over) => {
      const ready = handler;
      if (ready === undefined) return;
      const start = () => {
        if (forbidden(n)) {
          say({ t: 'back', ns: [n] });
          over(true);
          return;
        }
        const call = begins(n, job);
        shortCall = call;
        started(call, ready, (how) => over(how === 'returned' && !call.stopped && !tainted));
      };
      if (recorder.begins(n)) return start();
      // As one that is not short: the agent is told.
      out.add({ t: 'begun', n });
      recorder.flush(start);
    },
    back: (ns) => out.add({ t: 'back', ns }),
    flush: (then) => recorder.flush(then),
    get full() {
      return recorder.full;
    },
    // Between two immediates the loop looks at every pipe.
    turn: (then) => nextTurn(() => nextTurn(then)),
    monotonicMs,
  });

  channel.onFrame((frame) => {
    switch (frame.t) {
      case 'load':
        void load(frame.file, frame.kept);
        break;
      case 'run':
        if (frame.short) short.add(frame.n, frame.job);
        else run(frame.n, frame.job);
        break;
      case 'recall':
        short.recall();
        out.flush();
        break;
      case 'ping':
        break;
      default:
        if (frame.t === 'stop' && short.drop(frame.n)) out.flush();
        else if (current?.n === frame.n) current.heard(frame);
    }
  });

  const words = Buffer.alloc(FORBIDDEN_BYTES);
  /** By the agent, which has taken it back: it may begin elsewhere. */
  function forbidden(n: number): boolean {
    try {
      for (let look = 0; look < 3; look++) {
        if (readSync(RECORDER_FD, words, 0, words.length, 0) < words.length) break;
        const says = forbids(words, n);
        if (says !== undefined) return says;
      }
    } catch {
      // A handler has closed it.
    }
    return false;
  }

  async function load(file: string, kept: KeptCode | undefined): Promise<void> {
    const loaded = await loadHandler(file, kept);
    if (!loaded.ok) return channel.send({ t: 'not-loaded', file, problem: loaded.problem });
    handler = loaded.handler;
    channel.send({ t: 'loaded', file, declaration: loaded.handler.declaration });
  }

  function run(n: number, job: CallJob): void {
    const ready = handler;
    if (ready === undefined) return;
    const call = begins(n, job);
    // Out before the handler is called: where the agent has not heard it, the handler has not begun.
    channel.sendThen({ t: 'begun', n }, () => started(call, ready, () => out.flush()));
  }

  function begins(n: number, job: CallJob): HostCall {
    current = new HostCall(n, job, out, monotonicMs);
    return current;
  }

  function started(call: HostCall, ready: Handler, over: (how: CallOutcome['how']) => void): void {
    owner.run(call, () =>
      call.start(ready, (_, how) => {
        if (current === call) current = undefined;
        over(how);
        if (compiled) return;
        compiled = true;
        // What the handler imported when it was first needed.
        nextTurn(keepCompiled);
      }),
    );
  }

  /**
   * What nobody caught. It belongs to the call in whose asynchronous context it happened; one without a context
   * is put down to the running call, which may wait for it in vain. One of an earlier call hurts nobody: the
   * agent takes another host as soon as this one is free.
   */
  const stray = (thrown: unknown) => {
    const by = owner.getStore();
    const first = !tainted;
    tainted = true;
    if (current !== undefined && (by === undefined || by === current)) current.crashed(thrown);
    // Once: something that throws in a loop must not flood the agent.
    if (!first) return;
    short.recall();
    say({ t: 'tainted', why: errorText(thrown) });
  };
  const say = (frame: FromHost) => {
    out.add(frame);
    out.flush();
  };
  process.on('uncaughtException', stray);
  const exit = process.exit.bind(process);
  process.exit = (code) => {
    const by = owner.getStore();
    // What an earlier call has left running must not end the present one with it, nor one that is on its way.
    if (by !== undefined && by !== current) {
      throw new Error('process.exit() was called for a task that is over');
    }
    return exit(code);
  };
  process.prependListener('exit', () => {
    out.flush();
    channel.last();
  });
  process.on('unhandledRejection', stray);
  // Those of a call that is not short come by themselves: nobody else's are between them. Not by context: what an earlier call
  // made (a pool of connections) prints for the one that runs, and only one does.
  printsGoTo(() => (current === shortCall ? current : undefined));
}
