import { bounds, type TaskList, taskList } from '../../contract/index.ts';
import { type Check, warn } from './check.ts';
import type { Reader } from './hints.ts';

/** Tasks that wait for a person, as the control plane tells them; `undefined` where no key may look, or nobody answers. */
export async function readUndecided(reader: Reader | undefined): Promise<TaskList | undefined> {
  const answer = await reader?.door.call({
    method: 'GET',
    path: '/tasks',
    query: { needs: 'attention', limit: bounds.pageMax },
    statuses: [200],
    schema: taskList,
  });
  return answer?.kind === 'ok' ? answer.value : undefined;
}

/** One line for all of them, with the command for one: nothing else ever ends them. */
export function checkUndecided(waiting: TaskList | undefined): Check[] {
  const [one] = waiting?.tasks ?? [];
  if (!waiting || !one) return [];
  const { length } = waiting.tasks;
  const many = waiting.cursor === undefined ? `${length}` : `${length} or more`;
  const needs =
    many === '1' ? '1 task needs a decision' : `${many} tasks need a decision, one of them`;
  const as = one.lateReport ? 'late-report' : 'succeeded';
  const all = length === 1 ? '' : ' All of them: interlock tasks list --needs-attention';
  return [
    warn(
      'decisions',
      `${needs}: ${one.id}`,
      `Look whether its effect took place, then: interlock tasks resolve ${one.id} --as ${as} --reason "…" (or --as failed, or --as retry).${all}`,
    ),
  ];
}
