/**
 * The other end of the carrier `thread`: runs what comes over the port with a carrier of this thread (`inline`), and
 * sends what the handlers say. Whatever lies in the port is taken in one go, so that a stop that came while a handler
 * held this thread reaches its job before that job has begun.
 */
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { PassingMap } from '../core/passing-map.ts';
import type { Carrier, Job, JobEnd, RunningJob, StopReason } from '../ports/carrier.ts';
import type { Clock } from '../ports/clock.ts';
import { ThreadBatch } from './thread-batch.ts';
import type { BegunCount, FromHandlers, ToHandlers } from './thread-words.ts';

export interface ServedJobs {
  readonly running: number;
  /** For when the agent is gone: tells all of them to stop. */
  stopAll(reason: StopReason): void;
  /** Resolves when none is running. */
  idle(): Promise<void>;
  /** Told of each that ends from now on, its end being on its way. One listener. */
  onEnded(tell: (job: Job, end: JobEnd) => void): void;
}

export function serveJobs(
  port: MessagePort,
  carrier: Carrier,
  begun: BegunCount,
  clock: Clock,
): ServedJobs {
  const running = new PassingMap<number, RunningJob>();
  let ended = (_job: Job, _end: JobEnd) => {};
  const out = new ThreadBatch<FromHandlers>(port, instead);
  let endWaits = false;
  /** At once: the handler may hold this thread right after it. */
  const say = (message: FromHandlers) => {
    out.add(message);
    out.flush();
  };

  const run = ({ n, job }: Extract<ToHandlers, { t: 'run' }>) => {
    let begunAt: number | undefined;
    const started = carrier.start(job, {
      begun: () => {
        begunAt = clock.now();
        // This one may hold the thread: the others are over all the same.
        if (endWaits) out.flush();
        endWaits = false;
        begun.tell(n);
        out.add({ t: 'begun', n });
      },
      progress: (update) => say({ t: 'progress', n, update }),
      log: (lines) => say({ t: 'log', n, lines }),
      effectRequested: () => say({ t: 'effect', n }),
    });
    running.set(n, started);
    void started.ended.then((end) => {
      running.delete(n);
      const took = begunAt === undefined ? {} : { tookMs: clock.now() - begunAt };
      out.add({ t: 'end', n, end, ...took });
      endWaits = true;
      ended(job, end);
    });
  };
  const take = (message: ToHandlers) => {
    if (message.t === 'run') return run(message);
    const job = running.get(message.n);
    // The other side times the stop.
    if (message.t === 'stop') job?.stop(message.reason, Number.POSITIVE_INFINITY);
    else if (message.refused === undefined) job?.openGate();
    else job?.refuseGate(message.refused);
  };
  port.on('message', (first: readonly ToHandlers[]) => {
    first.forEach(take);
    for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port))
      (next.message as readonly ToHandlers[]).forEach(take);
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

/** What cannot be copied must not keep its slot for ever. */
function instead(message: FromHandlers, error: unknown): FromHandlers | undefined {
  if (message.t !== 'end') return undefined;
  const why = `What the handler said cannot be handed over: ${String(error)}`;
  const failure = { code: 'RESULT_INVALID', message: why, retryable: false };
  return { t: 'end', n: message.n, end: { how: 'threw', error: failure } };
}
