import { makeProblem, type Problem } from '../../contract/problems.ts';
import { taskStatuses } from '../../contract/tasks.ts';
import { parseTypeKey } from '../../contract/type-key.ts';
import { lastTrouble, why } from '../../core/attempt-words.ts';
import { failuresSinceMs, isResolved } from '../../core/failures.ts';
import { taskPageDefaults } from '../../core/task-page-defaults.ts';
import { nobodyServes } from '../../core/type-words.ts';
import { waitsFor } from '../../core/waiting-for.ts';
import type { QueueGroup } from '../../ports/store.ts';
import type { PageRequest, PageRoute } from '../page.ts';
import {
  type AttentionData,
  attentionSections,
  type Failures,
  type Losing,
  SHOWN,
} from './attention.ts';
import { type Comparison, comparisonOf } from './comparison.ts';
import { type Filters, filtersOf, isLimited, listQuery } from './filters.ts';
import { fleetsOf, ownWorkers } from './fleets.ts';
import { type ListModel, listHtml, type StatusCount } from './list-page.ts';

const { rows, runningRows, countedMost, failuresAmong, liveProgressMs, lossesShown } =
  taskPageDefaults;

export const listRoute: PageRoute = {
  method: 'GET',
  path: '/tasks',
  answer: async (request) => {
    const { nowMs, url } = request;
    const short = withoutBlanks(url);
    if (short !== undefined) return { seeOther: short };
    const filters = filtersOf(request.query);
    if (filters.cursor !== '' && !PLACE.test(filters.cursor)) return { problem: NO_PLACE };
    const { query, problems } = listQuery(filters, nowMs, rows);
    const page = problems.length > 0 ? undefined : await request.call('listTasks', { query });
    if (page && !page.ok) return { problem: page.problem };
    const queue = await request.reads.queue(request.project);
    const about = isLimited(filters) || filters.cursor !== '' || problems.length > 0;
    const overview = about ? undefined : await overviewOf(request, queue);
    if (overview && 'problem' in overview) return overview;
    const comparison = problems.length > 0 ? undefined : await compared(request, filters);
    const model: ListModel = {
      url,
      nowMs,
      filters,
      problems,
      counts: isLimited({ ...filters, statuses: [] })
        ? taskStatuses.map((status) => ({ status }))
        : await countsOf(request, queue),
      ...(overview && { overview }),
      comparison,
      unserved:
        problems.length > 0 || comparison ? undefined : await unservedWords(request, filters),
      tasks: page?.value.tasks ?? [],
      cursor: page?.value.cursor,
      maySubmit: request.may('submit'),
    };
    return {
      page: {
        title: isLimited(filters) ? 'Tasks found' : 'Tasks',
        nav: 'tasks',
        live: problems.length === 0,
        ...(overview && overview.running.length > 0 && { refreshMs: liveProgressMs }),
        main: listHtml(model),
        ...(problems.length > 0 && { status: 400 }),
      },
    };
  },
};

/** A form sends its empty fields too: the address that is shared is without them. @returns `undefined`: it has none. */
function withoutBlanks(url: URL): string | undefined {
  const all = [...url.searchParams];
  const given = all.filter(([, value]) => value.trim() !== '');
  if (given.length === all.length) return undefined;
  const query = new URLSearchParams(given).toString();
  return query === '' ? url.pathname : `${url.pathname}?${query}`;
}

/** Of a mended address: a place in the list is the id of a task. */
const NO_PLACE: Problem = {
  ...makeProblem(
    'INVALID_REQUEST',
    'The address names a place in the list (cursor) that there is none of.',
  ),
  title: 'No such page of the list',
  hint: 'Go on from the first page of the tasks.',
};
const PLACE = /^tsk_[0-9a-z]{1,40}$/;

/** What runs and waits is known exactly; of the rest a bounded number is counted. */
async function countsOf(
  { reads, project }: PageRequest,
  queue: readonly QueueGroup[],
): Promise<StatusCount[]> {
  const sum = (part: 'queued' | 'running') => queue.reduce((all, group) => all + group[part], 0);
  return Promise.all(
    taskStatuses.map(async (status) =>
      status === 'queued' || status === 'running'
        ? { status, count: sum(status) }
        : {
            status,
            count: await reads.countTasks(project, status, countedMost + 1),
            most: countedMost,
          },
    ),
  );
}

async function overviewOf(
  request: PageRequest,
  queue: readonly QueueGroup[],
): Promise<NonNullable<ListModel['overview']> | { readonly problem: Problem }> {
  const list = (status: readonly string[], limit: number, needs?: 'attention') =>
    request.call('listTasks', { query: { status, limit, needs } });
  const [unknown, undecided, running] = await Promise.all([
    list(['outcome-unknown'], SHOWN + 1),
    list(['failed', 'queued', 'expired'], SHOWN + 1, 'attention'),
    list(['running'], runningRows),
  ]);
  if (!unknown.ok) return unknown;
  if (!undecided.ok) return undecided;
  if (!running.ok) return running;
  const known = await ownWorkers(request);
  if (!known.ok) return known;
  const data: AttentionData = {
    nowMs: request.nowMs,
    unknown: unknown.value.tasks,
    undecided: undecided.value.tasks,
    queue,
    workers: known.workers,
    losing: await losingOf(request),
    failures: await failuresOf(request),
    among: failuresAmong,
  };
  return {
    attention: attentionSections(data),
    running: running.value.tasks,
    runningInAll: queue.reduce((all, group) => all + group.running, 0),
  };
}

async function losingOf({ reads, project }: PageRequest): Promise<Losing[]> {
  const found = await reads.losingTasks(project, SHOWN + 1);
  return Promise.all(
    found.map(async ({ ref, task }) => {
      const entries = await reads.events(ref, Math.max(0, task.seq - lossesShown), lossesShown);
      const trouble = lastTrouble(
        entries.map(({ atMs, ...entry }) => ({ ...entry, at: new Date(atMs).toISOString() })),
      );
      return {
        id: task.id,
        type: task.type,
        schemaVersion: task.schemaVersion,
        status: task.status,
        losses: task.losses,
        worker: task.workerId,
        why: trouble && why(trouble, { timeOf: (at) => at }),
      };
    }),
  );
}

async function failuresOf({ reads, project, nowMs }: PageRequest): Promise<Failures[]> {
  const standing = await reads.failureGroups(project, failuresAmong, failuresSinceMs(nowMs));
  const groups = standing.filter((group) => !isResolved(group));
  return Promise.all(
    groups.map(async (group, index) => {
      // Only what may be shown: of a hundred codes the rest is a link away.
      const row = index < NEWEST_READ ? await reads.task(project, group.newestId) : undefined;
      return { group, message: row?.task.error?.message, atMs: row?.task.finishedAtMs };
    }),
  );
}

const NEWEST_READ = 4 * SHOWN;

/** Where the filters name one place of the queue and nobody serves it: what to do stands above the list. */
async function compared(request: PageRequest, filters: Filters): Promise<Comparison | undefined> {
  const { statuses, pool } = filters;
  const named =
    parseTypeKey(filters.type) ?? parseTypeKey(`${filters.type}@${filters.version || 'none'}`);
  if (named === undefined || pool === '' || !(statuses.length === 0 || statuses.includes('queued')))
    return undefined;
  const known = await ownWorkers(request);
  if (!known.ok) return undefined;
  const { workers } = known;
  if (waitsFor({ ...named, pool }, workers).served) return undefined;
  const wanted = { ...named, pool, project: request.project };
  return comparisonOf(wanted, await fleetsOf(request, workers));
}

/** Where the filters name a type that nobody serves, in any version or pool that they leave open. */
async function unservedWords(request: PageRequest, filters: Filters): Promise<string | undefined> {
  const { statuses, pool, version } = filters;
  if (filters.type === '' || !(statuses.length === 0 || statuses.includes('queued')))
    return undefined;
  const known = await request.call('listTypes');
  if (!known.ok) return undefined;
  const both = parseTypeKey(filters.type);
  const wanted = {
    type: both?.type ?? filters.type,
    version: both?.schemaVersion ?? (version === '' ? undefined : Number(version)),
    pool: pool || undefined,
  };
  return nobodyServes(wanted, known.value.types);
}
