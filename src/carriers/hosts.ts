/** Each job to the carrier that its handler asks for: a host of its own, or one that it shares. */
import type { Job, JobListener, RunningJob } from '../ports/carrier.ts';
import { createProcessCarrier } from './process.ts';
import type { ProcessCarrier, ProcessCarrierOptions } from './process-carrier.ts';
import { createSharedCarrier } from './shared.ts';
import { Suspects } from './suspects.ts';

/** Each kind has at most `maxHosts` processes; `startMs` and the like count for both. */
export function createHostCarrier(options: ProcessCarrierOptions): ProcessCarrier {
  const suspects = new Suspects();
  const own = createProcessCarrier(options);
  const shared = createSharedCarrier({ ...options, suspects });
  return routed(own, shared, suspects);
}

/** For tests too: with carriers of any kind. */
export function routed(
  own: ProcessCarrier,
  shared: ProcessCarrier,
  suspects: Suspects,
): ProcessCarrier {
  /** As any other that has a host of its own; seen to its end. */
  const alone = (job: Job, listener: JobListener): RunningJob => {
    const run = own.start(job, listener);
    void run.ended.then(({ how }) => {
      if (how !== 'died' && how !== 'killed' && how !== 'not-begun') suspects.clear(job.taskId);
    });
    return run;
  };
  return {
    start: (job, listener) => {
      if (job.sharesHost !== true) return own.start(job, listener);
      return suspects.has(job.taskId) ? alone(job, listener) : shared.start(job, listener);
    },
    prepare: () => own.prepare(),
    warm: (files) => own.warm(files),
    keepOnly: (codes) => {
      own.keepOnly(codes);
      shared.keepOnly(codes);
    },
    resize: (maxHosts) => {
      own.resize(maxHosts);
      shared.resize(maxHosts);
    },
    close: async () => {
      await Promise.all([own.close(), shared.close()]);
    },
  };
}
