import type { RunningLine, Trace, WorkedAt } from './records.ts';

/** What is told beside a report: of its task, and for people. */
export interface ReportMeta {
  readonly type: string;
  readonly schemaVersion: number;
  /** Default: the project last told by `useProject` or the options. */
  readonly project?: string;
  /** It stands in for a report that was refused. */
  readonly followUp?: boolean;
  readonly workedAt?: WorkedAt;
}

/** A running record without a report; whether its handler got the input, as far as was recorded, and how far it was. */
export interface RecoveredRunning extends RunningLine, Trace {}

export interface SpoolStats {
  /** Reports not yet answered, and the bytes of their records. */
  readonly pending: number;
  readonly bytes: number;
  /** Age of the oldest, by the wall clock. */
  readonly oldestMs: number | null;
  /** `false`: claim nothing new. */
  readonly ok: boolean;
  /** In words, if not ok. */
  readonly why: string | undefined;
  readonly setAside: { readonly stale: number; readonly refused: number; readonly corrupt: number };
}
