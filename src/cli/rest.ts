import { restDefaults } from '../core/rest-defaults.ts';
import type { Carrier } from '../ports/carrier.ts';
import type { Clock, Timer } from '../ports/clock.ts';

/**
 * The same carrier; when no task has come for a while `rest` is called: once after the start, and after work that was enough to
 * leave something behind. Nothing wakes for it in a worker that has nothing to do.
 */
export function restsAfter(carrier: Carrier, clock: Clock, rest: () => void): Carrier {
  const { afterMs, apartMs, jobsMin } = restDefaults;
  let jobs = 0;
  let lastJobAt = clock.now();
  let restedAt = Number.NEGATIVE_INFINITY;
  let timer: Timer | undefined;
  let closed = false;
  const dueAt = () => Math.max(lastJobAt + afterMs, restedAt + apartMs);
  const arm = () => {
    const due = () => {
      timer = undefined;
      if (clock.now() < dueAt()) return arm();
      jobs = 0;
      restedAt = clock.now();
      rest();
    };
    timer = clock.timer(dueAt() - clock.now(), due, 'patient');
  };
  arm();
  return {
    ...(carrier.inProgram && { inProgram: true }),
    start: (job, listener) => {
      lastJobAt = clock.now();
      if (++jobs >= jobsMin && timer === undefined && !closed) arm();
      return carrier.start(job, listener);
    },
    close: () => {
      closed = true;
      timer?.cancel();
      return carrier.close();
    },
  };
}
