import type { TaskRow } from '../ports/store.ts';
import { type Refusal, refusal } from './answer.ts';
import type { KeyedCall } from './call.ts';

/** The task that the address names, of the key's project; another project's is no task here. */
export async function taskOf({ services, key, params }: KeyedCall): Promise<TaskRow | Refusal> {
  const id = params.id ?? '';
  return (await services.store.task(key.project, id)) ?? noTask(id, key.project);
}

export function noTask(id: string, project: string): Refusal {
  return refusal('NOT_FOUND', `There is no task ${id.slice(0, 100)} in project ${project}.`, {
    kind: 'task',
    project,
  });
}

export function noWorker(workerId: string, project: string): Refusal {
  return refusal(
    'NOT_FOUND',
    `There is no worker ${workerId.slice(0, 200)} in project ${project}.`,
    { kind: 'worker', project },
  );
}
