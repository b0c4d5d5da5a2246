import type { Problem } from '../contract/problems.ts';
import { parseTypeKey, typeNameProblem } from '../contract/type-key.ts';
import { fieldsOf } from '../core/input-fields.ts';
import { pageDefaults } from '../core/page-defaults.ts';
import type { TypeView } from '../core/type-words.ts';
import { nearMiss, offlineOf, servedOf } from '../core/type-words.ts';
import { address, pagePart } from './address.ts';
import { type HtmlValue, html } from './html.ts';
import type { PageAnswer, PageRequest, PageRoute } from './page.ts';
import { notice } from './parts.ts';
import { againForm } from './submit-again.ts';
import { submitForm, typeChoice } from './submit-form.ts';
import { type Issues, issuesOf, requestOf } from './submit-request.ts';
import { typeAsked } from './task-types.ts';

/** A first task needs no terminal. */
export const submitRoutes: readonly PageRoute[] = [
  {
    method: 'GET',
    path: '/submit',
    async answer(request) {
      const { query, call } = request;
      if (!request.may('submit')) return shown('Submit', mayNot(request));
      const types = await call('listTypes');
      if (!types.ok) return types;
      const all = types.value.types;
      const asked = typeAsked(withVersion(query));
      if (asked !== undefined) {
        const known = await knownOf(request, asked, all);
        const preset = await againOf(request, fieldsOf(known.inputSchema));
        return form(request, asked, all, known, { issues: new Map(), ...(preset && { preset }) });
      }
      return shown('Submit a task', typeChoice(choiceOf(request, all, query)), 200);
    },
  },
  {
    method: 'POST',
    path: '/submit',
    large: true,
    async answer(request) {
      const { form: sent, call } = request;
      if (!request.may('submit')) return shown('Submit', mayNot(request), 403);
      const types = await call('listTypes');
      if (!types.ok) return types;
      const all = types.value.types;
      const asked = typeAsked(sent);
      if (asked === undefined)
        return shown('Submit a task', typeChoice(choiceOf(request, all, sent)), 400);
      const known = await knownOf(request, asked, all);
      const fields = fieldsOf(known.inputSchema);
      const made = requestOf(sent, asked, fields);
      if (!made.ok) return form(request, asked, all, known, { issues: made.issues, status: 400 });
      const done = await call('submit', { body: made.request });
      if (done.ok) {
        const { id } = done.value;
        const said =
          done.status === 201
            ? `${id} was submitted.`
            : `This was submitted before: ${id} is that task.`;
        return { seeOther: address('/tasks/{id}', { id }), said };
      }
      const { problem } = done;
      const wholeJson = (sent.get('json') ?? '').trim() !== '';
      const issues = issuesOf(problem, fields, wholeJson);
      return form(request, asked, all, known, { issues, problem, status: problem.status });
    },
  },
];

/** What the task that `from` names was submitted with; one that is not there any more fills in nothing. */
async function againOf(
  { query, call }: PageRequest,
  fields: ReturnType<typeof fieldsOf>,
): Promise<URLSearchParams | undefined> {
  const id = query.get('from');
  if (id === null || id === '') return undefined;
  const found = await call('getTask', { params: { id } });
  return found.ok ? againForm(found.value, fields, { pool: query.get('pool') ?? '' }) : undefined;
}

interface Again {
  readonly issues: Issues;
  readonly problem?: Problem;
  /** What stands in a form that was not sent yet. */
  readonly preset?: URLSearchParams;
  readonly status?: number;
}

interface Known {
  readonly served: boolean;
  /** What those who serve it, or did when they were last heard, say that its input is. */
  readonly inputSchema: unknown;
  /** Who served it and is offline, where nobody else does. */
  readonly gone: readonly string[];
}

async function knownOf(
  { call, reads, project }: PageRequest,
  asked: Asked,
  types: readonly TypeView[],
): Promise<Known> {
  const view = types.find(sameAs(asked));
  if (view !== undefined && view.workers.length > 0)
    return { served: true, inputSchema: view.inputSchema, gone: [] };
  const seen = await call('listWorkers');
  const gone = offlineOf(asked, seen.ok ? seen.value.workers : []);
  const handlers = gone[0] === undefined ? [] : await reads.handlers(project, gone[0].workerId);
  const inputSchema = handlers.find(sameAs(asked))?.inputSchema;
  return { served: false, inputSchema, gone: gone.map(({ workerId }) => workerId) };
}

function form(
  request: PageRequest,
  asked: Asked,
  types: readonly TypeView[],
  { served, inputSchema, gone }: Known,
  { issues, problem, preset, status = 200 }: Again,
): PageAnswer {
  const sent = request.form.has('once') ? request.form : preset;
  // The key of this form was used for a task that was otherwise: the next one is another task.
  const used = problem?.code === 'IDEMPOTENCY_CONFLICT';
  const main = submitForm({
    ...asked,
    fields: fieldsOf(inputSchema),
    jsonPreset: presetOf(inputSchema),
    sent,
    issues,
    refused: problem && refusedWords(problem, issues, (sent?.get('idempotencyKey') ?? '').trim()),
    served,
    gone,
    near: served || gone.length > 0 ? undefined : nearMiss(asked, servedOf(types)),
    pools: [...new Set(types.flatMap(({ pools }) => pools))]
      .sort()
      .slice(0, pageDefaults.poolsOffered),
    once: (used ? undefined : sent?.get('once')) || request.once(),
    csrf: request.csrf,
  });
  return shown(`Submit ${asked.type}@${asked.schemaVersion}`, main, status);
}

function refusedWords(
  { code, title, detail, hint }: Problem,
  issues: Issues,
  key: string,
): HtmlValue {
  if (code === 'IDEMPOTENCY_CONFLICT')
    return key === ''
      ? html`<p>This form was already sent, with other words in it, and made a task. To submit what stands here now as another task, press Submit again.</p>`
      : html`<p>The idempotency key <bdi>${key}</bdi> was used for another task. Type another one, or none.</p>`;
  // Said beside the fields.
  if (issues.size > 0) return undefined;
  return html`<p><bdi>${detail ?? title}</bdi></p>${hint !== undefined && html`<p>${hint}</p>`}`;
}

/** What a form for JSON begins with. */
function presetOf(schema: unknown): string {
  const { default: preset, examples } = (
    typeof schema === 'object' && schema !== null ? schema : {}
  ) as Readonly<Record<string, unknown>>;
  const example = Array.isArray(examples) ? examples[0] : undefined;
  return JSON.stringify(preset ?? example ?? {}, null, 2);
}

type Asked = Pick<TypeView, 'type' | 'schemaVersion'>;

const sameAs = (asked: Asked) => (one: Asked) =>
  one.type === asked.type && one.schemaVersion === asked.schemaVersion;

/** People type `demo/hello@2` as well. */
function withVersion(query: URLSearchParams): URLSearchParams {
  const both = parseTypeKey((query.get('type') ?? '').trim());
  return both === undefined
    ? query
    : new URLSearchParams({ type: both.type, schemaVersion: String(both.schemaVersion) });
}

/** Those that somebody serves first: whatever was submitted by mistake comes after them. */
function choiceOf({ url }: PageRequest, types: readonly TypeView[], asked: URLSearchParams) {
  const idle = ({ workers }: TypeView) => Number(workers.length === 0);
  const sorted = types.toSorted((a, b) => idle(a) - idle(b));
  return { part: pagePart(sorted, url, pageDefaults.typeRows), url, wrong: whyNone(asked) };
}

function whyNone(query: URLSearchParams) {
  const [type, version] = [query.get('type')?.trim(), query.get('schemaVersion')?.trim() ?? '1'];
  if (type === undefined) return undefined;
  const why = type === '' ? 'is needed' : typeNameProblem(type);
  return { type, version, why: why ?? 'needs a version that is a whole number from 1' };
}

function mayNot({ who }: PageRequest): HtmlValue {
  return html`<h1>Submit a task</h1>${notice('warn', html`<p>The key <bdi>${who.key.name}</bdi> is of kind ${who.key.kind} and may not submit tasks. Sign in with one of kind task-producer or admin.</p>`)}`;
}

function shown(title: string, main: HtmlValue, status = 200): PageAnswer {
  return { page: { title, nav: 'submit', main, status } };
}
