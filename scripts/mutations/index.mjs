import { controlPlane } from './control-plane.mjs';
import { diskAndWire } from './disk-and-wire.mjs';
import { kept } from './kept.mjs';
import { producer } from './producer.mjs';
import { worker } from './worker.mjs';

/**
 * Bugs that must never slip through. A new one is one entry:
 * - `find` stands exactly once in `file`: a list that no longer fits the code is an error, not a pass;
 * - `worlds` [all] says where the simulator looks for it, `faults` [those of the world] what goes wrong there, so that it
 *   shows soon; `unseen` says why it cannot see it, and then it does not look;
 * - `tests` are the files that have to turn red, as words for vitest.
 */
export const mutations = [...worker, ...diskAndWire, ...controlPlane, ...kept, ...producer];
