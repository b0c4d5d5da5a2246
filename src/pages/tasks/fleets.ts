import type { Problem } from '../../contract/problems.ts';
import type { WorkerView } from '../../contract/service.ts';
import { controlPlaneDefaults } from '../../core/defaults.ts';
import type { Fleet } from '../../core/near-misses.ts';
import { taskPageDefaults } from '../../core/task-page-defaults.ts';
import type { WorkerFacts } from '../../core/waiting-for.ts';
import type { WorkerSight } from '../../ports/store.ts';
import type { PageRequest } from '../page.ts';

/** Who could run a task: the project's workers, and those of the other projects that who looks may switch to. */

export type Known =
  | { readonly ok: true; readonly workers: readonly WorkerFacts[] }
  | { readonly ok: false; readonly problem: Problem };

export async function ownWorkers(request: PageRequest): Promise<Known> {
  const list = await request.call('listWorkers');
  if (!list.ok) return list;
  return { ok: true, workers: list.value.workers.map((worker) => factsOf(worker, request.nowMs)) };
}

export async function fleetsOf(
  { reads, project, who, nowMs }: PageRequest,
  own: readonly WorkerFacts[],
): Promise<readonly Fleet[]> {
  const others = who.projects
    .filter((other) => other !== project)
    .slice(0, taskPageDefaults.otherProjects);
  const fleets = await Promise.all(
    others.map(async (other) => ({
      project: other,
      workers: (await reads.workers(other)).map((sight) => sightFacts(sight, nowMs)),
    })),
  );
  return [{ project, workers: own }, ...fleets];
}

function factsOf(worker: WorkerView, nowMs: number): WorkerFacts {
  const { workerId, state, pools, handlers, notClaiming, pausedTypes, stuck, lastSeenAt } = worker;
  const { unservedHandlers } = worker;
  return {
    workerId,
    state: state as WorkerFacts['state'],
    pools,
    types: handlers,
    notClaiming,
    pausedTypes,
    unserved: unservedHandlers,
    stuck: stuck?.length,
    quietMs: Math.max(0, nowMs - Date.parse(lastSeenAt)),
  };
}

function sightFacts({ worker, handlers }: WorkerSight, nowMs: number): Fleet['workers'][number] {
  const { present, lastSeenMs, workerId } = worker;
  const offline =
    present?.state === 'offline' || nowMs - lastSeenMs > controlPlaneDefaults.offlineAfterMs;
  return {
    workerId,
    state: offline ? 'offline' : 'ready',
    pools: present?.pools ?? [],
    types: handlers,
  };
}
