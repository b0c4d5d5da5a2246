/**
 * The other end of the carrier `thread`: runs what comes over the port with a carrier of this thread (`inline`), and
 * sends what the handlers say. Whatever lies in the port is taken in one go, so that a stop that came while a handler
 * held this thread reaches its job before that job has begun.
 */
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import type { Carrier, Job, JobEnd, RunningJob, StopReason } from '../ports/carrier.ts';
import type { FromHandlers, ToHandlers } from './thread-words.ts';

export interface ServedJobs {
  readonly running: number;
  /** For when the agent is gone: tells all of them to stop. */
  stopAll(reason: StopReason): void;
  /** Resolves when none is running. */
  idle(): Promise<void>;
  /** Told of each that ends from now on, after its end was sent. One listener. */
  onEnded(tell: (job: Job, end: JobEnd) => void): void;
}

export function serveJobs(port: MessagePort, carrier: Carrier): ServedJobs {
  const running = new Map<number, RunningJob>();
  let ended = (_job: Job, _end: JobEnd) => {};
  const post = (message: FromHandlers) => port.postMessage(message);

  const run = ({ n, job }: Extract<ToHandlers, { t: 'run' }>) => {
    const started = carrier.start(job, {
      begun: () => post({ t: 'begun', n }),
      progress: (update) => post({ t: 'progress', n, update }),
      log: (lines) => post({ t: 'log', n, lines }),
      effectRequested: () => post({ t: 'effect', n }),
    });
    running.set(n, started);
    void started.ended.then((end) => {
      running.delete(n);
      tellEnd(n, end);
      ended(job, end);
    });
  };
  const tellEnd = (n: number, end: JobEnd) => {
    try {
      post({ t: 'end', n, end });
    } catch (error) {
      // What cannot be copied must not keep its slot for ever.
      const message = `What the handler said cannot be handed over: ${String(error)}`;
      post({
        t: 'end',
        n,
        end: { how: 'threw', error: { code: 'RESULT_INVALID', message, retryable: false } },
      });
    }
  };
  const take = (message: ToHandlers) => {
    if (message.t === 'run') return run(message);
    const job = running.get(message.n);
    // The other side times the stop.
    if (message.t === 'stop') job?.stop(message.reason, Number.POSITIVE_INFINITY);
    else if (message.refused === undefined) job?.openGate();
    else job?.refuseGate(message.refused);
  };
  port.on('message', (first: ToHandlers) => {
    take(first);
    for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port))
      take(next.message as ToHandlers);
  });

  return {
    get running() {
      return running.size;
    },
    stopAll(reason) {
      for (const job of running.values()) job.stop(reason, Number.POSITIVE_INFINITY);
    },
    async idle() {
      await Promise.all([...running.values()].map((one) => one.ended));
    },
    onEnded(tell) {
      ended = tell;
    },
  };
}
