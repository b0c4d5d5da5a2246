import type { TerminalReport } from '../contract/index.ts';
import type { ReportRecord } from './records.ts';
import { headOf } from './report-head.ts';

/**
 * A terminal report on disk. Hand the same object back to `answered` or `setAside`. Its body stays on the disk: an outage
 * may leave more of them than there is memory.
 */
export interface SpooledReport extends Omit<ReportRecord, 'kind' | 'body'> {
  /** What it says, without what can be large: never to be sent. */
  readonly head: TerminalReport;
  /** Of its record on disk. */
  readonly bytes: number;
  /** Its checksum: names it. */
  readonly sum: string;
}

/** @param bytes of its line @param sum its checksum */
export function spooledReport(record: ReportRecord, bytes: number, sum: string): SpooledReport {
  const { serviceUrl, project, workerId, sessionId, type, schemaVersion } = record;
  const { workedAt, spooledAt, followUp, body } = record;
  return {
    serviceUrl,
    ...(project !== undefined && { project }),
    workerId,
    sessionId,
    type,
    schemaVersion,
    workedAt,
    spooledAt,
    followUp,
    head: headOf(body),
    bytes,
    sum,
  };
}
