import { controlPlaneDefaults } from '../../core/defaults.ts';
import type { QueueGroup, WorkerSight } from '../../ports/store.ts';
import { answer } from '../answer.ts';
import type { KeyedCall, Route } from '../call.ts';
import { noWorker } from '../task-of.ts';
import { instantText } from '../task-view.ts';
import { condition } from '../worker-facts.ts';
import { endedKeys } from '../worker-key.ts';
import { troubles, workerView } from '../worker-view.ts';

export const operationsRoutes = {
  async doctor({ services, key }: KeyedCall) {
    const { store, hub, timing } = services;
    const nowMs = await store.nowMs();
    const [groups, sights] = await Promise.all([
      store.queue(key.project),
      store.workers(key.project),
    ]);
    const workers = { ready: 0, full: 0, draining: 0, offline: 0 };
    for (const sight of sights) workers[condition(nowMs, sight, timing.offlineAfterMs).state]++;
    const keys = await endedKeys(
      store,
      nowMs,
      sights.map(({ worker }) => worker),
    );
    return answer({
      serverTime: instantText(nowMs),
      project: key.project,
      keyKind: key.kind,
      keyExpiresAt: instantText(key.expiresAtMs),
      queueDepth: groups.reduce((sum, { queued }) => sum + queued, 0),
      oldestQueuedMs: waited(nowMs, oldest(groups)),
      workers,
      outboxDebt: hub.debt,
      troubles: sights
        .flatMap((sight) => {
          const { workerId } = sight.worker;
          const key = keys.get(workerId);
          // Nobody hears what it says; that, it does not know to tell.
          if (key !== undefined) return [{ workerId, says: key }];
          // One that is offline is not asked.
          if (condition(nowMs, sight, timing.offlineAfterMs).state === 'offline') return [];
          return troubles(nowMs, sight).map((says) => ({ workerId, says }));
        })
        .slice(0, controlPlaneDefaults.troublesTold),
    });
  },

  async listWorkers({ services, key }: KeyedCall) {
    const { store, timing } = services;
    const nowMs = await store.nowMs();
    const sights = await store.workers(key.project);
    const views = sights.map((sight) => workerView(store, nowMs, sight, timing.offlineAfterMs));
    return answer({ workers: await Promise.all(views) });
  },

  async getWorker({ services, key, params }: KeyedCall) {
    const { store, timing } = services;
    const { project } = key;
    const workerId = params.workerId ?? '';
    const worker = await store.worker(project, workerId);
    if (!worker) return noWorker(workerId, project);
    const [nowMs, handlers, openAttempts] = await Promise.all([
      store.nowMs(),
      store.handlers(project, workerId),
      store.countOpenAttempts(project, workerId),
    ]);
    const sight = { worker, handlers, openAttempts };
    return answer(await workerView(store, nowMs, sight, timing.offlineAfterMs));
  },

  async listTypes({ services, key }: KeyedCall) {
    const { store, timing } = services;
    const nowMs = await store.nowMs();
    const [groups, sights] = await Promise.all([
      store.queue(key.project),
      store.workers(key.project),
    ]);
    const online = sights.filter(
      (sight) => condition(nowMs, sight, timing.offlineAfterMs).state !== 'offline',
    );
    return answer({ types: typeViews(nowMs, groups, online) });
  },
} satisfies Record<string, Route>;

interface Gathered {
  readonly type: string;
  readonly schemaVersion: number;
  readonly waiting: QueueGroup[];
  readonly serving: {
    readonly sight: WorkerSight;
    readonly handler: WorkerSight['handlers'][number];
  }[];
}

function typeViews(
  nowMs: number,
  groups: readonly QueueGroup[],
  online: readonly WorkerSight[],
): object[] {
  // Each group and handler is looked at once: a project may have thousands of types.
  const names = new Map<string, Gathered>();
  const gathered = ({ type, schemaVersion }: Pick<Gathered, 'type' | 'schemaVersion'>) => {
    const name = `${type}@${schemaVersion}`;
    const found = names.get(name) ?? { type, schemaVersion, waiting: [], serving: [] };
    names.set(name, found);
    return found;
  };
  for (const group of groups) gathered(group).waiting.push(group);
  for (const sight of online)
    for (const handler of sight.handlers) gathered(handler).serving.push({ sight, handler });
  return [...names.keys()].sort().map((name) => {
    const { type, schemaVersion, waiting, serving: served } = names.get(name) as Gathered;
    const serving = [...new Set(served.map(({ sight }) => sight))];
    const handlers = served.map(({ handler }) => handler);
    const pools = [
      ...waiting.map(({ pool }) => pool),
      ...serving.flatMap(({ worker }) => worker.present?.pools ?? []),
    ];
    return {
      type,
      schemaVersion,
      pools: [...new Set(pools)].sort(),
      queued: waiting.reduce((sum, group) => sum + group.queued, 0),
      running: waiting.reduce((sum, group) => sum + group.running, 0),
      oldestQueuedMs: waited(nowMs, oldest(waiting)),
      workers: serving.map(({ worker }) => worker.workerId),
      slots: serving.reduce((sum, { worker }) => sum + (worker.present?.slots.max ?? 0), 0),
      effectSafety: [...new Set(handlers.map(({ effectSafety }) => effectSafety))],
      inputSchema: handlers.find(({ inputSchema }) => inputSchema !== undefined)?.inputSchema,
    };
  });
}

function oldest(groups: readonly QueueGroup[]): number | undefined {
  const instants = groups.flatMap(({ oldestQueuedAtMs }) => oldestQueuedAtMs ?? []);
  return instants.length === 0 ? undefined : Math.min(...instants);
}

const waited = (nowMs: number, sinceMs: number | undefined): number | null =>
  sinceMs === undefined ? null : Math.max(0, nowMs - sinceMs);
