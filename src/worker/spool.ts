/**
 * What must outlive this process: terminal reports until they are answered, and which attempts are held. Plain
 * files that a person can read; the format is in `spool/README.md`. Order on disk, exactly: write < fsync file <
 * rename < fsync folder < the promise resolves (and only then may the caller send).
 */

export type { SpoolErrorCode } from './spool/errors.ts';
export { spoolErrorCodes } from './spool/errors.ts';
export type { SpoolInspection } from './spool/inspect.ts';
export { inspectSpool } from './spool/inspect.ts';
export type { OpenSpool, SpoolOptions } from './spool/open.ts';
export { openSpool } from './spool/open.ts';
export type { RunningRecord, WorkedAt } from './spool/records.ts';
export type { RecoveredRunning, ReportMeta, SpooledReport, SpoolStats } from './spool/spool.ts';
export { Spool } from './spool/spool.ts';
