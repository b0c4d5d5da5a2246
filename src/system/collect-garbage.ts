import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * All that this process can do without goes back to the machine: garbage, what waits for it outside of V8's heap, and the space
 * for young objects, which grows with work and would stay. It holds the thread for some 25 ms.
 *
 * V8 collects once or twice more in the seconds after, for nothing. Let it: the flag that says otherwise
 * (`--memory-reducer-gc-count`) ends the process where V8 is in the middle of that when it is set.
 *
 * V8 gives its collector to new contexts only, while a flag says so. Flags are for when nothing more is loaded: with one that is
 * set later Node.js takes none of the compiled code that it carries of itself.
 */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect: (how: object) => void = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
