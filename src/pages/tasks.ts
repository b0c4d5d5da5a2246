import type { PageRoute } from './page.ts';
import { actionRoutes } from './tasks/action-routes.ts';
import { fileRoutes } from './tasks/files.ts';
import { listRoute } from './tasks/list-route.ts';
import { taskRoute } from './tasks/task-route.ts';

/** Tasks: the list, one task, and what people do to it. */
export const tasksRoutes: readonly PageRoute[] = [
  listRoute,
  taskRoute,
  ...fileRoutes,
  ...actionRoutes,
];
