import type { Io } from './command.ts';
import type { ChildMessage } from './dev/child.ts';

/**
 * The other end of `dev`'s channel, in the programs that it starts. `tell` does nothing in a program that was started
 * by somebody else.
 */
export interface LifeLine {
  tell(message: ChildMessage): void;
}

/** @param onCut called once when `dev` is gone, however that came. */
export function lifeLine(io: Io, onCut: () => void): LifeLine {
  if (io.env.INTERLOCK_LIFE_LINE !== '1' || !process.send) return { tell: () => {} };
  process.once('disconnect', onCut);
  return {
    tell: (message) => {
      // A channel that is being cut is no fault of ours.
      if (process.connected) process.send?.(message, () => {});
    },
  };
}
