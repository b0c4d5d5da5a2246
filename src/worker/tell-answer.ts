import type { ReportVerdict } from '../core/attempt.ts';
import type { Log } from '../ports/log.ts';
import { type Held, label, reportOf } from './attempts.ts';

/** Tells people what became of a report that was not simply accepted. */
export function tellAnswer(log: Log, held: Held, verdict: ReportVerdict): void {
  const { op } = reportOf(held);
  const ids = { taskId: held.attempt.taskId, attemptId: held.attempt.attemptId, op };
  if (verdict.kind === 'stale') {
    const kept = verdict.recorded
      ? 'The control plane kept it as a late report; an operator can take it.'
      : 'Another attempt or an operator decided the task.';
    const aside = op === 'release' ? '' : ' It is set aside in the spool.';
    log.warn('report.stale', `The ${op} of ${label(held)} came too late. ${kept}${aside}`, ids);
  } else if (verdict.kind === 'refused') {
    const { problem } = held.refusal ?? {};
    log.error(
      'report.refused',
      `The ${op} of ${label(held)} was refused for good (${problem?.code}): ${problem?.detail ?? ''} It is set aside in the spool; see \`interlock tasks doctor --spool\`.`,
      ids,
    );
  }
}
