import type { ReportVerdict } from '../core/attempt.ts';
import type { Log } from '../ports/log.ts';
import { spoolFlag } from '../spool/index.ts';
import { type Held, label, reportOf } from './held.ts';

/** Tells people what became of a report that was not simply accepted. @param folder of the spool. */
export function tellAnswer(log: Log, held: Held, verdict: ReportVerdict, folder: string): void {
  const { op } = reportOf(held);
  const { taskId } = held.attempt;
  const ids = { taskId, attemptId: held.attempt.attemptId, op };
  if (verdict.kind === 'stale') {
    const kept = verdict.recorded
      ? `The control plane kept it as a late report; an operator can take it: interlock tasks resolve ${taskId} --as late-report --reason "…".`
      : ended(held, op);
    const aside = op === 'release' ? '' : ` It is set aside in the spool ${folder}.`;
    log.warn('report.stale', `The ${op} of ${label(held)} came too late. ${kept}${aside}`, ids);
  } else if (verdict.kind === 'refused') {
    const { problem } = held.refusal ?? {};
    log.error(
      'report.refused',
      `The ${op} of ${label(held)} was refused for good (${problem?.code}): ${sentence(problem?.detail ?? '')}It is set aside in the spool; see interlock spool show ${taskId}${spoolFlag(folder)}`,
      ids,
    );
  }
}

/** Who ended the attempt before: the answer says it better than can be guessed from here. */
function ended({ refusal }: Held, op: string): string {
  if (op === 'lost' && refusal?.problem.code === 'LEASE_EXPIRED')
    return 'Its lease had run out, so the control plane had ended the attempt as lost by itself: what is known here of the loss is not in its journal.';
  return `The control plane had ended the attempt before. ${sentence(refusal?.problem.detail ?? '')}`.trim();
}

function sentence(text: string): string {
  return text === '' ? '' : /[.!?\u2026]$/.test(text) ? `${text} ` : `${text}. `;
}
