import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * All that this process can do without goes back to the machine: garbage, what waits for it outside of V8's heap, and the space
 * for young objects, which grows with work and would stay. It holds the thread for some 25 ms.
 *
 * V8's own look at an idle process would collect once or twice more in the seconds after, for nothing: `bin/` starts agents without it
 * (`--no-memory-reducer`). Where it is there, let it: a flag that forbids it now (`--memory-reducer-gc-count`) ends the process where
 * V8 is in the middle of that.
 *
 * Compiled code that is not running goes too: most of it was for the start, and what is needed again is compiled again.
 *
 * V8 gives its collector to new contexts only, while a flag says so. Flags are for when nothing more is loaded: with one that is
 * set later Node.js takes none of the compiled code that it carries of itself.
 */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect: (how: object) => void = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  // This collects twice: code that did not run between the two is old then.
  setFlagsFromString('--bytecode-old-age=1');
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  setFlagsFromString(`--bytecode-old-age=${OLD_AGE}`);
}

/** As V8 has it. */
const OLD_AGE = 6;
