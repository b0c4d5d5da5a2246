import type { TerminalReport } from '../contract/index.ts';

/**
 * The same word without what can be large: enough to decide what an answer to it means, and what follows a refusal.
 * It is kept in memory while the report lies on disk; **never sent and never written**.
 */
export function headOf(report: TerminalReport): TerminalReport {
  const { taskId, attemptId, fence, leaseToken } = report;
  const four = { taskId, attemptId, fence, leaseToken };
  switch (report.op) {
    case 'complete':
      return { op: 'complete', ...four, result: null };
    case 'fail': {
      const { begun, error: { code = '', retryable = false } = {} } = report;
      const error = { code, message: '', retryable };
      return { op: 'fail', ...four, error, ...(begun === false ? { begun } : {}) };
    }
    case 'unknown': {
      // What lies on disk may have been written by another program, with less in it.
      const { code = '', retryable = false } = report.error ?? {};
      return { op: report.op, ...four, error: { code, message: '', retryable } };
    }
    case 'cancelled':
      return { op: 'cancelled', ...four };
    case 'lost': {
      const { reason, begun, killed } = report;
      return { op: 'lost', ...four, reason, begun, ...(killed === undefined ? {} : { killed }) };
    }
    case 'release':
      return { op: 'release', ...four, reason: report.reason };
  }
}
