import { makeProblem, type Problem } from '../contract/problems.ts';
import { pageDefaults } from '../core/page-defaults.ts';
import { findAsset } from './assets.ts';
import { made } from './respond.ts';

/** What a request is, and answers that are the same for everybody. */

export function assetResponse(url: URL): Response {
  const found = findAsset(url.pathname);
  if (found === undefined) return made(null, 404, { 'Cache-Control': 'no-store' });
  const { asset, exact } = found;
  return made(asset.text, 200, {
    'Content-Type': asset.type,
    'Cache-Control': exact ? `public, max-age=${pageDefaults.assetSeconds}, immutable` : 'no-cache',
    'Content-Security-Policy': "default-src 'none'",
  });
}

/** The cookie of who was asked to ask again. */
export const AGAIN = 'interlock_again';

/** Asked for by our script, which says so. */
export function isUpdate(request: Request): boolean {
  return request.headers.get('interlock-update') !== null;
}

/**
 * A page that was asked for by a link on another site, which brings no cookie. Asked for again by a page of ours it does; once,
 * whatever the browser then says.
 */
export function isFromElsewhere({ method, headers }: Request): boolean {
  const site = headers.get('sec-fetch-site');
  return (
    method === 'GET' &&
    (site === 'cross-site' || site === 'same-site') &&
    headers.get('sec-fetch-mode') === 'navigate' &&
    !headers.get('cookie')?.includes(`${AGAIN}=`)
  );
}

export function noPage({ pathname }: URL): Problem {
  return {
    ...makeProblem('NOT_FOUND', `There is no page ${pathname.slice(0, 200)}.`, { kind: 'route' }),
    title: 'No such page',
    hint: 'Go on from the links above.',
  };
}

export function wrongMethod(
  { method }: Request,
  { pathname }: URL,
  methods: readonly string[],
): Problem {
  return {
    ...makeProblem(
      'UNSUPPORTED_OPERATION',
      `${method} is not a method of ${pathname.slice(0, 200)}; it has ${methods.join(', ')}.`,
    ),
    status: 405,
    hint: 'Go on from the links above.',
  };
}
