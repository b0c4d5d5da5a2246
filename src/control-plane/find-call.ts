import { BASE_PATH } from '../contract/limits.ts';
import { type Operation, operations } from '../contract/operations.ts';

/** A call of the contract's table, and what its address names. */
export interface Found {
  readonly operation: Operation & { readonly id: (typeof operations)[number]['id'] };
  readonly params: Readonly<Record<string, string>>;
}

/**
 * Finds a call by a method and an address that are written in the plainest way, by looking them up. `undefined`: it is no
 * such call, or it is written in a way that has to be looked at closely (slashes at the end, escapes, dots, a whole
 * address). Streams are not found either.
 */
export function findCall(method: string | undefined, url: string): Found | undefined {
  const tables = method === undefined ? undefined : TABLES.get(method);
  if (tables === undefined || !PLAIN.test(url)) return undefined;
  const at = url.indexOf('?');
  const path = at < 0 ? url : url.slice(0, at);
  const literal = tables.literal.get(path);
  if (literal !== undefined) return literal;
  if (LITERAL.has(path)) return undefined;
  for (const { operation, pattern, names } of tables.named) {
    const match = pattern.exec(path);
    if (match === null) continue;
    const params: Record<string, string> = {};
    for (const [index, name] of names.entries()) params[name] = match[index + 1] as string;
    return { operation, params };
  }
  return undefined;
}

/** No escapes, nothing that a reader of addresses would write otherwise. */
const PLAIN = /^\/[!$&-;=?@A-Z_a-z~]*$/;
/** What a name in an address looks like where nothing has to be decoded; no dots alone. */
const NAME = '([A-Za-z0-9_~-][A-Za-z0-9._~-]*)';

interface Table {
  readonly literal: Map<string, Found>;
  readonly named: { operation: Found['operation']; pattern: RegExp; names: string[] }[];
}

/** Addresses of their own, whatever the method: `/tasks/batch` is no task of that name. */
const LITERAL: ReadonlySet<string> = new Set(
  operations.filter(({ path }) => !path.includes('{')).map(({ path }) => BASE_PATH + path),
);

const TABLES: ReadonlyMap<string, Table> = tables();

function tables(): Map<string, Table> {
  const all = new Map<string, Table>();
  for (const operation of operations) {
    if (operation.answers[200] === 'sse') continue;
    const table: Table = all.get(operation.method) ?? { literal: new Map(), named: [] };
    all.set(operation.method, table);
    const path = BASE_PATH + operation.path;
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);
    if (names.length === 0) table.literal.set(path, { operation, params: {} });
    else {
      const pattern = new RegExp(`^${path.replace(/\{\w+\}/g, NAME)}$`);
      table.named.push({ operation, pattern, names });
    }
  }
  return all;
}
