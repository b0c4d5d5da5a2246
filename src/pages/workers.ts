import { html } from './html.ts';
import type { PageRoute } from './page.ts';

export const workersRoutes: readonly PageRoute[] = [
  {
    method: 'GET',
    path: '/workers',
    answer: async () => ({
      page: { title: 'Workers', nav: 'workers', live: true, main: html`<h1>Workers</h1>` },
    }),
  },
];
