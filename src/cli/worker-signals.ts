import { workerDefaults } from '../core/defaults.ts';
import type { Clock } from '../ports/clock.ts';
import type { Worker } from '../worker/worker.ts';
import { exitCode } from './exit-codes.ts';

/** Stop signals of a worker, taken from the first moment on: one that comes while it starts is not lost. */
export interface WorkerSignals {
  /** The worker to tell; what came before is told now. */
  worker(worker: Pick<Worker, 'signal'>): void;
  /** `dev` is gone: as two signals, so that handlers are stopped and kept rather than waited for. */
  cut(): void;
}

export function takeSignals(clock: Clock): WorkerSignals {
  let told: Pick<Worker, 'signal'> | undefined;
  let early = 0;
  let earlyAt = Number.NEGATIVE_INFINITY;
  const onSignal = () => {
    if (told) {
      told.signal();
      return;
    }
    if (clock.now() - earlyAt < workerDefaults.signalGapMs) return;
    earlyAt = clock.now();
    early++;
    // Nothing runs yet that could be lost.
    if (early >= 2) process.exit(exitCode('forced-stop'));
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, onSignal);
  return {
    worker: (worker) => {
      told = worker;
      if (early > 0) worker.signal();
    },
    cut: () => {
      onSignal();
      clock.timer(workerDefaults.signalGapMs * 1.1, onSignal);
    },
  };
}
