import { controlPlaneDefaults } from '../../core/defaults.ts';
import type { FailureGroup, Reads, TaskRow } from '../../ports/store.ts';
import { key, type Tables } from './tables.ts';

/** What a page about tasks counts and groups. */
export function attentionReads(
  t: Tables,
  taskByRef: (ref: number) => TaskRow | undefined,
): Pick<Reads, 'countTasks' | 'failureGroups' | 'losingTasks'> {
  const newestFirst = (project: string) =>
    t.tasks
      .values()
      .filter(({ task }) => task.project === project)
      .sort((a, b) => (a.task.id < b.task.id ? 1 : -1));
  return {
    async countTasks(project, status, atMost) {
      const all = newestFirst(project).filter(({ task }) => task.status === status);
      return Math.min(all.length, atMost);
    },
    async failureGroups(project, among, sinceMs) {
      const groups = new Map<string, FailureGroup>();
      const failed = newestFirst(project).filter(({ task }) => task.status === 'failed');
      for (const { task, attention } of failed.slice(0, among)) {
        if (attention || (task.finishedAtMs ?? 0) < sinceMs) continue;
        const { type, schemaVersion } = task;
        const code = task.error?.code ?? '';
        const name = key(type, schemaVersion, code);
        const group = groups.get(name) ?? {
          type,
          schemaVersion,
          code,
          tasks: 0,
          newestId: task.id,
        };
        groups.set(name, { ...group, tasks: group.tasks + 1 });
      }
      return [...groups.values()];
    },
    async losingTasks(project, limit) {
      return newestFirst(project)
        .filter(
          ({ task }) =>
            task.losses >= controlPlaneDefaults.losingFrom &&
            (task.status === 'queued' || task.status === 'running'),
        )
        .slice(0, limit)
        .map(({ ref }) => taskByRef(ref) as TaskRow);
    },
  };
}
