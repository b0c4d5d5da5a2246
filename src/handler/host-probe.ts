import type { Channel } from './channel.ts';
import { keepCompiled, loadHandler } from './load.ts';

/**
 * Role `probe`. Woken by `load` frames, which may come all at once: modules that wait do not hold up the others.
 * Answers each with what the module declares or why it cannot be served. A file that hangs or ends the process
 * is found out by the agent's clock.
 */
export function serveProbes(channel: Channel): void {
  channel.onFrame((frame) => {
    if (frame.t === 'load') void probe(channel, frame.file, frame.alone ?? false);
  });
  // What a module leaves behind (a timer that throws) is no fault of the next one.
  process.on('uncaughtException', ignore);
  process.on('unhandledRejection', ignore);
}

async function probe(channel: Channel, file: string, alone: boolean): Promise<void> {
  const loaded = await loadHandler(file);
  keepCompiled();
  if (loaded.ok) {
    channel.send({ t: 'loaded', file, declaration: loaded.handler.declaration });
    return;
  }
  const unplaced = loaded.unplaced !== undefined;
  channel.send({ t: 'not-loaded', file, problem: loaded.problem, unplaced });
  if (!unplaced || !alone) return;
  process.off('uncaughtException', ignore);
  setImmediate(() => {
    throw loaded.unplaced;
  });
}

function ignore(): void {}
