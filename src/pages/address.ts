import { type Html, html, none } from './html.ts';

/** Addresses of pages. They hold all that a page shows, so that they can be shared. */

export type Query = Readonly<Record<string, string | number | readonly string[] | undefined>>;

/** `/workers/{id}` with its names filled in and a query; empty and absent values are left out. */
export function address(
  path: string,
  params: Readonly<Record<string, string>> = {},
  query: Query = {},
): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(params[name] ?? ''),
  );
  return filled + search(query);
}

/** The address of this page with other words in its query; `undefined` takes one out. */
export function withQuery(url: URL, changes: Query): string {
  const query: Record<string, string | readonly string[]> = {};
  for (const name of new Set(url.searchParams.keys())) query[name] = url.searchParams.getAll(name);
  return url.pathname + search({ ...query, ...changes });
}

function search(query: Query): string {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    const all = Array.isArray(value) ? value : [value];
    for (const one of all) if (one !== undefined && one !== '') words.append(name, String(one));
  }
  const text = words.toString();
  return text === '' ? '' : `?${text}`;
}

/**
 * Links of a list that is read page by page: the cursor stands in the address, and those of the pages before it, so that there is a way back.
 * @param cursor of the next page.
 */
export function pager(url: URL, cursor: string | undefined): Html {
  const here = url.searchParams.get('cursor') ?? '';
  const before = url.searchParams.getAll('before');
  const first =
    here !== '' &&
    html`<a href="${withQuery(url, { cursor: undefined, before: undefined })}">First page</a>`;
  // One page before the second is the first.
  const previous =
    before.length > 0 &&
    html`<a rel="prev" href="${withQuery(url, { cursor: before.at(-1), before: before.slice(0, -1) })}">Previous page</a>`;
  const next =
    cursor !== undefined &&
    html`<a rel="next" href="${withQuery(url, { cursor, before: here === '' ? [] : [...before, here].slice(-PAGES_BACK) })}">Next page</a>`;
  if (!first && !next) return none;
  return html`<nav class="pager" aria-label="Pages of this list">${first} ${previous} ${next}</nav>`;
}

/** Steps back that an address holds: it stays short enough to be shared. */
const PAGES_BACK = 20;

/** What one page shows of a list that is made whole each time. */
export interface Part<T> {
  readonly rows: readonly T[];
  /** Of the next page: how many come before it. */
  readonly cursor: string | undefined;
}

/** The page that the address asks for; the first one where it asks for none, or for one beyond the end. */
export function pagePart<T>(all: readonly T[], url: URL, size: number): Part<T> {
  const asked = url.searchParams.get('cursor') ?? '';
  const from = /^\d{1,9}$/.test(asked) && Number(asked) < all.length ? Number(asked) : 0;
  const next = from + size;
  return { rows: all.slice(from, next), cursor: next < all.length ? String(next) : undefined };
}
