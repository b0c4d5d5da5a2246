import { setAsideSum } from './layout.ts';
import type { GroupLine } from './read-group.ts';
import type { ReadFile, ReadSpool } from './read-spool.ts';
import type { MarkRecord, ReportRecord, RunningLine, Trace } from './records.ts';

export interface Found<R> {
  readonly file: string;
  readonly offset: number;
  readonly bytes: number;
  readonly sum: string;
  readonly record: R;
}

/** What the files of a spool mean. */
export interface Settled {
  /** Owed to the control plane, oldest first, one for an attempt. */
  readonly reports: readonly Found<ReportRecord>[];
  /** Attempts that were held and have no report. */
  readonly running: readonly (Found<RunningLine> & { readonly trace: Trace })[];
}

/**
 * Decides, from records and marks, what is still owed. A report wins over a running record. Of two reports of
 * one attempt the later one is owed: it was written in place of the earlier. One that is marked as answered counts for
 * nothing: it is done with, and its running record was marked before it, or its sync failed. One that was told to be stale is
 * never sent again; one that was refused is, unless it was itself the follow-up or has one: its follow-up was
 * not yet written, and the same refusal leads to it again.
 */
export function settle(read: ReadSpool): Settled {
  const stale = new Set(read.stale.map(setAsideSum));
  const refused = new Set(read.refused.map(setAsideSum));
  /** Attempts of which a report lies here that was not answered, also if it is set aside. */
  const reported = new Set<string>();
  const owed = new Map<string, Found<ReportRecord>>();
  for (const file of read.reports) {
    const answered = marked(file, 'answered');
    for (const line of file.content.lines) {
      const record = line.record as ReportRecord;
      const { attemptId } = record.body;
      const sum = line.sum.slice(0, 16);
      // Also one that never counted, since its sync failed: then what was before it does.
      if (answered.has(attemptId)) continue;
      reported.add(attemptId);
      // In the place of its age: a later report takes the earlier one's away.
      owed.delete(attemptId);
      if (stale.has(sum)) continue;
      if (record.followUp && refused.has(sum)) continue;
      owed.set(attemptId, found(file, line, record));
    }
  }
  const running = new Map<string, Found<RunningLine> & { trace: Trace }>();
  for (const file of read.running) {
    const ended = marked(file, 'ended');
    const traces = tracesOf(file.content.marks);
    for (const line of file.content.lines) {
      const record = line.record as RunningLine;
      const { attemptId } = record;
      if (ended.has(attemptId) || reported.has(attemptId)) continue;
      const trace = traces.get(attemptId) ?? { begun: false };
      running.set(attemptId, { ...found(file, line, record), trace });
    }
  }
  return { reports: [...owed.values()], running: [...running.values()] };
}

function found<R>(file: ReadFile, line: GroupLine, record: R): Found<R> {
  return { file: file.name, offset: line.offset, bytes: line.bytes, sum: line.sum, record };
}

function marked(file: ReadFile, mark: 'ended' | 'answered'): Set<string> {
  return new Set(
    file.content.marks.filter((one) => one.mark === mark).map(({ attemptId }) => attemptId),
  );
}

/** The last beginning (a host that did not take it is followed by another), the last progress. */
function tracesOf(marks: readonly MarkRecord[]): Map<string, Trace> {
  const traces = new Map<string, Trace>();
  for (const { mark, attemptId, at, host, percent, message } of marks) {
    const before = traces.get(attemptId) ?? { begun: false };
    if (mark === 'begun') {
      const { host: _, ...rest } = before;
      traces.set(attemptId, {
        ...rest,
        begun: true,
        begunAt: at,
        ...(host === undefined ? {} : { host }),
      });
    } else if (mark === 'progress')
      traces.set(attemptId, {
        ...before,
        lastProgress: {
          at,
          ...(percent === undefined ? {} : { percent }),
          ...(message === undefined ? {} : { message }),
        },
      });
  }
  return traces;
}
