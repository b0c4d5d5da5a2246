/** Numbers of what lies on disk: the spool and the outbox. Given on by `defaults.ts`. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The spool. */
export const spoolDefaults = {
  /** A group takes whatever waits, up to these bounds: one write, one fsync (two where its file is new). */
  groupRecords: 256,
  groupBytes: 4 * 1_048_576,
  /**
   * Groups share a file (segment) up to this size: large enough that making and removing it costs nothing beside its
   * records, small enough that one report that nobody answers keeps little of the disk.
   */
  segmentBytes: 1_048_576,
  /** A larger record is written as a file of its own: it holds up no other, and whole or not at all is there after a crash. */
  segmentRecordBytes: 262_144,
  /** A segment waits this long for the next record before it is closed: longer than a busy worker's pauses between tasks. */
  segmentLingerMs: 200,
  /** Groups of such records under way at once: the next one is written while the folder of the last is synced. */
  writers: 2,
  /** Files that are read at once at a start: far below the smallest limit of open files, and a waiting disk is kept busy. */
  readsAtOnce: 8,
  /** A group file that is larger holds one single report, or is none of ours; its ends tell. */
  groupFileBytes: 16 * 1_048_576,
  /** No larger text can be written or read by this runtime: such a file is none of ours. */
  groupFileMaxBytes: 512 * 1_048_576 - 64,
  /** Above either the worker claims nothing new; reports of running handlers are still taken. */
  pendingRecords: 50_000,
  pendingBytes: 256 * 1_048_576,
  /** The age of the oldest is no bound: nothing is dropped for it. It is told once a day from here on. */
  pendingOldMs: 24 * HOUR,
  /** Set-asides of each folder are removed when older, or when there are more or they are larger in all (oldest first). */
  setAsideKeptMs: 30 * 24 * HOUR,
  setAsideKept: 10_000,
  setAsideKeptBytes: 256 * 1_048_576,
  /** Larger ones, at most four of the largest results, have as much room of their own: they push no ordinary one out. */
  setAsideLargeBytes: 16 * 1_048_576,
  /** The answer (64 KB at most) comes first in a set-aside, then the head of its report: here its task is found. */
  setAsideHeadBytes: 131_072,
  /** … which is looked after this often. */
  upkeepEveryMs: HOUR,
  /** Ages count when the wall clock has gone on evenly for so long: whoever set it wrongly has time to see it … */
  clockEvenMs: 24 * HOUR,
  /** … and it was set where it is further from the steady clock than drift explains, from one look to the next. */
  clockStepMs: MINUTE,
  /** A doctor's probe lives for seconds: an older one was left by a crash. */
  probeOldMs: 10 * MINUTE,
  /** A holder that cannot be judged (another host or container) counts as gone after this silence … */
  lockSilenceMs: 16 * SECOND,
  /** … and is looked at this often. Its signs of life come every 5 s. */
  lockLookMs: 250,
  /** A holder whose lock was removed by hand has put it back after this. */
  lockReturnMs: 8 * SECOND,
  /** A lock that was altered is taken again with so many tries before the spool counts as lost. */
  lockTries: 8,
  /** A spool that could not be written is tried this often. */
  probeEveryMs: 5 * SECOND,
  /**
   * Given up first when the disk is full: what runs then has room for its marks and, with sixteen of the largest results
   * that a control plane takes, for its reports. Small enough for an SD card to write in a second.
   */
  reserveBytes: 4 * 1_048_576,
  /** Somebody may remove the reserve, or put something else there: it is looked at this often. */
  reserveLookMs: MINUTE,
  /** The reserve is made again where this much is free beside it, so that the next claim's records do not meet a full disk. */
  roomBytes: 1_048_576,
} as const;

/** The producers' outbox. */
export const outboxDefaults = {
  /** Above either a submission is refused with `OUTBOX_FULL`. A file holds one submission, or up to 256 of one `submitMany`. */
  files: 50_000,
  bytes: 256 * 1_048_576,
  /** What other processes added and removed is counted again after this. */
  measureEveryMs: 30 * SECOND,
  /** Passes after one without an answer. The longest wait is how late a control plane is noticed to be back. */
  retry: { initialMs: 500, factor: 2, maxMs: 30 * SECOND, jitter: 0.3 },
  /** After 401, 403 or 404: somebody has to act first. */
  refusedRetry: { initialMs: 2 * SECOND, factor: 2, maxMs: MINUTE, jitter: 0.3 },
  /** An idle producer looks this often for what other processes left in the folder. */
  lookEveryMs: 30 * SECOND,
  /** While another process sends what is there, it is looked this often whether it still does. */
  lockEveryMs: 15 * SECOND,
  /** What a process stored itself waits this long for the lock, so that older ones of others go first. */
  lockWaitMs: 3 * SECOND,
  /** After an outage any answered call starts a pass, at most this often. */
  hurryGapMs: SECOND,
  /** Submissions of a pass that get no answer while the control plane answers others; more and the pass ends. */
  strangeMax: 8,
  /** Tries of one submission are written down each up to here, then when their number has doubled. */
  triesWritten: 8,
  /** A file that a killed writer left unfinished is older than any write can take. */
  leftoverMs: HOUR,
  /** At the end of a process: for calls under way. */
  closeMs: SECOND,
} as const;
