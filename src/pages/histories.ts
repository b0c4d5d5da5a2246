import { type HistorySpan, historyDefaults } from '../core/history-defaults.ts';
import { type History, history, historyFrom } from '../core/type-history.ts';
import type { Reads } from '../ports/store.ts';
import type { PageRequest } from './page.ts';

/** What attempts of the project did in the last hour or day. Read from rows that are there anyway, and kept for some seconds. */
export async function historyOf(
  { reads, project, nowMs }: Pick<PageRequest, 'reads' | 'project' | 'nowMs'>,
  span: HistorySpan,
): Promise<History> {
  const histories = kept.get(reads) ?? new Map<string, Kept>();
  kept.set(reads, histories);
  const name = JSON.stringify([project, span]);
  const had = histories.get(name);
  if (had && Math.abs(nowMs - had.atMs) < historyDefaults.keptMs) return had.history;
  if (histories.size >= historyDefaults.histories) histories.clear();
  const one: Kept = { atMs: nowMs, history: read(reads, project, nowMs, span) };
  histories.set(name, one);
  // What went wrong is not kept.
  one.history.catch(() => histories.get(name) === one && histories.delete(name));
  return one.history;
}

interface Kept {
  readonly atMs: number;
  /** Those who ask at the same moment wait for one look. */
  readonly history: Promise<History>;
}

const kept = new WeakMap<Reads, Map<string, Kept>>();

async function read(
  reads: Reads,
  project: string,
  nowMs: number,
  name: HistorySpan,
): Promise<History> {
  const span = historyDefaults.spans[name];
  const since = historyFrom(nowMs, span) - historyDefaults.earlierMs;
  return history(nowMs, span, await reads.attemptsSince(project, since, historyDefaults.attempts));
}

/** Of the address: `?span=24h`; the last hour otherwise. */
export function spanOf(query: URLSearchParams): HistorySpan {
  return query.get('span') === '24h' ? '24h' : '1h';
}
