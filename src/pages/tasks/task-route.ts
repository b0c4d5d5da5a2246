import type { TaskEvent } from '../../contract/index.ts';
import { typeKey } from '../../contract/type-key.ts';
import { timeline } from '../../core/attempt-timeline.ts';
import { taskPageDefaults } from '../../core/task-page-defaults.ts';
import { waitsFor } from '../../core/waiting-for.ts';
import { html } from '../html.ts';
import type { PageAnswer, PageRequest, PageRoute } from '../page.ts';
import { code, userText } from '../parts.ts';
import { taskAddress } from './addresses.ts';
import { comparisonOf } from './comparison.ts';
import { fleetsOf, ownWorkers } from './fleets.ts';
import { type TaskModel, taskHtml } from './task-page.ts';
import type { KeyNames } from './timeline.ts';

const { journalEntries, keysNamed, logLines, liveProgressMs } = taskPageDefaults;

export const taskRoute: PageRoute = {
  method: 'GET',
  path: '/tasks/{id}',
  answer: async (request) => {
    const id = request.params.id ?? '';
    const found = await request.call('getTask', { params: { id } });
    if (!found.ok) return (await elsewhere(request, id)) ?? found;
    const task = found.value;
    const after = number(request, 'journal') ?? Math.max(0, task.seq - journalEntries);
    const journal = await request.call('taskEvents', {
      params: { id },
      query: { after, limit: journalEntries },
    });
    if (!journal.ok) return journal;
    const { lines, before } = await logOf(request, id);
    const model: TaskModel = {
      url: request.url,
      nowMs: request.nowMs,
      task,
      timeline: timeline(journal.value.events, request.nowMs, (at) => at),
      keyNames: await keyNamesOf(request, journal.value.events),
      earlierJournal: after > 0 ? Math.max(0, after - journalEntries) : undefined,
      log: lines,
      earlierLog: before,
      comparison: await comparedTo(request, task),
      maySubmit: request.may('submit'),
      may: (action) => request.may(CALLS[action]),
    };
    return {
      page: {
        title: `${typeKey(task.type, task.schemaVersion)}, ${task.status}`,
        nav: 'tasks',
        live: true,
        ...(task.status === 'running' && { refreshMs: liveProgressMs }),
        main: taskHtml(model),
      },
    };
  },
};

export const CALLS = { cancel: 'cancelTask', retry: 'retryTask', resolve: 'resolveTask' } as const;

/** Names of the keys of this project that did something. Entries about decisions have them already. */
async function keyNamesOf(
  { reads, project }: PageRequest,
  events: readonly TaskEvent[],
): Promise<KeyNames> {
  const ids = [...new Set(events.map(({ by }) => by))].filter((by) => by.startsWith('key:'));
  const named = await Promise.all(
    ids.slice(0, keysNamed).map(async (by): Promise<[string, string][]> => {
      const key = await reads.keyById(by.slice('key:'.length));
      return key?.project === project ? [[by, key.name]] : [];
    }),
  );
  return new Map(named.flat());
}

/** The end of the log, or what stands before a line that was asked for. */
async function logOf({ reads, project, query }: PageRequest, id: string) {
  const row = await reads.task(project, id);
  if (row === undefined) return { lines: [], before: undefined };
  const asked = query.get('log') ?? '';
  const last = await reads.lastLog(row.ref);
  const after = /^\d{1,15}$/.test(asked) ? Number(asked) : Math.max(0, last - logLines);
  const lines = await reads.logs(row.ref, after, logLines);
  // The oldest lines of a long log are gone: then there is nothing before the first.
  const [first] = lines;
  const [earliest] = first === undefined ? [] : await reads.logs(row.ref, 0, 1);
  const more = first !== undefined && earliest !== undefined && earliest.n < first.n;
  return { lines, before: more ? Math.max(0, first.n - 1 - logLines) : undefined };
}

/** What it asks for beside what is online, where it waits and nobody serves it. */
async function comparedTo(
  request: PageRequest,
  task: { status: string; type: string; schemaVersion: number; pool: string },
) {
  if (task.status !== 'queued') return undefined;
  const known = await ownWorkers(request);
  if (!known.ok || waitsFor(task, known.workers).served) return undefined;
  const { type, schemaVersion, pool } = task;
  const wanted = { type, schemaVersion, pool, project: request.project };
  return comparisonOf(wanted, await fleetsOf(request, known.workers));
}

function number({ query }: PageRequest, name: string): number | undefined {
  const text = query.get(name) ?? '';
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** A task of another project that who looks may switch to: it is said where it is, with the way there. */
async function elsewhere(request: PageRequest, id: string): Promise<PageAnswer | undefined> {
  const { who, project, reads, csrf } = request;
  const others = who.projects.filter((one) => one !== project);
  for (const other of others.slice(0, taskPageDefaults.otherProjects))
    if ((await reads.task(other, id)) !== undefined)
      return {
        page: {
          title: 'In another project',
          nav: 'tasks',
          status: 404,
          main: html`<h1>In another project</h1>
<p>Task ${code(id)} is in project ${userText(other)}; you are looking at project ${userText(project)}.</p>
<form method="post" action="/project">${csrf}<input type="hidden" name="to" value="${taskAddress(id)}"><input type="hidden" name="show" value="this"><input type="hidden" name="project" value="${other}"><button class="main">Switch to ${userText(other)} and show it</button></form>`,
        },
      };
  return undefined;
}
