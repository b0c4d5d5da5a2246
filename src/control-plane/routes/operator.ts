import { resolve, retry } from '../act.ts';
import { answer, isRefusal } from '../answer.ts';
import { beyondKey } from '../auth.ts';
import type { KeyedCall, Route } from '../call.ts';
import { noWorker } from '../task-of.ts';

export const operatorRoutes = {
  retryTask: retry,
  resolveTask: resolve,

  /** Asks the current session; a new one starts undrained. */
  async drainWorker({ services, key, params }: KeyedCall) {
    const { project } = key;
    const workerId = params.workerId ?? '';
    const beyond = beyondKey(key, { workerId: ['workerId', workerId] });
    if (beyond) return beyond;
    const done = await services.store.write(async (tx) => {
      const worker = await tx.worker(project, workerId);
      if (!worker) return noWorker(workerId, project);
      const handlers = await tx.handlers(project, workerId);
      // It stops for all that it serves.
      const past = beyondKey(key, {
        pools: (worker.present?.pools ?? []).map((pool) => ['a pool of the worker', pool]),
        types: handlers.map((h) => ['a type of the worker', h.type, h.schemaVersion]),
      });
      if (past) return past;
      if (worker.drainSessionId !== worker.sessionId)
        await tx.saveWorker({ ...worker, drainSessionId: worker.sessionId });
      tx.announce({ kind: 'drain', project, workerId });
      return answer({ workerId, drainRequested: true });
    });
    // It is of no task, so no journal tells it.
    if (!isRefusal(done))
      services.log.info(
        'worker.drain-asked',
        `Worker ${workerId} was asked to drain by ${key.id} ("${key.name}").`,
        { workerId, project, by: key.id },
      );
    return done;
  },
} satisfies Record<string, Route>;
