import { poolName, typeName } from '../../contract/names.ts';
import { taskStatuses } from '../../contract/tasks.ts';
import { parseTypeKey } from '../../contract/type-key.ts';
import { parseDuration } from '../../core/duration-words.ts';
import { address } from '../address.ts';
import type { CallWith } from '../call.ts';

/** What a list of tasks is limited to, as it stands in the address of the page: the same words whoever opens it. */
export interface Filters {
  readonly statuses: readonly string[];
  /** As typed: `demo/hello`, or `demo/hello@1`. */
  readonly type: string;
  readonly version: string;
  readonly pool: string;
  /** `name` or `name=value`. */
  readonly labels: readonly string[];
  /** `24h`, or an instant. */
  readonly since: string;
  readonly until: string;
  readonly attention: boolean;
  readonly cursor: string;
}

/** A filter that means nothing, with the field that it was typed into. */
export interface FilterProblem {
  readonly field: 'status' | 'type' | 'version' | 'pool' | 'since' | 'until';
  readonly says: string;
}

export function filtersOf(query: URLSearchParams): Filters {
  const word = (name: string) => (query.get(name) ?? '').trim();
  const list = (name: string) =>
    query
      .getAll(name)
      .map((text) => text.trim())
      .filter((text) => text !== '');
  return {
    statuses: list('status').flatMap((text) => text.split(',')),
    type: word('type'),
    version: word('version'),
    pool: word('pool'),
    labels: list('label'),
    since: word('since'),
    until: word('until'),
    attention: word('needs') === 'attention',
    cursor: word('cursor'),
  };
}

/** Whether anything is left out: then the page is about what was looked for, not about what needs a person. */
export function isLimited(filters: Filters): boolean {
  const { statuses, type, version, pool, labels, since, until, attention } = filters;
  return (
    statuses.length > 0 ||
    [type, version, pool, since, until].some((text) => text !== '') ||
    labels.length > 0 ||
    attention
  );
}

/** The address of the list with these filters; one without a value is left out. */
export function listAddress(filters: Partial<Filters>): string {
  const { statuses, type, version, pool, labels, since, until, attention, cursor } = filters;
  return address(
    '/tasks',
    {},
    {
      status: statuses,
      type,
      version,
      pool,
      label: labels,
      since,
      until,
      needs: attention ? 'attention' : undefined,
      cursor,
    },
  );
}

/** The query of `GET /tasks`, and what is wrong with the filters: what is wrong is left out of the query. */
export function listQuery(
  filters: Filters,
  nowMs: number,
  limit: number,
): { readonly query: NonNullable<CallWith['query']>; readonly problems: readonly FilterProblem[] } {
  const problems: FilterProblem[] = [];
  const problem = (field: FilterProblem['field'], says: string) => {
    problems.push({ field, says });
    return undefined;
  };
  const unknownStatus = (status: string) =>
    problem('status', `"${shorter(status)}" is no status; those are ${taskStatuses.join(', ')}.`);
  const both = filters.type === '' ? undefined : parseTypeKey(filters.type);
  const type = both?.type ?? (filters.type || undefined);
  const version = filters.version || (both && String(both.schemaVersion));
  const instant = (text: string, field: 'since' | 'until') => {
    if (text === '') return undefined;
    const ago = parseDuration(text);
    const ms = ago === undefined ? Date.parse(text) : nowMs - ago;
    if (Number.isFinite(ms) && Math.abs(ms) < FAR_MS) return new Date(ms).toISOString();
    return problem(
      field,
      `"${shorter(text)}" is neither a time such as 2026-12-01T08:00:00Z nor an age such as 2h.`,
    );
  };
  const since = instant(filters.since, 'since');
  const until = instant(filters.until, 'until');
  if (since !== undefined && until !== undefined && Date.parse(since) >= Date.parse(until))
    problem('until', 'It is not after "submitted since", so nothing can be between them.');
  return {
    query: {
      status: filters.statuses.filter((status) => isStatus(status) || unknownStatus(status)),
      type:
        type === undefined || typeName.safeParse(type).success
          ? type
          : problem('type', `"${shorter(type)}" is no type of tasks; one looks like demo/hello.`),
      schemaVersion:
        version === undefined || /^[1-9]\d{0,14}$/.test(version)
          ? version
          : problem('version', `"${shorter(version)}" is no version; one is a number from 1.`),
      pool:
        filters.pool === '' || poolName.safeParse(filters.pool).success
          ? filters.pool || undefined
          : problem('pool', `"${shorter(filters.pool)}" is no name of a pool.`),
      label: filters.labels,
      since,
      until,
      needs: filters.attention ? 'attention' : undefined,
      cursor: filters.cursor || undefined,
      limit,
    },
    problems,
  };
}

const isStatus = (text: string) => (taskStatuses as readonly string[]).includes(text);
const shorter = (text: string) => (text.length > 80 ? `${text.slice(0, 79)}…` : text);
/** The year 9999: what the wire takes. */
const FAR_MS = 253_402_300_799_000;
