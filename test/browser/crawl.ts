import { ask, type Window } from './chromium.ts';
import type { Seeded } from './seed.ts';

/** Pages of one kind that are looked at: the worst of them are named, of others one is like the next. */
const OF_A_KIND = 2;

/** Addresses of every kind of page that the pages lead to, beginning with those that are named. */
export async function allPages(window: Window, seeded: Seeded): Promise<string[]> {
  const named = [
    '/tasks',
    ...Object.values(seeded).map((id) => `/tasks/${id}`),
    '/task-types',
    '/workers',
    '/submit',
    '/failures',
    '/sign-in',
    '/nowhere',
    '/tasks/tsk_nobody',
  ];
  const known = new Set(named);
  const kinds = new Map<string, number>();
  const waiting = [...named];
  const seen: string[] = [];
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    const status = await window.go(path);
    if (status >= 500) throw new Error(`${path} is answered ${status}`);
    // What comes as a file is no page.
    if (new URL(window.page.url()).pathname !== path.split('?')[0] && path !== '/') continue;
    seen.push(path);
    for (const link of await ask<string[]>(window.page, 'links()')) {
      const kind = kindOf(link);
      const count = kinds.get(kind) ?? 0;
      if (known.has(link) || count >= OF_A_KIND || isFile(link)) continue;
      kinds.set(kind, count + 1);
      known.add(link);
      waiting.push(link);
    }
  }
  return seen;
}

/** The path with names of its third segments taken out, and the names of its query. */
export function kindOf(path: string): string {
  const url = new URL(path, 'http://pages.test');
  const [, room, name, ...rest] = url.pathname.split('/');
  const more = rest.length > 0 ? `/${rest.at(-1)?.replace(/^[a-z]+_\w+$/, '')}` : '';
  const query = [...new Set(url.searchParams.keys())].sort().join('&');
  return `/${room}${name === undefined ? '' : '/…'}${more}?${query}`;
}

/** Downloads: input, result, journal and log as they are. */
function isFile(path: string): boolean {
  return /\.(?:json|txt)(?:\?|$)/.test(path) || path.startsWith('/assets/');
}
