import type { PageRoute } from './page.ts';
import { submitRoutes } from './submit.ts';
import { taskTypesRoutes } from './task-types.ts';
import { tasksRoutes } from './tasks.ts';
import { workersRoutes } from './workers.ts';

/** Pages of who looks, one list each. Those that ask nobody (sign-in, failures, assets) are in `pages.ts`. */
export const routes: readonly PageRoute[] = [
  ...tasksRoutes,
  ...taskTypesRoutes,
  ...workersRoutes,
  ...submitRoutes,
];
