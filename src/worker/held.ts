import type {
  Attempt,
  AttemptIdentity,
  Problem,
  StuckHandler,
  TerminalReport,
} from '../contract/index.ts';
import { bounds } from '../contract/limits.ts';
import { typeKey } from '../contract/names.ts';
import { type AttemptState, reportedAttempt } from '../core/attempt.ts';
import type { RunningJob } from '../ports/carrier.ts';
import type { Timer } from '../ports/clock.ts';
import type { SpooledReport, WorkedAt } from '../spool/index.ts';
import type { ServedHandler } from './context.ts';
import type { JobWords } from './job-words.ts';

/** What is known of every attempt, also of one that only a record on disk tells of. */
export type Named = AttemptIdentity & Pick<Attempt, 'type' | 'schemaVersion'>;

/** When a lease ends and is renewed, by the clock. */
export interface LeaseTimes {
  /** Counted from the send of the request whose answer told it. */
  leaseUntil: number;
  leaseMs: number;
  renewAt: number;
}

/**
 * An attempt that this worker has, with what the outside of its machine needs. All its members are there from the beginning:
 * thousands come and go a second, and an object whose members come and go is a slow one.
 */
export class Held implements LeaseTimes {
  attempt: Named;
  state: AttemptState;
  /** When its claim was sent, by the clock. */
  readonly claimedAt: number;
  /** Its running record is written: it may be begun. */
  recorded: boolean;
  leaseUntil: number;
  leaseMs: number;
  renewAt: number;
  /** When a renewal was last sent, and how many in a row got no answer. */
  renewSentAt = Number.NEGATIVE_INFINITY;
  renewFailures = 0;
  /** When the last one is sent again should no answer come. */
  renewEarlyAt = Number.POSITIVE_INFINITY;
  /** The lease has run out, and the machine was told so (or never knew it); reset by a renewal. */
  leaseToldOut = false;
  /** What is needed to run it; absent where there is only a report left to be answered that is not in memory. */
  work: { readonly attempt: Attempt; readonly handler: ServedHandler } | undefined = undefined;
  /** The record says that it begins, on this host. */
  begunOn: { readonly host: string | undefined } | undefined = undefined;
  /** When it got its slot, by the clock. */
  slotAt: number | undefined = undefined;
  /** It was claimed beyond the free slots: when it came, by the clock. */
  aheadSince: number | undefined = undefined;
  /** Of what its handler returned, as JSON. */
  resultBytes: number | undefined = undefined;
  /** When its handler got its input, by the clock. */
  begunAt: number | undefined = undefined;
  job: RunningJob | undefined = undefined;
  /** Its time limits and the end of its grace. */
  timers: Timer[] | undefined = undefined;
  /** Its handler was started by an earlier session and does not go: the processes of it. */
  leftPids: readonly number[] | undefined = undefined;
  words: JobWords | undefined = undefined;
  record: SpooledReport | undefined = undefined;
  /** The machine's report is only the head of it: what is to be sent is read from the record. */
  bodyOnDisk = false;
  /** Bytes that its report is counted with among those kept in memory. */
  keptBytes = 0;
  /** A report that was answered without ever being on disk: where it must be set aside, it is written for that. */
  unwritten: { readonly report: TerminalReport; readonly followUp: boolean } | undefined =
    undefined;
  /** By the wall clock (RFC 3339), for people: told in the record of its report. */
  workedAt: { -readonly [When in keyof WorkedAt]: WorkedAt[When] } | undefined = undefined;
  /** The answer that sets the record aside, kept beside it. */
  refusal: { readonly status: number; readonly problem: Problem } | undefined = undefined;

  constructor(
    attempt: Named,
    state: AttemptState,
    claimedAt: number,
    recorded: boolean,
    lease: LeaseTimes,
  ) {
    this.attempt = attempt;
    this.state = state;
    this.claimedAt = claimedAt;
    this.recorded = recorded;
    this.leaseUntil = lease.leaseUntil;
    this.leaseMs = lease.leaseMs;
    this.renewAt = lease.renewAt;
  }

  /**
   * It is over: what it needed to run goes. A `Map` that things come into and leave all the time is made anew again and
   * again, and an old table of it that V8 has moved among the old objects keeps what was in it, and each table after it,
   * until all of the memory is looked through: so what was here stays much longer than it is wanted, and must be little.
   */
  letGo(): void {
    this.work = undefined;
    this.job = undefined;
    this.timers = undefined;
    this.words = undefined;
    const { taskId, attemptId, fence, leaseToken, type, schemaVersion } = this.attempt;
    this.attempt = { taskId, attemptId, fence, leaseToken, type, schemaVersion };
  }

  /** It is over, and its record is on its way out: what it said goes too. */
  removed(): void {
    this.state = OVER;
    this.record = undefined;
  }

  /** Whether a cancel still reaches something: nothing is stopped once the report is made. */
  get canStop(): boolean {
    return this.state.phase === 'claimed' || this.state.phase === 'running';
  }
}

const NOTHING = { taskId: '', attemptId: '', fence: 0, leaseToken: '' } as const;
const OVER: AttemptState = {
  ...reportedAttempt(NOTHING, { op: 'release', ...NOTHING, reason: '' }),
  phase: 'acknowledged',
  report: undefined,
};

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

/** How an attempt is over, and whether somebody should see it: `has failed (INPUT_INVALID), acknowledged. …` */
export function overInWords(
  { phase, report }: AttemptState,
  taskId: string,
): { readonly level: 'info' | 'warn'; readonly says: string } {
  // That a report was late or refused was told, with all there is to it.
  if (report === undefined || (phase !== 'lost' && phase !== 'acknowledged'))
    return { level: 'info', says: `is ${phase}.` };
  switch (report.op) {
    case 'complete':
      return { level: 'info', says: 'has succeeded, acknowledged.' };
    case 'fail':
    case 'unknown': {
      const how = report.op === 'fail' ? 'has failed' : 'has ended with unknown outcome';
      const why = `Why: interlock tasks show ${taskId}`;
      return { level: 'warn', says: `${how} (${report.error.code}), acknowledged. ${why}` };
    }
    case 'cancelled':
      return { level: 'info', says: 'was cancelled, acknowledged.' };
    case 'lost': {
      const { reason, message } = report;
      const said = message === undefined ? '' : ` ${message}`;
      // Somebody asked for these.
      const level = reason === 'drain' || reason === 'cancel' ? 'info' : 'warn';
      return { level, says: `is lost (${reason}).${said}` };
    }
    default:
      return { level: 'info', says: `is ${phase}.` };
  }
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
