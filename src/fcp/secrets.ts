/** Keys and tokens in what a worker sends, where they do not belong. */
import type { LoggedRequest } from './journal.ts';

/** Of the path that is told. */
const PATH_CHARS = 100;

/**
 * Where in the body of a request a text stands that `isSecret`: `versions.debug`, '' for a body that is no JSON object.
 * A report's own `leaseToken` is no such place. `undefined`: nowhere.
 */
export function placeInBody(
  request: LoggedRequest,
  isSecret: (text: string) => boolean,
): string | undefined {
  const { body, bodyText, route } = request;
  if (body === undefined) return isSecret(bodyText) ? '' : undefined;
  const reports = route === 'report' ? [body] : route === 'batch' ? (body.reports ?? []) : [];
  const belongs = new Set<unknown>(Array.isArray(reports) ? reports : []);
  // Not by recursion: it may be nested as deeply as its sender likes.
  const left: { value: unknown; path: string }[] = [{ value: body, path: '' }];
  for (let next = left.pop(); next; next = left.pop()) {
    const { value, path } = next;
    if (typeof value === 'string' && isSecret(value)) return path;
    if (typeof value !== 'object' || value === null) continue;
    for (const [name, inner] of Object.entries(value)) {
      if (isSecret(name)) return path;
      if (name === 'leaseToken' && typeof inner === 'string' && belongs.has(value)) continue;
      const longer = path === '' ? name : `${path}.${name}`;
      left.push({ value: inner, path: longer.slice(0, PATH_CHARS) });
    }
  }
  return undefined;
}
