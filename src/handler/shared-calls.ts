import { AsyncLocalStorage } from 'node:async_hooks';
import type { Channel } from './channel.ts';
import type { Handler } from './declaration.ts';
import { errorText } from './failure.ts';
import { FrameBatch } from './frame-batch.ts';
import { HostCall } from './host-call.ts';
import { keepCompiled, loadHandler } from './load.ts';
import { printsGoTo } from './prints.ts';
import type { KeptCode } from './protocol.ts';

/**
 * Role `shared`. As role `host`, but any number of calls at a time. What belongs to a call is told by its asynchronous
 * context: what it prints, what it throws beside its promise, and that it was the one who ended the process.
 */
export function serveSharedCalls(channel: Channel, monotonicMs: () => number): void {
  let handler: Handler | undefined;
  let tainted = false;
  let compiled = false;
  let fresh: HostCall[] = [];
  const calls = new Map<number, HostCall>();
  const owner = new AsyncLocalStorage<HostCall>();
  const out = new FrameBatch((bytes) => channel.write(bytes));

  channel.onFrame((frame) => {
    switch (frame.t) {
      case 'load':
        void load(frame.file, frame.kept);
        break;
      case 'run': {
        const call = new HostCall(frame.n, frame.job, out, monotonicMs);
        calls.set(frame.n, call);
        // Taken together with the others of this piece.
        if (fresh.push(call) === 1) queueMicrotask(begin);
        break;
      }
      case 'ping':
        out.add({ t: 'pong' });
        break;
      case 'recall':
        break; // What it is given begins at once.
      default:
        calls.get(frame.n)?.heard(frame);
    }
  });

  async function load(file: string, kept: KeptCode | undefined): Promise<void> {
    const loaded = await loadHandler(file, kept);
    if (!loaded.ok) return channel.send({ t: 'not-loaded', file, problem: loaded.problem });
    handler = loaded.handler;
    channel.send({ t: 'loaded', file, declaration: loaded.handler.declaration });
  }

  function begin(): void {
    const taken = fresh;
    fresh = [];
    const ready = handler;
    if (ready === undefined) return;
    out.flush();
    // Out before any of them is called: where the agent has not heard it, the handler has not begun.
    channel.sendThen({ t: 'took', ns: taken.map(({ n }) => n) }, () => {
      for (const call of taken) owner.run(call, start, call, ready);
    });
  }

  function start(call: HostCall, ready: Handler): void {
    call.start(ready, ended);
  }

  function ended(call: HostCall): void {
    calls.delete(call.n);
    // With those that have settled together with it, and no later: the next one may end the process.
    out.soon();
    if (compiled) return;
    compiled = true;
    // What the handler imported when it was first needed.
    setImmediate(keepCompiled);
  }

  /**
   * What nobody caught. It belongs to the call in whose asynchronous context it happened; one without a context to the
   * only call there is. Else it is nobody's, and a call that waits for it in vain has its time limit. The agent gives
   * this host no further call.
   */
  const stray = (thrown: unknown) => {
    const by = owner.getStore() ?? (calls.size === 1 ? [...calls.values()][0] : undefined);
    if (by !== undefined && !by.over) by.crashed(thrown);
    // Once: something that throws in a loop must not flood the agent.
    if (!tainted) channel.send({ t: 'tainted', why: errorText(thrown) });
    tainted = true;
  };
  process.on('uncaughtException', stray);
  process.on('unhandledRejection', stray);

  const exit = process.exit.bind(process);
  process.exit = (code) => {
    // What a call has left running must not end those of others with it.
    if (owner.getStore()?.over)
      throw new Error('process.exit() was called for a task that is over');
    return exit(code);
  };
  process.prependListener('exit', () => {
    const by = owner.getStore();
    // What has ended before is not to be run again.
    out.flush();
    if (by !== undefined && !by.over) channel.send({ t: 'exits', n: by.n });
    channel.last();
  });

  printsGoTo(() => owner.getStore());
}
