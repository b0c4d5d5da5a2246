import { taskErrorCodes } from '../../contract/errors.ts';
import type { TaskView } from '../../contract/index.ts';
import { sentence } from '../../contract/sentence.ts';
import { cappedWords } from '../../core/count-words.ts';
import { cut, withCode } from '../../core/detail-words.ts';
import { durationWords } from '../../core/duration-words.ts';
import { GATE_PASSED, isCatalogued } from '../../core/failures.ts';
import { taskPageDefaults } from '../../core/task-page-defaults.ts';
import { type WorkerFacts, waitsFor, workersByPlace } from '../../core/waiting-for.ts';
import type { FailureGroup, QueueGroup } from '../../ports/store.ts';
import { counted, type Tone } from '../parts.ts';
import { taskAddress } from './addresses.ts';
import { listAddress } from './filters.ts';

/** What needs a person, each with the sentence that says why and the action that settles it. Pure. */

export interface AttentionData {
  readonly nowMs: number;
  /** With status outcome-unknown, newest first; one more than is shown where there are more. */
  readonly unknown: readonly TaskView[];
  /** Others that wait for a decision: failed past their gate, or with a late report. */
  readonly undecided: readonly TaskView[];
  readonly queue: readonly QueueGroup[];
  readonly workers: readonly WorkerFacts[];
  readonly losing: readonly Losing[];
  readonly failures: readonly Failures[];
  /** How many failures were looked at, at most. */
  readonly among: number;
}

/** A task whose lease was lost again and again. */
export interface Losing {
  readonly id: string;
  readonly type: string;
  readonly schemaVersion: number;
  readonly status: string;
  readonly losses: number;
  readonly worker: string | undefined;
  /** How it was lost last, in a sentence. */
  readonly why: string | undefined;
}

export interface Failures {
  readonly group: FailureGroup;
  readonly message: string | undefined;
  readonly atMs: number | undefined;
}

export interface Named {
  readonly type: string;
  readonly schemaVersion: number;
  readonly href: string;
}

export interface AttentionItem {
  /** Its own on the page. */
  readonly id: string;
  readonly of: Named;
  /** Beside the name: `3 tasks`, an id. */
  readonly beside: string;
  readonly why: string;
  readonly at: string | number | undefined;
  readonly action: { readonly words: string; readonly href: string };
}

export interface AttentionSection {
  readonly kind: 'unknown' | 'undecided' | 'waiting' | 'losing' | 'refused' | 'failed';
  readonly tone: Extract<Tone, 'bad' | 'warn'>;
  readonly heading: string;
  readonly items: readonly AttentionItem[];
  /** Where the others are, if there are more than are shown. */
  readonly more?: { readonly words: string; readonly href: string };
}

/** Only what there is; the worst first. */
export function attentionSections(data: AttentionData): readonly AttentionSection[] {
  return [
    unknownSection(data),
    undecidedSection(data),
    waitingSection(data),
    losingSection(data),
    ...failureSections(data),
  ].filter(({ items }) => items.length > 0);
}

function unknownSection({ unknown }: AttentionData): AttentionSection {
  return {
    kind: 'unknown',
    tone: 'bad',
    heading: 'Outcome unknown',
    items: unknown.slice(0, SHOWN).map((task) => ({
      ...ofTask(task),
      why: sentences(
        short(task.error?.message ?? 'The effect may or may not have taken place.'),
        lateWords(task),
      ),
      at: task.finishedAt,
      action: task.lateReport
        ? { words: 'Take the late report, or decide', href: taskAddress(task.id, 'resolve') }
        : { words: 'Look outside, then resolve', href: taskAddress(task.id, 'resolve') },
    })),
    ...moreOf(unknown, {
      words: 'All with unknown outcome',
      href: listAddress({ statuses: ['outcome-unknown'] }),
    }),
  };
}

function undecidedSection({ undecided }: AttentionData): AttentionSection {
  return {
    kind: 'undecided',
    tone: 'bad',
    heading: 'Wait for a decision',
    items: undecided.slice(0, SHOWN).map((task) => ({
      ...ofTask(task),
      why: task.lateReport
        ? sentences(lateWords(task), errorWords(task))
        : sentences(errorWords(task), GATE_PASSED),
      at: task.finishedAt ?? task.lateReport?.at,
      action: task.lateReport
        ? { words: 'Take the late report', href: taskAddress(task.id, 'resolve') }
        : { words: 'Decide about a repeat', href: taskAddress(task.id, 'retry') },
    })),
    ...moreOf(undecided, {
      words: 'All that wait for a decision',
      href: listAddress({ attention: true }),
    }),
  };
}

/** Places of the queue where nobody will come by itself. */
function waitingSection({ queue, workers, nowMs }: AttentionData): AttentionSection {
  const waiting = queue.filter(({ queued }) => queued > 0);
  const able = workersByPlace(waiting, workers);
  const stuck = waiting
    .flatMap((group) => {
      const { hope, served } = waitsFor(group, able(group));
      return hope ? [] : [{ group, served }];
    })
    .sort((a, b) => (a.group.oldestQueuedAtMs ?? nowMs) - (b.group.oldestQueuedAtMs ?? nowMs));
  return {
    kind: 'waiting',
    tone: 'warn',
    heading: 'Waiting with no worker',
    items: stuck.slice(0, SHOWN).map(({ group, served }) => {
      const { type, schemaVersion, pool, queued, oldestQueuedAtMs } = group;
      const href = listAddress({
        statuses: ['queued'],
        type,
        version: String(schemaVersion),
        pool,
      });
      return {
        id: idOf('waiting', pool, type, schemaVersion),
        of: { type, schemaVersion, href },
        beside: `${counted(queued, 'task')} in pool ${pool}`,
        // Names that come near are looked for among all, so only for what is shown.
        why: sentence(capital(waitsFor(group, workers).words)),
        at: oldestQueuedAtMs,
        action: served
          ? { words: 'See its workers', href: '/workers' }
          : { words: 'See what is missing', href: `${href}#compare` },
      };
    }),
    ...moreOf(stuck, { words: 'All that is queued', href: listAddress({ statuses: ['queued'] }) }),
  };
}

function losingSection({ losing }: AttentionData): AttentionSection {
  return {
    kind: 'losing',
    tone: 'warn',
    heading: 'Lost again and again',
    items: losing.slice(0, SHOWN).map((task) => ({
      id: `losing-${task.id}`,
      of: { ...task, href: taskAddress(task.id) },
      beside: task.id,
      why: sentences(
        `Its worker was lost ${task.losses} times; it is ${task.status}${task.worker === undefined ? '' : `, ${task.status === 'running' ? 'on' : 'last on'} ${task.worker}`}.`,
        task.why && `The last time: ${short(task.why)}`,
      ),
      at: undefined,
      action: { words: 'See its attempts', href: `${taskAddress(task.id)}#attempts` },
    })),
    ...(losing.length > SHOWN && {
      more: { words: 'All that is running', href: listAddress({ statuses: ['running'] }) },
    }),
  };
}

function failureSections({ failures, among, nowMs }: AttentionData): AttentionSection[] {
  const items = ({ group, message, atMs }: Failures): AttentionItem => {
    const { type, schemaVersion, code, tasks, newestId } = group;
    const title = isCatalogued(code) ? plain(taskErrorCodes[code].title) : undefined;
    // Where the message begins as the title does, once is enough.
    const known =
      title === undefined || message?.startsWith(title.slice(0, SAME_CHARS)) ? undefined : title;
    const name = `${code === '' ? 'Failed' : code}${known === undefined ? '' : ` (${known})`}`;
    const one = tasks === 1;
    return {
      id: idOf('failed', type, schemaVersion, code),
      of: {
        type,
        schemaVersion,
        href: listAddress({ statuses: ['failed'], type, version: String(schemaVersion) }),
      },
      beside: counted(tasks, 'task'),
      why: sentences(
        message === undefined ? name : withCode(name, short(message)),
        // Of many, the newest says how old they are at most.
        one || atMs === undefined
          ? undefined
          : `The newest ${durationWords(Math.max(1_000, nowMs - atMs))} ago.`,
      ),
      at: atMs,
      action:
        code === 'RESULT_REFUSED'
          ? { words: 'Where the result is', href: taskAddress(newestId) }
          : one
            ? { words: 'See why, then retry', href: taskAddress(newestId) }
            : { words: 'See the newest', href: taskAddress(newestId) },
    };
  };
  const refused = failures.filter(({ group }) => group.code === 'RESULT_REFUSED');
  const others = failures.filter(({ group }) => group.code !== 'RESULT_REFUSED');
  const looked = failures.reduce((sum, { group }) => sum + group.tasks, 0);
  const more = (list: readonly unknown[]) =>
    list.length > SHOWN || looked >= among
      ? { more: { words: 'All that failed', href: listAddress({ statuses: ['failed'] }) } }
      : {};
  return [
    {
      kind: 'refused',
      tone: 'bad',
      heading: `Results that were refused in the last ${STANDS}`,
      items: refused.slice(0, SHOWN).map(items),
      ...more(refused),
    },
    {
      kind: 'failed',
      tone: 'bad',
      heading: `Failed in the last ${STANDS}${looked >= among ? ` (of the newest ${cappedWords(among, among)})` : ''}`,
      items: others.slice(0, SHOWN).map(items),
      ...more(others),
    },
  ];
}

/** Of its parts, joined by what none of them holds then: two things never have the same. */
function idOf(...parts: readonly (string | number)[]): string {
  return parts.map((part) => encodeURIComponent(String(part).toWellFormed())).join(',');
}

function ofTask({
  id,
  type,
  schemaVersion,
}: TaskView): Pick<AttentionItem, 'id' | 'of' | 'beside'> {
  return { id: `needs-${id}`, of: { type, schemaVersion, href: taskAddress(id) }, beside: id };
}

function lateWords({ lateReport }: TaskView): string | undefined {
  return (
    lateReport && `Its worker reported "${lateReport.op}" after the attempt had ended as lost.`
  );
}

function errorWords({ error }: TaskView): string | undefined {
  return error && withCode(error.code, short(error.message));
}

/** One after the other, each ended by a full stop. */
function sentences(...parts: readonly (string | undefined)[]): string {
  return parts
    .filter((part) => part !== undefined && part !== '')
    .map((part) => (/[.!?\u2026]$/.test(part as string) ? part : `${part}.`))
    .join(' ');
}

/** The first line, as far as a row goes: all of it stands on the page of the task. */
function short(text: string): string {
  return cut(text.split('\n', 1)[0] ?? '', WHY_CHARS);
}

const capital = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1);
/** Texts of the catalogue mark code. */
const plain = (text: string) => text.replaceAll('`', '');

function moreOf(
  list: readonly unknown[],
  more: AttentionSection['more'],
): Pick<AttentionSection, 'more'> {
  return list.length > SHOWN && more ? { more } : {};
}

/** What failed before is under its status only, so that one that is final goes from here. */
const STANDS = `${taskPageDefaults.failureStandsMs / 3_600_000} h`;
/** Rows of a section: five sections fit on a desk's screen, the rest is a link away. */
export const SHOWN = 5;
const SAME_CHARS = 22;
const WHY_CHARS = 280;
