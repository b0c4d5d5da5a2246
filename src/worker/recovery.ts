import type { ReportOf } from '../contract/index.ts';
import { lostAfterRestart } from '../core/attempt.ts';
import { four } from '../core/attempt-report.ts';
import { lostEvidence, stillRunning } from '../core/lost-evidence.ts';
import { noOldHosts } from '../ports/old-hosts.ts';
import type { RecoveredRunning, SpooledReport } from '../spool/index.ts';
import type { WorkerContext } from './context.ts';
import { label, type Named } from './held.ts';
import type { RunAttempt } from './run-attempt.ts';
import { StuckHosts } from './stuck-hosts.ts';

/**
 * What an earlier process left: its handlers are ended and seen gone before anything is said, then every running
 * record without a report becomes a `lost` with what is known of it, and every report on disk is sent as it is. Nothing
 * is resumed. Attempts whose handlers cannot be ended keep their slots and wait (`StuckHosts`).
 * Returns the ids of the attempts that were lost.
 */
export async function recover(ctx: WorkerContext, run: RunAttempt): Promise<string[]> {
  const { spool, log } = ctx.ports;
  const old = (await ctx.settings.endOldHosts?.()) || noOldHosts;
  const { reports, running } = spool.recovered;
  if (reports.length + running.length > 0) {
    log.info(
      'recovery.found',
      `An earlier process left ${reports.length} report${reports.length === 1 ? '' : 's'} to be sent and ${running.length} attempt${running.length === 1 ? '' : 's'} without a report.`,
      { reports: reports.length, running: running.length },
    );
  }
  const lostOf = (record: RecoveredRunning): ReportOf<'lost'> =>
    lostAfterRestart(record, record.begun, lostEvidence(record, spool.predecessor, old));
  const stuck = stillRunning(running, old.left);
  if (old.left.length > 0) new StuckHosts(ctx, run, old, lostOf).hold(stuck);
  const gone = running.filter((record) => !stuck.has(record));
  await Promise.all(
    gone.map(async (record) => {
      const report = lostOf(record);
      const workedAt = {
        claimedAt: record.claimedAt,
        ...(record.begunAt === undefined ? {} : { startedAt: record.begunAt }),
      };
      try {
        const written = await spool.writeReport(report, {
          type: record.type,
          schemaVersion: record.schemaVersion,
          ...(record.project === undefined ? {} : { project: record.project }),
          followUp: false,
          workedAt,
        });
        run.reports.add(run.attempts.addReported(record, report, written));
      } catch (cause) {
        log.error(
          'recovery.not-written',
          `That ${label({ attempt: record })} was lost could not be written to the spool: ${cause instanceof Error ? cause.message : String(cause)} It is tried again, and sent directly.`,
          { attemptId: record.attemptId },
        );
        ctx.spoolFailed(cause);
        const ending = run.attempts.addEnding(record, report);
        ending.workedAt = workedAt;
        run.writeReport(ending);
      }
    }),
  );
  for (const record of reports) {
    const held = run.attempts.addReported(named(record), record.head, record);
    held.bodyOnDisk = true;
    run.reports.add(held);
  }
  return gone.map(({ attemptId }) => attemptId);
}

function named(record: SpooledReport): Named {
  return { ...four(record.head), type: record.type, schemaVersion: record.schemaVersion };
}
