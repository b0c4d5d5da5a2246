import { html } from './html.ts';
import type { PageRoute } from './page.ts';

export const submitRoutes: readonly PageRoute[] = [
  {
    method: 'GET',
    path: '/submit',
    answer: async () => ({
      page: { title: 'Submit', nav: 'submit', main: html`<h1>Submit</h1>` },
    }),
  },
];
