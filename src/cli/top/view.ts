import { type DoctorAnswer, type TaskView, typeKey } from '../../contract/index.ts';
import { failureStands } from '../../core/failures.ts';
import { isUnserved, noteOf } from '../../core/task-words.ts';
import { topDefaults } from '../../core/top-defaults.ts';

/** What there is to see, in the order in which it matters. Pure. */

/** What the control plane told at one look. */
export interface News {
  readonly attention: readonly TaskView[];
  readonly running: readonly TaskView[];
  readonly queued: readonly TaskView[];
  /** The newest of them: among `newest` they may be covered by what succeeded since. */
  readonly failed: readonly TaskView[];
  readonly newest: readonly TaskView[];
  readonly doctor: DoctorAnswer;
}

export interface Section {
  readonly title: string;
  readonly tasks: readonly TaskView[];
  /** Only the newest were looked at, and all that were asked for came: there may be more. */
  readonly orMore: boolean;
}

/**
 * What needs a person (of failures those of the last day), what runs, what waits, what has ended; each task once, those
 * that fit the filter.
 */
export function sections(news: News, filter: string): Section[] {
  const seen = new Set<string>();
  const nowMs = Date.parse(news.doctor.serverTime);
  const section = (title: string, tasks: readonly TaskView[], orMore: boolean): Section => ({
    title,
    orMore,
    tasks: tasks.filter((task) => {
      if (seen.has(task.id)) return false;
      seen.add(task.id);
      return fits(task, filter);
    }),
  });
  const all = [...news.attention, ...news.queued, ...news.failed, ...news.newest];
  const { attention, running, queued, failed, newest } = topDefaults;
  const waiting = news.queued.length >= queued;
  // Where the oldest of the failures that came stands no longer, those before it do not either.
  const oldest = news.failed.length >= failed ? news.failed.at(-1) : undefined;
  const failures = oldest !== undefined && failureStands(oldest, nowMs);
  return [
    section(
      'Needs a person',
      [...news.attention, ...all.filter((task) => failureStands(task, nowMs) || isUnserved(task))],
      news.attention.length >= attention || waiting || failures,
    ),
    section('Running', news.running, news.running.length >= running),
    section('Waiting', news.queued, waiting),
    section('Ended', news.newest, news.newest.length >= newest),
  ].filter(({ tasks }) => tasks.length > 0);
}

/** `Needs a person (3)`; `(100 or more)` where not all were looked at. */
export function titleWords({ title, tasks, orMore }: Section): string {
  return `${title} (${tasks.length}${orMore ? ' or more' : ''})`;
}

/** All words of the filter are somewhere in what is shown of the task, in any case. */
function fits(task: TaskView, filter: string): boolean {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const { id, type, schemaVersion, status, pool, labels } = task;
  const named = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  const text = [id, typeKey(type, schemaVersion), status, pool, ...named, noteOf(task)]
    .join('\n')
    .toLowerCase();
  return words.every((word) => text.includes(word));
}
