import { typeKey } from '../contract/type-key.ts';
import type { PresenceRequest } from '../contract/worker-calls.ts';
import type { KeyRow, WorkerRow } from '../ports/store.ts';
import { isRefusal, type Refusal } from './answer.ts';
import { beyondKey } from './auth.ts';
import type { Services } from './services.ts';
import { enterSession } from './sessions.ts';

export interface Presented {
  readonly worker: WorkerRow;
  readonly needHandlers: boolean;
  readonly nowMs: number;
}

/** A worker says who and how it is. Nothing is decided by it: it is for people and for hints. */
export async function present(
  { store, timing, hub, waiting }: Services,
  key: KeyRow,
  workerId: string,
  request: PresenceRequest,
): Promise<Presented | Refusal> {
  const beyond = beyondKey(key, {
    workerId: ['workerId', workerId],
    pools: request.pools.map((pool, i) => [`pools[${i}]`, pool]),
    types: (request.handlers ?? []).map((handler, i) => [
      `handlers[${i}].type`,
      handler.type,
      handler.schemaVersion,
    ]),
  });
  if (beyond) return beyond;
  return store.write(async (tx) => {
    const entered = await enterSession(tx, key, { ...request, workerId }, timing);
    if (isRefusal(entered)) return entered;
    const known = entered.worker.present?.handlersHash === request.handlersHash;
    const needHandlers = request.handlers === undefined && !known;
    const worker: WorkerRow = {
      ...entered.worker,
      lastSeenMs: tx.nowMs,
      present: {
        atMs: tx.nowMs,
        state: request.state,
        slots: request.slots,
        pools: request.pools,
        versions: request.versions,
        spool: request.spool,
        notClaiming: request.notClaiming,
        pausedTypes: request.pausedTypes,
        keptHandlers: request.keptHandlers,
        unservedHandlers: request.unservedHandlers,
        stuck: request.stuck,
        handlersHash: needHandlers ? undefined : request.handlersHash,
        clockOffsetMs:
          request.sentAt === undefined ? undefined : Date.parse(request.sentAt) - tx.nowMs,
        openAttempts: await tx.countOpenAttempts(key.project, workerId),
      },
    };
    await tx.saveWorker(worker);
    const going = request.state === 'draining' || request.state === 'offline';
    // A claim of its own that still waits would get what nobody is there for.
    if (going)
      waiting.replace({ project: key.project, workerId, sessionId: request.sessionId }, undefined);
    if (request.handlers) await tx.saveHandlers(key.project, workerId, request.handlers);
    tx.announce({ kind: 'worker', project: key.project, workerId });
    hub.learn(
      key.project,
      { ...request, workerId },
      {
        pools: new Set(request.pools),
        ...(request.handlers
          ? { types: new Set(request.handlers.map((h) => typeKey(h.type, h.schemaVersion))) }
          : {}),
        freeSlots: Math.max(0, request.slots.max - request.slots.busy),
        draining: worker.drainSessionId === worker.sessionId || going,
      },
    );
    return { worker, needHandlers, nowMs: tx.nowMs };
  });
}
