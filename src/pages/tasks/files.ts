import type { PageRequest, PageRoute } from '../page.ts';
import { logText } from './log.ts';

/** What is too large for a page, as files: input, result, journal, log. */
export const fileRoutes: readonly PageRoute[] = [
  {
    method: 'GET',
    path: '/tasks/{id}/input.json',
    answer: (request) => payload(request, 'input'),
  },
  {
    method: 'GET',
    path: '/tasks/{id}/result.json',
    answer: (request) => payload(request, 'result'),
  },
  {
    method: 'GET',
    path: '/tasks/{id}/journal.json',
    answer: async (request) => {
      const id = request.params.id ?? '';
      const events: unknown[] = [];
      for (let after = 0; ; ) {
        const page = await request.call('taskEvents', { params: { id }, query: { after } });
        if (!page.ok) return page;
        events.push(...page.value.events);
        after = page.value.events.at(-1)?.seq ?? Number.POSITIVE_INFINITY;
        if (after >= page.value.seq) break;
      }
      return {
        file: {
          name: `${id}-journal.json`,
          type: JSON_TYPE,
          text: `${JSON.stringify(events, null, 2)}\n`,
        },
      };
    },
  },
  {
    method: 'GET',
    path: '/tasks/{id}/log.txt',
    answer: async (request) => {
      const id = request.params.id ?? '';
      // Asked for first, so that it is refused as any task that is not there.
      const task = await request.call('getTask', { params: { id } });
      if (!task.ok) return task;
      const row = await request.reads.task(request.project, id);
      const lines = row ? await request.reads.logs(row.ref, 0, ALL) : [];
      return {
        file: {
          name: `${id}.log.txt`,
          type: 'text/plain; charset=utf-8',
          text: lines.map((line) => `${logText(line)}\n`).join(''),
        },
      };
    },
  },
];

/** The very text that was kept: no number is written otherwise. */
async function payload(request: PageRequest, part: 'input' | 'result') {
  const id = request.params.id ?? '';
  const task = await request.call('getTask', { params: { id } });
  if (!task.ok) return task;
  const row = await request.reads.task(request.project, id);
  const shown = row && (part === 'input' || row.task.status === 'succeeded');
  const text = shown ? await request.reads.payload(row.ref, part) : undefined;
  return {
    file: { name: `${id}-${part}.json`, type: JSON_TYPE, text: text ?? 'null' },
  };
}

const JSON_TYPE = 'application/json; charset=utf-8';
/** The store keeps a bounded log of each task. */
const ALL = 1_000_000;
