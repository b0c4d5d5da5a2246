import { html } from './html.ts';
import type { PageRoute } from './page.ts';

export const tasksRoutes: readonly PageRoute[] = [
  {
    method: 'GET',
    path: '/tasks',
    answer: async () => ({
      page: { title: 'Tasks', nav: 'tasks', live: true, main: html`<h1>Tasks</h1>` },
    }),
  },
];
