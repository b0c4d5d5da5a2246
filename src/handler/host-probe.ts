import type { Channel } from './channel.ts';
import { keepCompiled, loadHandler } from './load.ts';
import { type ModuleGraph, recordModules } from './module-graph.ts';
import type { LoadedCode } from './protocol.ts';
import { keepCode } from './snapshot.ts';

/**
 * Role `probe`. Says `pong` once it has come up. Woken by `load` frames, which may come all at once: modules that wait do not hold up the others.
 * Answers each with what the module declares or why it cannot be served. A file that hangs or ends the process
 * is found out by the agent's clock. Where a folder is named for it, the code of each that loads is kept there.
 */
export function serveProbes(channel: Channel): void {
  // It has come up: from here on its time is that of the files.
  channel.send({ t: 'pong' });
  let graph: ModuleGraph | undefined;
  channel.onFrame((frame) => {
    if (frame.t === 'ping') return channel.send({ t: 'pong' });
    if (frame.t !== 'load') return;
    const { file, alone = false, keepIn } = frame;
    if (keepIn !== undefined) graph ??= recordModules();
    void probe(channel, file, alone, () => {
      const modules = graph?.of(file);
      return modules && keepIn !== undefined ? keepCode(modules, keepIn) : undefined;
    });
  });
  // What a module leaves behind (a timer that throws) is no fault of the next one.
  process.on('uncaughtException', ignore);
  process.on('unhandledRejection', ignore);
}

async function probe(
  channel: Channel,
  file: string,
  alone: boolean,
  keep: () => LoadedCode | undefined,
): Promise<void> {
  const loaded = await loadHandler(file);
  keepCompiled();
  if (loaded.ok) {
    const { declaration } = loaded.handler;
    const code = keep();
    const { warnings } = loaded;
    channel.send({
      ...{ t: 'loaded', file, declaration },
      ...(code && { code }),
      ...(warnings && { warnings }),
    });
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
