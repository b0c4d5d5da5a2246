import { html } from './html.ts';
import type { PageRoute } from './page.ts';

export const taskTypesRoutes: readonly PageRoute[] = [
  {
    method: 'GET',
    path: '/task-types',
    answer: async () => ({
      page: { title: 'Task types', nav: 'task-types', live: true, main: html`<h1>Task types</h1>` },
    }),
  },
];
