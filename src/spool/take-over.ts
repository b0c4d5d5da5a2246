import type { Recovered } from './recover.ts';
import type { ReportBook } from './report-book.ts';
import type { RunningBook } from './running-book.ts';
import type { RecoveredRunning } from './shapes.ts';
import type { SpooledReport } from './spooled-report.ts';

/** What earlier sessions left: owed reports, and attempts that were held and have no report. */
export interface TakenOver {
  readonly reports: readonly SpooledReport[];
  readonly running: readonly RecoveredRunning[];
  /** Bad lines found at this start and set aside. */
  readonly corrupt: number;
}

/** Opens in the books what was found; what is done with goes. */
export function takeOver(found: Recovered, reports: ReportBook, running: RunningBook): TakenOver {
  for (const file of found.empty.reports) reports.drop(file);
  for (const file of found.empty.running) running.drop(file);
  return {
    reports: found.reports.map((one) => reports.found(one, found.kept.has(`reports/${one.file}`))),
    running: found.running.map(({ file, record, trace }) => {
      running.found(file, record.attemptId, found.kept.has(`running/${file}`));
      return { ...record, ...trace };
    }),
    corrupt: found.corrupt,
  };
}
