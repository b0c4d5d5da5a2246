import { resolve, retry } from '../act.ts';
import { answer } from '../answer.ts';
import type { KeyedCall, Route } from '../call.ts';
import { noWorker } from '../task-of.ts';

export const operatorRoutes = {
  retryTask: retry,
  resolveTask: resolve,

  /** Asks the current session; a new one starts undrained. */
  async drainWorker({ services, key, params }: KeyedCall) {
    const { project } = key;
    const workerId = params.workerId ?? '';
    return services.store.write(async (tx) => {
      const worker = await tx.worker(project, workerId);
      if (!worker) return noWorker(workerId, project);
      if (worker.drainSessionId !== worker.sessionId)
        await tx.saveWorker({ ...worker, drainSessionId: worker.sessionId });
      tx.announce({ kind: 'drain', project, workerId });
      return answer({ workerId, drainRequested: true });
    });
  },
} satisfies Record<string, Route>;
