import { AsyncLocalStorage } from 'node:async_hooks';
import type { TaskFailure } from '../contract/errors.ts';
import { largeResult, unwritableResult } from '../contract/result-bound.ts';
import { hostDefaults } from '../core/defaults.ts';
import { type RunningCall, startCall } from './call.ts';
import type { Channel } from './channel.ts';
import type { ContextDoor } from './context.ts';
import type { Handler } from './declaration.ts';
import { errorText } from './failure.ts';
import { keepCompiled, loadHandler } from './load.ts';
import { ProgressValve } from './progress-valve.ts';
import {
  type CallJob,
  type CallOutcome,
  encodeFrame,
  type FromHost,
  type KeptCode,
  type ToHost,
} from './protocol.ts';

/**
 * Role `host`. Woken by frames of the agent (`load` once, then `run` again and again) and by what the handler
 * does. Never ends by itself: the agent ends it, or the closing of the channel.
 */
export function serveCalls(channel: Channel, monotonicMs: () => number): void {
  let handler: Handler | undefined;
  let current: Call | undefined;
  let tainted = false;
  const owner = new AsyncLocalStorage<Call>();

  channel.onFrame((frame) => {
    if (frame.t === 'load') void load(frame.file, frame.kept);
    else if (frame.t === 'run') run(frame.n, frame.job);
    else if (frame.t !== 'ping') current?.heard(frame);
  });

  async function load(file: string, kept: KeptCode | undefined): Promise<void> {
    const loaded = await loadHandler(file, kept);
    if (!loaded.ok) return channel.send({ t: 'not-loaded', file, problem: loaded.problem });
    handler = loaded.handler;
    channel.send({ t: 'loaded', file, declaration: loaded.handler.declaration });
  }

  function run(n: number, job: CallJob): void {
    if (handler === undefined) return;
    const call = new Call(n, channel, monotonicMs);
    current = call;
    const ready = handler;
    const over = () => {
      if (current === call) current = undefined;
      // What the handler imported when it was first needed.
      if (n === 1) setImmediate(keepCompiled);
    };
    // Out before the handler is called: where the agent has not heard it, the handler has not begun.
    channel.sendThen({ t: 'begun', n }, () => owner.run(call, () => call.start(ready, job, over)));
  }

  /**
   * What nobody caught. It belongs to the call in whose asynchronous context it happened; one without a context
   * is put down to the running call, which may wait for it in vain. One of an earlier call hurts nobody: the
   * agent takes another host as soon as this one is free.
   */
  const stray = (thrown: unknown) => {
    const by = owner.getStore();
    if (current !== undefined && (by === undefined || by === current)) current.crashed(thrown);
    // Once: something that throws in a loop must not flood the agent.
    if (!tainted) channel.send({ t: 'tainted', why: errorText(thrown) });
    tainted = true;
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
  process.prependListener('exit', () => channel.last());
  process.on('unhandledRejection', stray);
}

/** One call in this host: what it says goes out as frames with its number. */
class Call implements ContextDoor {
  readonly #n: number;
  readonly #channel: Channel;
  readonly #progress: ProgressValve;
  #running: RunningCall | undefined;
  #logBytes = 0;
  #logBytesDropped = 0;

  constructor(n: number, channel: Channel, monotonicMs: () => number) {
    this.#n = n;
    this.#channel = channel;
    this.#progress = new ProgressValve(
      (update) => channel.send({ t: 'progress', n, update }),
      monotonicMs,
    );
  }

  start(handler: Handler, job: CallJob, over: () => void): void {
    this.#running = startCall(handler, job, this);
    void this.#running.outcome.then((outcome) => {
      over();
      this.#progress.flush();
      this.#end(outcome);
    });
  }

  heard(frame: Exclude<ToHost, { t: 'load' | 'run' | 'ping' }>): void {
    if (frame.n !== this.#n) return;
    if (frame.t === 'stop') this.#running?.abort(frame.reason);
    else if (frame.t === 'more') this.#progress.more();
    else if (frame.refused === undefined) this.#running?.openGate();
    else this.#running?.refuseGate(frame.refused);
  }

  crashed(thrown: unknown): void {
    this.#running?.crashed(thrown);
  }

  progress(update: Parameters<ContextDoor['progress']>[0]): void {
    this.#progress.put(update);
  }

  log(...[level, text]: Parameters<ContextDoor['log']>): void {
    const bytes = Buffer.byteLength(text) + hostDefaults.logLineOverheadBytes;
    if (this.#logBytes + bytes > hostDefaults.logBytes) {
      this.#logBytesDropped += bytes;
      return;
    }
    this.#logBytes += bytes;
    this.#channel.send({ t: 'log', n: this.#n, level, text });
  }

  effectRequested(): void {
    this.#channel.send({ t: 'effect', n: this.#n });
  }

  #end(outcome: CallOutcome): void {
    let error: TaskFailure;
    try {
      const frame = encodeFrame(this.#endFrame(outcome));
      if (frame.length <= hostDefaults.resultBytes) {
        this.#channel.write(frame);
        return;
      }
      error = largeResult(frame.length, hostDefaults.resultBytes);
    } catch (cause) {
      error = unwritableResult(cause);
    }
    this.#channel.send(this.#endFrame({ how: 'threw', error }));
  }

  #endFrame(outcome: CallOutcome): FromHost {
    return { t: 'end', n: this.#n, outcome, logBytesDropped: this.#logBytesDropped };
  }
}
