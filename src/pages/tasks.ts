import type { PageRoute } from './page.ts';
import { listRoute } from './tasks/list-route.ts';

/** Tasks: the list, one task, and what people do to it. */
export const tasksRoutes: readonly PageRoute[] = [listRoute];
