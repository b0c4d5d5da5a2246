import type { TaskEvent, TaskView } from '../contract/index.ts';
import { cut, withCode } from './detail-words.ts';

/** How the attempts before this moment went, from the journal: what `tasks show` tells beside the state of now. */

/** Instants as their reader sees them. */
export interface Times {
  /** `3 min`; empty for what is no instant. */
  age(at: string): string;
  timeOf(at: string): string;
}

/** From here on the journal holds the end of the last attempt: each takes a handful of entries. */
export function tailOfJournal({ seq }: TaskView): number {
  return Math.max(0, seq - TAIL_ENTRIES);
}

/** The last entry that says that an attempt ended otherwise than well. @param events in order. */
export function lastTrouble(events: readonly TaskEvent[]): TaskEvent | undefined {
  return events.findLast(({ kind, attemptId }) => attemptId !== undefined && ENDS.has(kind));
}

/**
 * `#1 lost 2 min ago on garage: The worker's process (9232 on garage) was killed or crashed. …`; nothing where the
 * task's own error says the same.
 */
export function troubleWords(
  task: TaskView,
  event: TaskEvent | undefined,
  times: Times,
): string | undefined {
  if (!event || toldByError(task, event)) return undefined;
  const { at, by, data, fence, kind } = event;
  const worker = by.startsWith('worker:') ? by.slice('worker:'.length) : data.workerId;
  const where = typeof worker === 'string' ? ` on ${worker}` : '';
  const ago = times.age(at);
  const how = WORDS[kind] ?? kind;
  return `#${fence ?? '?'} ${how}${ago && ` ${ago} ago`}${where}: ${cut(why(event, times), WHY_CHARS)}`;
}

/** Why an attempt ended as it did, in a sentence. */
export function why({ kind, data }: TaskEvent, { timeOf }: Pick<Times, 'timeOf'>): string {
  const { code, leaseRanOutAt, message, reason } = data as Record<string, unknown>;
  if (typeof message === 'string' && message !== '')
    return typeof code === 'string' ? withCode(code, message) : message;
  if (typeof leaseRanOutAt === 'string')
    return `no word came before its lease ran out at ${timeOf(leaseRanOutAt)}`;
  if (typeof code === 'string') return code;
  return typeof reason === 'string' ? `reason ${reason}` : `see its journal (${kind})`;
}

/** The error of a task that has ended is that of its last attempt, mostly. */
function toldByError({ error, finishedAt }: TaskView, { kind, data }: TaskEvent): boolean {
  if (!error) return false;
  const { code, message } = data as Record<string, unknown>;
  if (kind === 'failed' || kind === 'unknown') return error.code === code;
  return finishedAt !== undefined && typeof message === 'string' && error.message.includes(message);
}

const ENDS: ReadonlySet<string> = new Set(['lost', 'failed', 'unknown', 'released']);
const WORDS: Readonly<Record<string, string>> = {
  unknown: 'ended with unknown outcome',
  released: 'was given back',
};
/** Whole, as far as evidence goes: two or three lines of a terminal. */
const WHY_CHARS = 400;
const TAIL_ENTRIES = 50;
