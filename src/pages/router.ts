import type { PageRoute } from './page.ts';

export type Found<R> =
  | { readonly route: R; readonly params: Readonly<Record<string, string>> }
  /** The address is known, by other methods. */
  | { readonly methods: readonly string[] };

/** Finds the page of an address. HEAD is asked as GET is. Literal paths go before those with names. */
export function findRoute<R extends Pick<PageRoute, 'method' | 'path'>>(
  routes: readonly R[],
  method: string,
  pathname: string,
): Found<R> | undefined {
  const asked = method === 'HEAD' ? 'GET' : method;
  const path = pathname === '/' ? '/' : pathname.replace(/\/$/, '');
  const fitting = routes.flatMap((route) => {
    const params = paramsOf(route.path, path);
    return params === undefined ? [] : [{ route, params }];
  });
  const literal = fitting.filter(({ route }) => route.path === path);
  const known = literal.length > 0 ? literal : fitting;
  const found = known.find(({ route }) => route.method === asked);
  if (found !== undefined) return found;
  if (known.length === 0) return undefined;
  return {
    methods: known.flatMap(({ route }) =>
      route.method === 'GET' ? ['GET', 'HEAD'] : [route.method],
    ),
  };
}

function paramsOf(pattern: string, path: string): Record<string, string> | undefined {
  const [wanted, given] = [pattern.split('/'), path.split('/')];
  if (wanted.length !== given.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const value = given[index] ?? '';
    const name = /^\{(\w+)\}$/.exec(part)?.[1];
    if (name === undefined) {
      if (part !== value) return undefined;
      continue;
    }
    const decoded = decode(value);
    if (decoded === undefined || decoded === '') return undefined;
    params[name] = decoded;
  }
  return params;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
