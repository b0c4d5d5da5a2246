import { TaskError } from '../contract/errors.ts';
import { doctorAnswer } from '../contract/service.ts';
import type { KeySource } from '../wire/key.ts';
import { openDoors } from './doors.ts';
import type { WorkerCall } from './worker-agent.ts';

/** Rejects with `PROJECT_MISMATCH`. A control plane that does not answer now is no reason not to start. */
export async function checkProject({ io, settings }: WorkerCall, key: KeySource): Promise<void> {
  const { project, from } = settings;
  await using doors = openDoors({ io, settings });
  const call = { method: 'GET', path: '/doctor', statuses: [200], schema: doctorAnswer } as const;
  const answer = await doors.open(key).call(call);
  if (answer.kind !== 'ok' || answer.value.project === project) return;
  throw new TaskError(
    'PROJECT_MISMATCH',
    `The key belongs to project "${answer.value.project}", and ${from.project} says "${project}".`,
    { hint: `Use a task-worker key of "${project}", or leave the project out.` },
  );
}
