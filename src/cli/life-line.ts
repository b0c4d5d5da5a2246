import type { Carrier, JobListener } from '../ports/carrier.ts';
import type { Io } from './command.ts';
import type { ChildMessage } from './dev/child.ts';

/**
 * The other end of `dev`'s channel, in the programs that it starts. In a program that somebody else started it is not
 * `active`, and `tell` does nothing.
 */
export interface LifeLine {
  readonly active: boolean;
  tell(message: ChildMessage): void;
}

/** @param onCut called once when `dev` is gone, however that came. */
export function lifeLine(io: Io, onCut: () => void): LifeLine {
  if (io.env.INTERLOCK_LIFE_LINE !== '1' || !process.send) return { active: false, tell: () => {} };
  if (process.connected) process.once('disconnect', onCut);
  else onCut();
  return {
    active: true,
    tell: (message) => {
      // A channel that is being cut is no fault of ours.
      if (process.connected) process.send?.(message, () => {});
    },
  };
}

/** The same carrier; `dev` is told the process id of each handler host that gets a task. */
export function tellHosts(carrier: Carrier, line: LifeLine): Carrier {
  if (!line.active) return carrier;
  return {
    close: () => carrier.close(),
    start: (job, listener) => {
      const heard: JobListener = {
        ...listener,
        begun: () => {
          if (run.pid !== undefined) line.tell({ host: run.pid });
          listener.begun();
        },
      };
      // The carrier calls its listener later than it returns.
      const run = carrier.start(job, heard);
      return run;
    },
  };
}
