/** A broken worker before the kit for workers. */
import { join } from 'node:path';

/** How long the kit waits for what does not come: a sound worker needs a few seconds. */
const PATIENCE = '12s';

/** The command line of a kit run against the programs in `folder`, without the program itself. */
export async function kitArguments({ root, folder, only }) {
  const command = [process.execPath, ...programArguments(root, folder)];
  return {
    args: ['conformance', 'worker', '--json', '--patience', PATIENCE, ...only, '--', ...command],
    // Nothing of it has to be ended afterwards.
    close: async () => {},
  };
}

/** The peer alone: `node <these>`. */
export function programArguments(root, folder) {
  const handlers = join(root, 'samples/conformance-handlers');
  return [join(folder, 'interlock-worker.js'), '--handlers', handlers];
}
