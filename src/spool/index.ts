/**
 * What must outlive this process: terminal reports until they are answered, and which attempts are held. Plain
 * files that a person can read; the format is in `spool/README.md`. Order on disk, exactly: write < fsync of the file, and
 * of the folder where the file is new < the promise resolves (and only then may the caller send).
 */

export { spoolFlag } from '../core/spool-words.ts';
export type { SpoolErrorCode } from './errors.ts';
export { spoolErrorCodes } from './errors.ts';
export type { SpoolInspection } from './inspect.ts';
export { inspectSpool, probeName } from './inspect.ts';
export { isSpoolName } from './layout.ts';
export type { OpenSpool, SpoolOptions } from './open.ts';
export { openSpool } from './open.ts';
export type { Predecessor } from './owner.ts';
export type { ProgressMark, RunningRecord, Trace, WorkedAt } from './records.ts';
export { discardAsides, isAside } from './set-aside-discard.ts';
export { type OpenedEntry, openEntry } from './set-aside-open.ts';
export {
  type EntryAnswer,
  type EntryState,
  entryStates,
  readEntries,
  type SpoolEntry,
} from './set-aside-read.ts';
export { type PutBack, type PutBackResult, putBack } from './set-aside-retry.ts';
export type { RecoveredRunning, ReportMeta, SpooledReport, SpoolStats } from './spool.ts';
export { Spool } from './spool.ts';
