import { isatty } from 'node:tty';
import { workerDefaults } from '../core/defaults.ts';
import type { Clock } from '../ports/clock.ts';
import type { Worker } from '../worker/worker.ts';
import { exitCode } from './exit-codes.ts';

/** Stop signals of a worker, taken from the first moment on: one that comes while it starts is not lost. */
export interface WorkerSignals {
  /** The worker to tell; what came before is told now. */
  worker(worker: Pick<Worker, 'signal'>): void;
  /**
   * Who reads config, key and handlers again on SIGHUP; one that came before is told now. Only where there is no terminal:
   * a terminal sends it when it is closed, and then the worker drains.
   */
  reload(request: () => void): void;
  /** `dev` is gone: as two signals, so that handlers are stopped and kept rather than waited for. */
  cut(): void;
}

/** @param terminal one of our own on stdin, stdout or stderr. On Windows SIGHUP always is that of a console that is closed. */
export function takeSignals(
  clock: Clock,
  terminal = [0, 1, 2].some((fd) => isatty(fd)) || process.platform === 'win32',
): WorkerSignals {
  let told: Pick<Worker, 'signal'> | undefined;
  let reload: (() => void) | undefined;
  let reloadWanted = false;
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
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, onSignal);
  process.on('SIGHUP', () => {
    if (terminal) onSignal();
    else if (reload) reload();
    else reloadWanted = true;
  });
  return {
    worker: (worker) => {
      told = worker;
      if (early > 0) worker.signal();
    },
    reload: (request) => {
      reload = request;
      if (reloadWanted) request();
    },
    cut: () => {
      onSignal();
      clock.timer(workerDefaults.signalGapMs * 1.1, onSignal);
    },
  };
}
