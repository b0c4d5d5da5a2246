const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The control plane's socket. */
export const serverDefaults = {
  /** Senders of a head or a whole request that take longer hold a connection for nothing. */
  headersMs: 10 * SECOND,
  requestMs: 30 * SECOND,
  checkEveryMs: 2 * SECOND,
  /** Longer than clients and common proxies keep idle connections, so that they close first (no lost race). */
  keepAliveMs: 75 * SECOND,
  headerBytes: 16_384,
  /** The rest of a plain call is waited for so long in the short way: a piece of 64 KB takes some ms where the network is slow … */
  comingMs: SECOND,
  /** … of calls up to this, what a batch call may have (`limits.batchBytes`) … */
  comingBytes: 1_048_576,
  /** … and of all together: nobody has asked yet for whom it is kept. */
  comingInAllBytes: 16_777_216,
  connections: 10_000,
  /**
   * Requests that wait behind another of their connection: far more than any client sends ahead, and some 4 KB each …
   */
  pipelined: 1_000,
  /** … and those of all connections: some 40 MB. Who sends more ahead is cut; nobody else is. */
  pipelinedInAll: 10_000,
  /**
   * Items of one batch call, told as `limits.batch`: more than peers may count on that do not ask. A call and its commit cost
   * as much as ten tasks or so, and all of 128 tasks with their starts takes the thread some 10 ms.
   */
  batch: 256,
  /**
   * Attempts of one claim, told as `limits.claimMax`: half of what a worker may have ahead (`aheadDefaults.most`). With 100 a
   * claim there and back took longer than what it brought. Its answer ends at `limits.batchBytes` all the same.
   */
  claimMax: 256,
  /**
   * Calls that are under way, once for reports of workers and once for everything else. The store keeps what comes
   * together in one commit, and hundreds are as quick as thousands.
   */
  running: 256,
  /** … and that wait for their turn: about a second's work. What comes then is told to come back. */
  waiting: 2_048,
  /** Reads that are under way. One thread does them all: more at once would not be sooner, only more memory. */
  reading: 4,
  /** Answers that nobody has taken yet: above this no read begins. Eight of the largest pages. */
  untakenBytes: 67_108_864,
  /**
   * While reads wait for that, who has not taken an answer after this is cut. An honest reader over a slow line gets
   * `answerMs` otherwise.
   */
  pressedMs: 10 * SECOND,
  /** Read and dropped of a body that is too large, so that its sender, who writes first, meets the answer. */
  discardBytes: 33_554_432,
  discardMs: 5 * SECOND,
  /** No byte in or out, streams are pinged every 15 s: the peer is gone. */
  silenceMs: 2 * MINUTE,
  /**
   * An answer that is no stream is taken by its reader within this, from the first byte of its request on: a page of
   * 8 MB over 0.5 Mbit/s fits. Who takes a few bytes now and then would hold its memory for ever.
   */
  answerMs: 5 * MINUTE,
  /** Certificate files are looked at this often: replacing them needs no restart. */
  certificateLookMs: 10 * SECOND,
  /** Told once a day from then on. Authorities that renew by themselves do so earlier. */
  certificateEndsSoonMs: 14 * 24 * HOUR,
} as const;
