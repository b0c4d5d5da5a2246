import type { Channel } from './channel.ts';
import { loadHandler } from './load.ts';

/**
 * Role `probe`. Woken by `load` frames, one file after the other; answers each with what the module declares or
 * why it cannot be served. A file that hangs or ends the process is found out by the agent's clock.
 */
export function serveProbes(channel: Channel): void {
  channel.onFrame((frame) => {
    if (frame.t === 'load') void probe(channel, frame.file);
  });
  // Whatever a module leaves behind (a timer that throws) is no fault of the next one.
  process.on('uncaughtException', () => {});
  process.on('unhandledRejection', () => {});
}

async function probe(channel: Channel, file: string): Promise<void> {
  const loaded = await loadHandler(file);
  if (loaded.ok) {
    channel.send({ t: 'loaded', declaration: loaded.handler.declaration });
    return;
  }
  channel.send({ t: 'not-loaded', problem: loaded.problem });
  if (loaded.unplaced === undefined) return;
  // Only the runtime's own printing of an uncaught error shows the line of a syntax error; the agent reads it.
  process.removeAllListeners('uncaughtException');
  setImmediate(() => {
    throw loaded.unplaced;
  });
}
