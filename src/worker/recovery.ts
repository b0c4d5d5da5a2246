import { lostAfterRestart } from '../core/attempt.ts';
import { four } from '../core/attempt-report.ts';
import { label, type Named } from './attempts.ts';
import type { WorkerContext } from './context.ts';
import type { RunAttempt } from './run-attempt.ts';
import type { SpooledReport } from './spool.ts';

/**
 * What an earlier process left: its handlers are ended and seen gone before anything is said, then every running
 * record without a report becomes a `lost`, and every report on disk is sent as it is. Nothing is resumed.
 * Returns the ids of the attempts that were lost.
 */
export async function recover(ctx: WorkerContext, run: RunAttempt): Promise<string[]> {
  const { spool, log } = ctx.ports;
  await ctx.settings.endOldHosts?.();
  const { reports, running } = spool.recovered;
  if (reports.length + running.length > 0) {
    log.info(
      'recovery.found',
      `An earlier process left ${reports.length} report${reports.length === 1 ? '' : 's'} to be sent and ${running.length} attempt${running.length === 1 ? '' : 's'} without a report.`,
      { reports: reports.length, running: running.length },
    );
  }
  await Promise.all(
    running.map(async (record) => {
      const report = lostAfterRestart(record, record.begun);
      try {
        const written = await spool.writeReport(report, {
          type: record.type,
          schemaVersion: record.schemaVersion,
          ...(record.project === undefined ? {} : { project: record.project }),
          followUp: false,
        });
        run.reports.add(run.attempts.addReported(record, report, written));
      } catch (cause) {
        log.error(
          'recovery.not-written',
          `That ${label({ attempt: record })} was lost could not be written to the spool: ${cause instanceof Error ? cause.message : String(cause)} It is tried again, and sent directly.`,
          { attemptId: record.attemptId },
        );
        ctx.spoolFailed(cause);
        run.writeReport(run.attempts.addEnding(record, report));
      }
    }),
  );
  for (const record of reports) {
    run.reports.add(run.attempts.addReported(named(record), record.report, record));
  }
  return running.map(({ attemptId }) => attemptId);
}

function named(record: SpooledReport): Named {
  return { ...four(record.report), type: record.type, schemaVersion: record.schemaVersion };
}
