import { schemaVersion, typeName } from '../contract/names.ts';
import { makeProblem } from '../contract/problems.ts';
import { nearMiss, offlineOf, servedOf } from '../core/type-words.ts';
import { historyOf, spanOf } from './histories.ts';
import type { PageRequest, PageRoute } from './page.ts';
import { typePage } from './type-page.ts';
import { quiet, typeSight, typesList, typesPart } from './types-list.ts';

/** Types of tasks: what waits, who serves them, how they went. */
export const taskTypesRoutes: readonly PageRoute[] = [
  {
    method: 'GET',
    path: '/task-types',
    async answer(request) {
      const seen = await look(request);
      if ('problem' in seen) return seen;
      const { url } = request;
      const { history, span } = seen;
      const main = typesList({ ...typesPart(seen, url), history, span, url });
      return { page: { title: 'Task types', nav: 'task-types', live: true, main } };
    },
  },
  {
    method: 'GET',
    path: '/task-type',
    async answer(request) {
      const asked = typeAsked(request.query);
      if (asked === undefined) return { problem: NO_TYPE };
      const seen = await look(request);
      if ('problem' in seen) return seen;
      const { types, history, span } = seen;
      // An address that was shared stays one, also while nothing is known of the type.
      const view =
        types.find(
          ({ type, schemaVersion: version }) =>
            type === asked.type && version === asked.schemaVersion,
        ) ?? quiet(asked);
      const sight = typeSight(view, seen);
      const maySubmit = request.may('submit');
      const gone = offlineOf(asked, seen.workers).map(({ workerId }) => workerId);
      const near = nearMiss(asked, servedOf(types));
      const main = typePage({ gone, near, sight, history, span, url: request.url, maySubmit });
      return { page: { title: sight.name, nav: 'task-types', live: true, main } };
    },
  },
];

async function look(request: PageRequest) {
  const span = spanOf(request.query);
  const [types, workers, groups, history] = await Promise.all([
    request.call('listTypes'),
    request.call('listWorkers'),
    request.reads.queue(request.project),
    historyOf(request, span),
  ]);
  if (!types.ok) return types;
  if (!workers.ok) return workers;
  return { types: types.value.types, workers: workers.value.workers, groups, history, span };
}

/** `type=demo/hello&schemaVersion=1` of an address; `undefined`: it names no type. */
export function typeAsked(
  query: URLSearchParams,
): { readonly type: string; readonly schemaVersion: number } | undefined {
  const type = typeName.safeParse(query.get('type'));
  const version = schemaVersion.safeParse(Number(query.get('schemaVersion') ?? '1'));
  if (!type.success || !version.success) return undefined;
  return { type: type.data, schemaVersion: version.data };
}

const NO_TYPE = {
  ...makeProblem(
    'NOT_FOUND',
    'The address names no type of tasks: it should hold type=demo/hello and schemaVersion=1, say.',
  ),
  title: 'No such type',
  hint: 'Go on from the list of task types.',
};
