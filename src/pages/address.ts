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

/** Links of a list that is read page by page: the cursor stands in the address. @param cursor of the next page. */
export function pager(url: URL, cursor: string | undefined): Html {
  const first =
    url.searchParams.has('cursor') &&
    html`<a href="${withQuery(url, { cursor: undefined })}">First page</a>`;
  const next =
    cursor !== undefined && html`<a rel="next" href="${withQuery(url, { cursor })}">Next page</a>`;
  if (!first && !next) return none;
  return html`<nav class="pager" aria-label="Pages of this list">${first} ${next}</nav>`;
}
