import { typeKey, type WorkerView } from '../contract/index.ts';
import type { TypeView } from '../core/type-words.ts';
import {
  isQuiet,
  keyHasEnded,
  spoolNote,
  spoolWords,
  stateAdvice,
  workerNotes,
  workerWeight,
} from '../core/worker-words.ts';
import { address } from './address.ts';
import { type Html, html } from './html.ts';
import {
  badge,
  brief,
  code,
  counted,
  type Row,
  type Tone,
  table,
  userText,
  verdict,
  when,
} from './parts.ts';
import { typeAddress } from './types-list.ts';

/** All workers, what needs somebody first. */

export interface WorkersModel {
  readonly workers: readonly WorkerView[];
  /** What waits, where one of them is offline. */
  readonly types?: readonly TypeView[] | undefined;
  readonly nowMs: number;
}

/** Of one that is offline: what waits that it serves and nobody who is online. */
export function missedOf(worker: WorkerView, types: readonly TypeView[] = []): readonly TypeView[] {
  if (worker.state !== 'offline') return [];
  const served = new Set(worker.handlers.map((one) => typeKey(one.type, one.schemaVersion)));
  return types.filter(
    ({ type, schemaVersion, queued, workers }) =>
      queued > 0 && workers.length === 0 && served.has(typeKey(type, schemaVersion)),
  );
}

const queuedOf = (missed: readonly TypeView[]) => missed.reduce((sum, one) => sum + one.queued, 0);

/** `3 tasks wait for it`, and what to do. */
export function missedWords(missed: readonly TypeView[]): string {
  const queued = queuedOf(missed);
  const wait = queued === 1 ? '1 task waits' : `${queued} tasks wait`;
  return `${wait} for what it alone serves: start it again, or another worker with its handlers`;
}

export function workersList({ workers, types, nowMs }: WorkersModel): Html {
  if (workers.length === 0)
    return html`<h1>Workers</h1><p>No worker has come here yet. Start one: ${code('interlock worker --handlers ./handlers')}</p>`;
  const sorted = [...workers].sort(
    (a, b) =>
      urgency(a, nowMs, types) - urgency(b, nowMs, types) || (a.workerId < b.workerId ? -1 : 1),
  );
  const columns = [
    { head: 'Worker', plain: true },
    { head: 'State', plain: true },
    { head: 'Working on' },
    { head: 'Spool' },
    { head: 'Last seen' },
    { head: 'Pools' },
    { head: 'Handlers' },
  ];
  return html`<h1>Workers</h1>${verdictOf(workers, nowMs, types)}${table(
    'Workers, what needs somebody first',
    columns,
    sorted.map((worker) => row(worker, nowMs, types)),
  )}`;
}

/** Whether one of them needs somebody, and how they are. */
function verdictOf(
  workers: readonly WorkerView[],
  nowMs: number,
  types: WorkersModel['types'],
): Html {
  const weights = workers.map((worker) => weightOf(worker, nowMs, types));
  const count = (weight: string) => weights.filter((one) => one === weight).length;
  const [act, look] = [count('act'), count('look')];
  const states = html`<small>${summary(workers)}</small>`;
  const need = (n: number, one: string, many: string) =>
    `${counted(n, 'worker')} ${n === 1 ? one : many}`;
  if (act > 0)
    return verdict(
      'bad',
      `${need(act, 'needs', 'need')} somebody${look > 0 ? `; ${look} more should be looked at` : ''}. `,
      states,
    );
  if (look > 0) return verdict('warn', `${need(look, 'should', 'should')} be looked at. `, states);
  if (workers.every(({ state }) => state === 'offline'))
    return verdict('warn', 'No worker is online. ', states);
  return verdict('good', 'All workers are well. ', states);
}

/** `3 ready, 1 full, 2 offline`. */
export function summary(workers: readonly WorkerView[]): string {
  const states = ['ready', 'full', 'draining', 'offline'];
  const others = [...new Set(workers.map(({ state }) => state))].filter((s) => !states.includes(s));
  return [...states, ...others]
    .map((state) => [workers.filter((one) => one.state === state).length, state] as const)
    .filter(([count]) => count > 0)
    .map(([count, state]) => `${count} ${state}`)
    .join(', ');
}

function weightOf(worker: WorkerView, nowMs: number, types: WorkersModel['types']) {
  return missedOf(worker, types).length > 0 ? 'act' : workerWeight(worker, nowMs);
}

function urgency(worker: WorkerView, nowMs: number, types: WorkersModel['types']): number {
  const weight = weightOf(worker, nowMs, types);
  if (weight !== 'none') return weight === 'act' ? 0 : 1;
  return worker.state === 'offline' ? 3 : 2;
}

function row(worker: WorkerView, nowMs: number, types: WorkersModel['types']): Row {
  const { workerId, attempts = [], pools, handlers, lastSeenAt } = worker;
  const weight = weightOf(worker, nowMs, types);
  const missed = missedOf(worker, types);
  const notes = [...(missed.length > 0 ? [missedWords(missed)] : []), ...notesOf(worker, nowMs)];
  return {
    id: `worker-${workerId}`,
    ...(weight !== 'none' && { tone: weight === 'act' ? 'bad' : 'warn' }),
    cells: [
      html`<a href="${workerAddress(workerId)}"><bdi>${workerId}</bdi></a>`,
      html`${stateBadge(worker)}${notes.map((says) => html`<p class="note"><bdi>${brief(says)}</bdi></p>`)}`,
      workingOn(attempts),
      userText(spoolWords(worker)),
      when(lastSeenAt, nowMs),
      userText(pools.join(', ')),
      handlers
        .slice(0, SHOWN)
        .map((one) => html`<p>${typeLink(one)}</p>`)
        .concat(handlers.length > SHOWN ? html`<p>and ${handlers.length - SHOWN} more</p>` : []),
    ],
  };
}

/** Tasks and handlers in a row; its page holds all. */
const SHOWN = 5;

export function workerAddress(workerId: string): string {
  return address('/workers/{id}', { id: workerId });
}

export function typeLink(one: { readonly type: string; readonly schemaVersion: number }): Html {
  return html`<a href="${typeAddress(one)}">${code(typeKey(one.type, one.schemaVersion))}</a>`;
}

export function taskLink(id: string): Html {
  return html`<a class="task-id" href="${address('/tasks/{id}', { id })}">${code(id)}</a>`;
}

function workingOn(attempts: NonNullable<WorkerView['attempts']>): Html {
  if (attempts.length === 0) return html`nothing`;
  const shown = attempts.slice(0, SHOWN).map(({ taskId }) => html`<p>${taskLink(taskId)}</p>`);
  const more = attempts.length - SHOWN;
  return html`${shown}${more > 0 && html`<p>and ${counted(more, 'more task')}</p>`}`;
}

export function stateBadge(worker: WorkerView): Html {
  const { state, notClaiming } = worker;
  const idle = keyHasEnded(worker) || (state === 'ready' && notClaiming !== undefined);
  const doubted: Tone | undefined = isQuiet(worker)
    ? 'warn'
    : worker.drainRequested && state === 'ready'
      ? 'wait'
      : undefined;
  return badge(idle ? 'bad' : (doubted ?? TONES[state] ?? 'wait'), stateAdvice(worker));
}

const TONES: Readonly<Record<string, Tone>> = {
  ready: 'good',
  full: 'busy',
  draining: 'wait',
  offline: 'off',
};

/** Sentences without a subject, as they stand under its name. */
export function notesOf(worker: WorkerView, nowMs: number): string[] {
  const notes = workerNotes(worker, nowMs)
    // Of one that is offline it is over why it claimed nothing.
    .filter(({ kind }) => worker.state !== 'offline' || kind === 'stuck')
    .map(({ kind, says }) => (kind === 'clock' ? `its clock ${says}` : says));
  const spool = spoolNote(worker);
  const open = worker.attempts?.length ?? 0;
  const left =
    worker.state === 'offline' && open > 0
      ? `it has not said how ${counted(open, 'task')} went that it had: when their leases have run out they go on as their effect safety says`
      : undefined;
  return [...notes, ...(spool === undefined ? [] : [spool]), ...(left === undefined ? [] : [left])];
}
