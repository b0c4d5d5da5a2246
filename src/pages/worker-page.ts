import { careInWords } from '../contract/care.ts';
import { effectGateRead, effectSafetyRead } from '../contract/effects.ts';
import type { WorkerView } from '../contract/index.ts';
import { historyDefaults } from '../core/history-defaults.ts';
import type { TypeView } from '../core/type-words.ts';
import { driftWords, spoolWords } from '../core/worker-words.ts';
import type { AttemptSight } from '../ports/store-rows.ts';
import { address } from './address.ts';
import { type Html, html } from './html.ts';
import {
  asSentence,
  badge,
  code,
  counted,
  duration,
  facts,
  notice,
  type Tone,
  table,
  userText,
  when,
} from './parts.ts';
import {
  missedWords,
  notesOf,
  stateBadge,
  taskLink,
  typeLink,
  workerAddress,
} from './workers-list.ts';

/** One worker: how it is, what it does and did. */
export interface WorkerModel {
  readonly worker: WorkerView;
  /** Where it is offline: what waits that nobody else serves. */
  readonly missed?: readonly TypeView[];
  /** Newest first. */
  readonly ended: readonly AttemptSight[];
  readonly nowMs: number;
  readonly mayDrain: boolean;
}

export function workerPage({ worker, missed = [], ended, nowMs, mayDrain }: WorkerModel): Html {
  const { workerId, slots, pools, versions, state, clockOffsetMs, lastSeenAt } = worker;
  const told = Object.entries(versions);
  const drains = mayDrain && state !== 'offline' && worker.drainRequested !== true;
  return html`<h1><bdi>${workerId}</bdi></h1>
<p>${stateBadge(worker)}</p>
${missed.length > 0 && notice('warn', html`<p>${missedWords(missed)}:</p><ul>${missed.map((one) => html`<li>${typeLink(one)} (${counted(one.queued, 'task')} queued)</li>`)}</ul>`)}
${notesOf(worker, nowMs).map((says) => notice('warn', html`<p><bdi>${asSentence(says)}</bdi></p>`))}
${facts([
  ['Slots at work', `${slots.busy} of ${slots.max}`],
  ['Pools', userText(pools.join(', '))],
  [
    'Spool',
    html`<bdi>${spoolWords(worker)}</bdi>${worker.spool.bytes > 0 && `, ${sizeWords(worker.spool.bytes)}`}`,
  ],
  ['Last seen', when(lastSeenAt, nowMs)],
  ['Clock', clockOffsetMs === undefined ? 'not known' : clockWords(clockOffsetMs)],
  [
    'Versions',
    told.length > 0 &&
      told.map(([name, version]) => html`<p><bdi>${name}</bdi> <bdi>${version}</bdi></p>`),
  ],
])}
${drains && html`<p class="actions"><a class="button" href="${address('/workers/{id}/drain', { id: workerId })}">Drain it &hellip;</a></p>`}
<h2>Works on</h2>
${openTable(worker, nowMs)}
<h2>Ended last</h2>
${endedTable(ended, nowMs)}
<h2>Handlers</h2>
${handlersTable(worker)}`;
}

function openTable({ attempts = [] }: WorkerView, nowMs: number): Html {
  if (attempts.length === 0) return html`<p>Nothing.</p>`;
  const rows = attempts.map((one) => ({
    id: `open-${one.attemptId}`,
    cells: [
      taskLink(one.taskId),
      typeLink(one),
      one.startedAt === undefined ? 'claimed, not started' : when(one.startedAt, nowMs),
    ],
  }));
  const columns = [{ head: 'Task', plain: true }, { head: 'Type' }, { head: 'Started' }];
  return table('Attempts that have not ended', columns, rows);
}

function endedTable(ended: readonly AttemptSight[], nowMs: number): Html {
  if (ended.length === 0)
    return html`<p>None among the newest ${historyDefaults.endedLooked} attempts of all workers.</p>`;
  const rows = ended.map((one) => ({
    id: `ended-${one.id}`,
    cells: [
      taskLink(one.taskId),
      typeLink(one),
      badge(...(ENDS[one.state] ?? (['wait', one.state] as const))),
      one.countedAtMs === undefined || one.endedAtMs === undefined
        ? 'not started'
        : duration(one.endedAtMs - one.countedAtMs),
      when(one.endedAtMs, nowMs),
    ],
  }));
  const columns = [
    { head: 'Task', plain: true },
    { head: 'Type' },
    { head: 'How' },
    { head: 'Took', figures: true },
    { head: 'Ended' },
  ];
  return table(
    ended.length === 1
      ? 'The newest attempt of it that ended'
      : `The newest ${ended.length} attempts of it that ended`,
    columns,
    rows,
  );
}

/** States of attempts in words. */
const ENDS: Readonly<Record<string, readonly [Tone, string]>> = {
  succeeded: ['good', 'succeeded'],
  failed: ['bad', 'failed'],
  unknown: ['bad', 'outcome unknown'],
  lost: ['warn', 'lost'],
  cancelled: ['off', 'cancelled'],
  released: ['off', 'given back'],
};

function handlersTable({ handlers }: WorkerView): Html {
  if (handlers.length === 0) return html`<p>It has told of none.</p>`;
  const rows = handlers.map((one) => ({
    id: `handler-${one.type}@${one.schemaVersion}`,
    cells: [
      typeLink(one),
      careInWords({
        effectSafety: effectSafetyRead.parse(one.effectSafety),
        effectGate: effectGateRead.parse(one.effectGate),
      }),
    ],
  }));
  return table(
    'Types that it serves',
    [{ head: 'Type', plain: true }, { head: 'Effect safety' }],
    rows,
  );
}

function clockWords(offsetMs: number): string {
  return Math.abs(offsetMs) < 1_000 ? 'as here, to the second' : driftWords(offsetMs);
}

function sizeWords(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  const kib = bytes / 1_024;
  return kib < 1_024 ? `${kib.toFixed(1)} KiB` : `${(kib / 1_024).toFixed(1)} MiB`;
}

/** What will happen, before it does. */
export interface DrainModel {
  readonly worker: WorkerView;
  /** Types that no other worker which is online serves. */
  readonly alone: readonly {
    readonly type: string;
    readonly schemaVersion: number;
    readonly queued: number;
  }[];
  readonly csrf: Html;
  /** Tells the session that it is about from the next one. */
  readonly sessionMark: string;
  /** Why a form that was sent did nothing. */
  readonly problem?: string | undefined;
}

export function drainPage({ worker, alone, csrf, sessionMark, problem }: DrainModel): Html {
  const { workerId, attempts = [], state } = worker;
  const rest =
    attempts.length === 0
      ? 'It has nothing to finish'
      : `It finishes ${counted(attempts.length, 'task')} first`;
  return html`<h1>Drain <bdi>${workerId}</bdi>?</h1>
${problem !== undefined && notice('warn', html`<p>${problem}</p>`)}
<p>${rest}, claims nothing more, and its process ends. Nothing is lost: what waits stays queued for other workers.</p>
<p>It concerns the process that has this worker id now. The next one under it claims as ever, also where a service manager starts it again at once.</p>
${workerId === DEV && html`<p>If ${code('npm start')} or ${code('interlock dev')} started it: the control plane and these pages go on, and its terminal says how to start it again.</p>`}
${state === 'offline' && notice('warn', html`<p>It is offline: it hears of this only if the same process comes back.</p>`)}
${
  alone.length > 0 &&
  notice(
    'warn',
    html`<p>Nobody else that is online serves:</p><ul>${alone.map((one) => html`<li>${typeLink(one)}${one.queued > 0 && ` (${counted(one.queued, 'task')} queued)`}</li>`)}</ul>`,
  )
}
<form method="post" action="${address('/workers/{id}/drain', { id: workerId })}">${csrf}<input type="hidden" name="session" value="${sessionMark}">
<p class="actions"><button class="danger">Drain it</button> <a href="${workerAddress(workerId)}">Leave it as it is</a></p></form>`;
}

/** The name that `interlock dev` gives its worker. */
const DEV = 'dev';

/** `in 3 min`, of words that need no clock. */
export const drainSaid = (workerId: string, tasks: number): string =>
  tasks === 0
    ? `${workerId} was asked to drain; it has nothing to finish.`
    : `${workerId} was asked to drain: it finishes ${counted(tasks, 'task')} and ends.`;
