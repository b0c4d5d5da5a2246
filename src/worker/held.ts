import type {
  Attempt,
  AttemptIdentity,
  Problem,
  StuckHandler,
  TerminalReport,
} from '../contract/index.ts';
import { bounds } from '../contract/limits.ts';
import { typeKey } from '../contract/names.ts';
import type { AttemptState } from '../core/attempt.ts';
import type { RunningJob } from '../ports/carrier.ts';
import type { Timer } from '../ports/clock.ts';
import type { SpooledReport, WorkedAt } from '../spool/index.ts';
import type { ServedHandler } from './context.ts';
import type { JobWords } from './job-words.ts';

/** What is known of every attempt, also of one that only a record on disk tells of. */
export type Named = AttemptIdentity & Pick<Attempt, 'type' | 'schemaVersion'>;

/** An attempt that this worker has, with what the outside of its machine needs. */
export interface Held {
  readonly attempt: Named;
  /** What is needed to run it; absent where there is only a report left to be answered that is not in memory. */
  work?: { readonly attempt: Attempt; readonly handler: ServedHandler };
  state: AttemptState;
  /** When its claim was sent, by the clock. */
  readonly claimedAt: number;
  /** Its running record is written: it may be begun. */
  recorded: boolean;
  /** The record says that it begins, on this host. */
  begunOn?: { readonly host: string | undefined };
  /** By the clock: counted from the send of the request whose answer told it. */
  leaseUntil: number;
  leaseMs: number;
  renewAt: number;
  /** When a renewal was last sent, and how many in a row got no answer. */
  renewSentAt: number;
  renewFailures: number;
  /** When the last one is sent again should no answer come. */
  renewEarlyAt: number;
  /** The lease has run out, and the machine was told so (or never knew it); reset by a renewal. */
  leaseToldOut: boolean;
  /** When it got its slot, by the clock. */
  slotAt?: number;
  /** It was claimed beyond the free slots: when it came, by the clock. */
  aheadSince?: number;
  /** Of what its handler returned, as JSON. */
  resultBytes?: number;
  /** When its handler got its input, by the clock. */
  begunAt?: number;
  job?: RunningJob;
  /** Its time limits and the end of its grace. */
  timers?: Timer[];
  /** Its handler was started by an earlier session and does not go: the processes of it. */
  leftPids?: readonly number[];
  words?: JobWords;
  record?: SpooledReport;
  /** The machine's report is only the head of it: what is to be sent is read from the record. */
  bodyOnDisk?: boolean;
  /** A report that was answered without ever being on disk: where it must be set aside, it is written for that. */
  unwritten?: { readonly report: TerminalReport; readonly followUp: boolean };
  /** By the wall clock (RFC 3339), for people: told in the record of its report. */
  workedAt?: WorkedAt;
  /** The answer that sets the record aside, kept beside it. */
  refusal?: { readonly status: number; readonly problem: Problem };
}

/** `demo/hello@1 (task tsk_…)`: how a log names an attempt. */
export function label(held: {
  readonly attempt: Pick<Named, 'type' | 'schemaVersion' | 'taskId'>;
}): string {
  return `${typeKey(held.attempt.type, held.attempt.schemaVersion)} (task ${held.attempt.taskId})`;
}

export function reportOf(held: Held): TerminalReport {
  const { report } = held.state;
  if (!report) throw new Error(`attempt ${held.attempt.attemptId} has no report`);
  return report;
}

/** For the journal: which code its handler is. */
export function codeOf({ work }: Held): { readonly codeHash?: string } {
  const hash = work?.handler.code?.hash;
  return hash === undefined ? {} : { codeHash: hash };
}

/** `acknowledged.`, `lost (host-died). It held its thread …` */
export function overInWords({ phase, report }: AttemptState): string {
  if (phase !== 'lost' || report?.op !== 'lost') return `${phase}.`;
  const { reason, message } = report;
  return message === undefined ? `lost (${reason}).` : `lost (${reason}). ${message}`;
}

/** For presence and status. */
export function stuckHandler({ attempt, job, leftPids }: Held): StuckHandler {
  const pids = leftPids ?? (job?.pid === undefined ? [] : [job.pid]);
  return {
    type: attempt.type,
    schemaVersion: attempt.schemaVersion,
    taskId: attempt.taskId,
    attemptId: attempt.attemptId,
    ...(pids.length === 0 ? {} : { pids: pids.slice(0, bounds.stuck) }),
    ...(leftPids === undefined ? {} : { earlierSession: true }),
  };
}
