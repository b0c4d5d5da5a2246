import { hash } from 'node:crypto';
import { makeProblem } from '../contract/problems.ts';
import { historyDefaults } from '../core/history-defaults.ts';
import type { PageAnswer, PageRequest, PageRoute } from './page.ts';
import { drainPage, drainSaid, workerPage } from './worker-page.ts';
import { missedOf, workerAddress, workersList } from './workers-list.ts';

/** Workers: how they are and what they do; each can be asked to drain. */
export const workersRoutes: readonly PageRoute[] = [
  {
    method: 'GET',
    path: '/workers',
    async answer({ call, nowMs }) {
      const seen = await call('listWorkers');
      if (!seen.ok) return seen;
      const { workers } = seen.value;
      const gone = workers.some(({ state }) => state === 'offline');
      const types = gone ? await call('listTypes') : undefined;
      const main = workersList({ workers, types: types?.ok ? types.value.types : [], nowMs });
      return { page: { title: 'Workers', nav: 'workers', live: true, main } };
    },
  },
  {
    method: 'GET',
    path: '/workers/{id}',
    async answer({ call, params, reads, project, nowMs, may }) {
      const workerId = params.id ?? '';
      const seen = await call('getWorker', { params: { workerId } });
      if (!seen.ok) return seen;
      const { endedLooked, endedShown } = historyDefaults;
      const ended = await reads.endedAttempts(project, workerId, endedLooked, endedShown);
      const mayDrain = may('drainWorker');
      const types = seen.value.state === 'offline' ? await call('listTypes') : undefined;
      const main = workerPage({
        worker: seen.value,
        missed: missedOf(seen.value, types?.ok ? types.value.types : []),
        ended,
        nowMs,
        mayDrain,
      });
      return { page: { title: workerId, nav: 'workers', live: true, main } };
    },
  },
  {
    method: 'GET',
    path: '/workers/{id}/drain',
    async answer(request) {
      const { may, who } = request;
      // Who may not do it is told so before they decide.
      if (!may('drainWorker'))
        return {
          problem: makeProblem(
            'SCOPE_DENIED',
            `To drain a worker needs a key of another kind; this one (${who.key.id}) is of kind ${who.key.kind}.`,
          ),
        };
      return drainShown(request);
    },
  },
  {
    method: 'POST',
    path: '/workers/{id}/drain',
    async answer(request) {
      const { call, params, form, may } = request;
      const workerId = params.id ?? '';
      const mark = await sessionMarkOf(request);
      // Of no worker, and who may not do it, the call itself tells.
      if (mark !== undefined && may('drainWorker') && mark !== form.get('session'))
        return drainShown(request, OTHER);
      const done = await call('drainWorker', { params: { workerId } });
      if (!done.ok) return done;
      const seen = await call('getWorker', { params: { workerId } });
      const tasks = seen.ok ? (seen.value.attempts?.length ?? 0) : 0;
      return { seeOther: workerAddress(workerId), said: drainSaid(workerId, tasks) };
    },
  },
];

/** What will happen. @param problem why a form that was sent did nothing. */
async function drainShown(request: PageRequest, problem?: string): Promise<PageAnswer> {
  const { call, params, csrf } = request;
  const workerId = params.id ?? '';
  // First: a session that begins meanwhile is not the one that is shown.
  const sessionMark = (await sessionMarkOf(request)) ?? '';
  const [seen, types] = await Promise.all([
    call('getWorker', { params: { workerId } }),
    call('listTypes'),
  ]);
  if (!seen.ok) return seen;
  if (!types.ok) return types;
  const alone = types.value.types.filter(
    ({ workers }) => workers.length === 1 && workers[0] === workerId,
  );
  const main = drainPage({ worker: seen.value, alone, csrf, sessionMark, problem });
  return {
    page: {
      title: `Drain ${workerId}`,
      nav: 'workers',
      main,
      ...(problem !== undefined && { status: 409 }),
    },
  };
}

/** A session is never shown: a word that is made of it, the same as long as it lasts. @returns `undefined`: there is no such worker. */
async function sessionMarkOf({ reads, project, params }: PageRequest): Promise<string | undefined> {
  const worker = await reads.worker(project, params.id ?? '');
  return worker && hash('sha256', `drain ${worker.sessionId}`, 'hex').slice(0, MARK_CHARS);
}

const MARK_CHARS = 16;
const OTHER =
  'Another process has this worker id now than when you were asked, or the form does not say which one it is about. Nothing was done: read what will happen, then decide.';
