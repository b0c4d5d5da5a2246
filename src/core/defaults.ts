/** Every number of our own, unit in its name, reason beside it. Numbers of the wire: `contract/limits.ts`. */

export { outboxDefaults, spoolDefaults } from './disk-defaults.ts';
export { aheadInHostDefaults, hostDefaults } from './host-defaults.ts';
export { serverDefaults } from './server-defaults.ts';
export { readinessDefaults, statusDefaults } from './watch-defaults.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The task's side (control plane). */
export const taskDefaults = {
  /** Given back or lost unbegun this often, a task has no worker that can run it (contract 4). */
  undeliveredMax: 20,
  /** A renewal is taken this long past `attemptTimeoutMs`: the worker had time to stop it and did not. */
  renewPastTimeoutMs: MINUTE,
  /** A task that failed for a reason of its host is left to other workers that wait, for one of their polls. */
  elsewhereMs: 5 * SECOND,
  /** `retryAfterMs` of a handler may stretch the delay to this many times `maxMs`. */
  retryAfterFactor: 10,
  /** One point of priority for each minute of waiting, so that nothing starves. */
  ageingMsPerPoint: MINUTE,
} as const;

/** The control plane's own loops and memories. */
export const controlPlaneDefaults = {
  /** Expired leases and due tasks are looked for this often; 1/5 of the shortest lease in tests. */
  sweepEveryMs: 250,
  /** Rows ended in one sweep: bounds the length of its transaction. */
  sweepBatch: 200,
  /** Sessions, claim ids and action ids are remembered this long (contract 2). */
  rememberMs: 24 * HOUR,
  presentAfterMs: 15 * SECOND,
  /** Three missed presences. */
  offlineAfterMs: 45 * SECOND,
  /** A worker that has missed its presence by this much is told as not heard from, well before it counts as offline. */
  quietAfterMs: 18 * SECOND,
  pollAfterMs: SECOND,
  hintPingMs: 15 * SECOND,
  /** A reader of a stream that takes nothing for this much is cut; it comes back and reads again. */
  streamBufferBytes: 1_048_576,
  streamReauthoriseMs: MINUTE,
  /** Kept per task; older lines go first. */
  logLinesPerTask: 10_000,
  logCharsPerTask: 4_194_304,
  /**
   * A worker that was woken a moment ago is told of what came meanwhile in one hint: a flood stays a few hints, and the
   * next task of a quiet producer does not wait for the last one's.
   */
  wakeGapMs: 5,
  /** A worker's signs of life are written down this often: far finer than `offlineAfterMs`, far coarser than claims. */
  touchGapMs: 5 * SECOND,
  /** What is known of workers, for `waitingFor`, is read again after this. */
  workerFactsMs: 250,
  forgetEveryMs: 10 * MINUTE,
  /** Sentences about workers in an answer to doctor: more are read with `tasks workers`. */
  troublesTold: 20,
  /** A page of a list that is longer than this ends sooner: 500 results of 256 KB would be 128 MB. */
  pageChars: 8_388_608,
  shutdownMs: 5 * SECOND,
  /** A task whose attempts were lost so often is told to people: once happens to any worker. The store's index holds it too. */
  losingFrom: 2,
} as const;

/** Keys, and how often they may be used. */
export const rateDefaults = {
  /**
   * Calls that a limited key may make at once, as time: a worker's start or a page that loads asks for several things
   * in one moment; much more would let a minute's worth pass in a second.
   */
  burstMs: 10 * SECOND,
} as const;

export const keyDefaults = {
  /** When a key was used last is written this often at most, and at a stop: it is for people who clean up, not for clocks. */
  usedGapMs: MINUTE,
  /** Keys that another process has revoked beside us (`keys revoke --data`) end their streams after this. */
  lookEveryMs: SECOND,
  /** A last admin key that ends sooner is none to rely on: another is made in working hours, by people. */
  lastAdminMs: 24 * HOUR,
  /** Keys whose use is remembered between two writes; a project has some dozens. */
  usedKept: 10_000,
} as const;

/** The worker's loops. */
export const workerDefaults = {
  /** A claim, a freed slot or a hint asks at once, but never more often than this. */
  claimGapMs: 200,
  /**
   * Where nothing was left to be claimed, a slot that is free again is asked for together with the report of what had it,
   * or after this: a disk may be slow.
   */
  claimWithReportMs: 5,
  pollMinMs: SECOND,
  /** While hints work. */
  pollMaxMs: 15 * SECOND,
  /** While they do not. */
  pollMaxWithoutHintsMs: 5 * SECOND,
  /** A poll comes up to this share sooner, so that a fleet does not ask in step. */
  pollJitter: 0.2,
  /** Asked for by the control plane at most. */
  pollAfterMaxMs: 120 * SECOND,
  /** A lease is renewed after this share of its length … */
  renewShare: 1 / 3,
  /** … varied by this share, so that a fleet does not renew in step. */
  renewJitter: 0.1,
  /** Lease assumed for a report found on disk, until an answer tells the real one: the shortest there is. */
  unknownLeaseMs: 5 * SECOND,
  /** Of a report whose lease has run out: it asks for itself, and there may be thousands after an outage. */
  expiredRenewMs: 15 * SECOND,
  /** However short a lease is said to be. */
  renewGapMs: 50,
  /** A refused key is read again from its source at most this often. */
  keyReadGapMs: SECOND,
  /** A handler that was killed and has not gone after this is told as stuck. */
  killWaitMs: 5 * SECOND,
  /** A spool that could not be written is tried again this often. */
  spoolRetryMs: SECOND,
  /**
   * Reports that wait for their answer are kept in memory up to here: hundreds of the usual ones, a hundred of the largest.
   * Beyond it they are read from the disk when they are sent.
   */
  reportsInMemoryBytes: 32 * 1_048_576,
  /**
   * Reports that come while others are under way gather behind them, so that calls are few and full: one more call begins when
   * so many wait for each that is under way, …
   */
  reportsForOneMoreCall: 24,
  /** … or after this: a slow answer must not hold up the next. An answer of a control plane nearby comes sooner. */
  reportsGatherMs: 10,
  /**
   * While short work waits here for its slot, more reports are a moment away, and nobody waits for a single one: calls keep
   * this much apart, unless one is full with them and the starts that go before them, or a claim goes, or nothing waits any more. So
   * calls are full from four thousand tasks a second on.
   */
  reportsAheadGatherMs: 32,
  /** Reports of one call, where the control plane takes so many: at eight thousand tasks a second what gathers in that time. */
  reportsMost: 256,
  /** Attempts of one claim, where the control plane grants so many: half of what may wait here (`aheadDefaults.most`). */
  claimMost: 256,
  /** A batch that is refused whole asks for the limits again, at most this often: each batch with the same bad item is. */
  limitsDoubtGapMs: MINUTE,
  /** A type whose handler could not be started is left out of claims so long: each try costs a task one of its tries. */
  typePause: { initialMs: SECOND, factor: 2, maxMs: MINUTE, jitter: 0.2 },
  /**
   * So many failures of a type in a row, for reasons of this host, pause it here. Fewer would pause for one bad hour of
   * one program; more would use up the tries of more tasks.
   */
  hostFailures: 3,
  /** Each trial costs a task one of its attempts; a pause that was wrong is over after the first. */
  hostPause: { initialMs: 2 * SECOND, factor: 2, maxMs: 2 * MINUTE, jitter: 0.2 },
  presentEveryMs: 15 * SECOND,
  hintSilenceMs: 45 * SECOND,
  /** A hint stream that was open so long was one: the next retry is a first one again. */
  hintLastedMs: SECOND,
  /** Retries of anything unanswered. */
  retry: { initialMs: 500, factor: 2, maxMs: 30 * SECOND, jitter: 0.3 },
  /** After 401, 403 or a foreign 404. */
  refusedKeyRetryMaxMs: MINUTE,
  retryAfterMaxMs: 10 * MINUTE,
  drainTimeoutMs: 10 * MINUTE,
  stopGraceMs: 10 * SECOND,
  /** Two signals within this time are one (a shell's Ctrl-C often arrives twice). */
  signalGapMs: SECOND,
  /** Where `start` is no gate it goes out this long after the beginning at the latest. */
  lazyStartMs: SECOND,
  /** Beyond a handler's own time it may take so long to begin, on two hosts that start slowly; then it is stopped. */
  beginMs: MINUTE,
  /** Progress and log lines are gathered this long before they are sent. */
  progressEveryMs: 500,
  /** What a handler said last is marked on disk this often at most … */
  progressMarkMs: 2 * SECOND,
  /** … and later only after this share more of its running time: a month of progress is some 600 lines. */
  progressMarkShare: 0.02,
  logLinesWaiting: 2_000,
  /**
   * Handlers need not wait for the fsync of earlier reports while at most so many are being written: what gathers for one fsync
   * at ten thousand a second (`writesAheadGatherMs`, and a disk of some ms), and as many being written …
   */
  endingMost: 256,
  /** … and while their results have at most so many bytes in all: beyond it they would be the memory's flood. */
  endingBytesMost: 1_048_576,
  /**
   * While short work waits here for its slot, its reports gather so long, or until so many are there, and one sync covers them:
   * half of those that may be on their way to the disk (`endingMost`), so that no slot waits for it.
   */
  writesAheadGatherMs: 8,
  writesAtOnce: 128,
  /**
   * A begin that was not marked before it (of a short task that waited in its host) is mostly told together with its end: it is
   * marked if there is no end so long after.
   */
  beginSeenMs: 5,
  /** … and if its report is not on the disk so long after that: several syncs of a disk that is well. */
  endSeenMs: 50,
  /** A report waits at most so long for what its handler said before and is still on its way. */
  wordsWaitMs: 2 * SECOND,
  /** After a drain: how long the spool may still be emptied before the exit. */
  drainSpoolMs: 10 * SECOND,
  /** After the deadline of a drain: for killed processes to go, and once more for their reports. */
  lastWordMs: SECOND,
  /** Of the last handler's duration in the mean of its type: what counts is the last dozen. */
  durationWeight: 0.2,
  /** Presence `offline` at the end of a drain. */
  goodbyeMs: SECOND,
  /** A gate is asked more often than other things are: a handler (and a slot) waits for it. */
  gateRetryMaxMs: 5 * SECOND,
  requestTimeoutMs: 10 * SECOND,
  connectTimeoutMs: 5 * SECOND,
} as const;

/** HTTP, under the worker and the clients. Time limits of calls: `workerDefaults`. */
export const wireDefaults = {
  /** The next address of a name is tried after this while the last goes on (RFC 8305 has the same). */
  staggerMs: 250,
  /** Addresses of one name that are tried. */
  addressesMax: 10,
  /** An address that accepted a connection and never sent a byte is tried last for so long. */
  silentAddressMs: 5 * MINUTE,
  /** Silent addresses and TLS sessions that are remembered; a client knows few peers. */
  addressesKept: 100,
  /** A stream whose peer vanished is noticed by TCP itself after about this and a few probes. */
  tcpKeepAliveMs: 30 * SECOND,
  /** Connections to a control plane for calls; more calls than these wait for each other. */
  connections: 16,
  /** Renewals go one round at a time; the others are for those that hang, a third of a lease each. */
  renewConnections: 4,
  /** One hint stream, and one that is still being closed. */
  streamConnections: 4,
  /** Kept open unused for so long where the peer names no time of its own … */
  idleConnectionMs: 4 * SECOND,
  /** … and at most so long where it does. */
  idleConnectionMaxMs: 5 * MINUTE,
  headerBytes: 32_768,
  proxyAnswerBytes: 16_384,
  /** Same-origin redirects of one call; a ring ends here. */
  redirectsMax: 3,
  /** An answer to a worker: a full claim is `limits.batchBytes`, one large attempt still fits eight times. */
  answerBytes: 8_388_608,
  /** A page of 500 tasks with results is the largest thing a producer can ask for. */
  listBytes: 67_108_864,
  /** An answer that is read whole before it is given on; larger ones are read as they come, within their own limit. */
  plainAnswerBytes: 1_048_576,
  /** A problem is a few hundred bytes; more of a refusal is not read. */
  problemBytes: 65_536,
  /** More of it is read away up to here, which is cheaper than a new connection. */
  drainBytes: 1_048_576,
  /** One event of a stream, unfinished lines included; hints are a few hundred bytes. */
  streamFrameChars: 65_536,
  /** Names in one `wake` that are looked at. */
  hintTypesMax: 1_000,
  /** Of a foreign page or value that is quoted in a message. */
  quotedChars: 120,
  keyFileBytes: 4_096,
} as const;

/** `TaskProducer`, `TaskOperator` and the command line. */
export const clientDefaults = {
  /** A call goes on asking while nobody answers or the peer is busy, at most so long. */
  timeoutMs: MINUTE,
  retry: { initialMs: 250, factor: 2, maxMs: 10 * SECOND, jitter: 0.3 },
  /** One long poll for events; the contract allows 30 s. */
  eventsWaitMs: 25 * SECOND,
  /** A long poll that is answered at once without news is not repeated faster than this. */
  eventsGapMs: 100,
  eventsGapMaxMs: 2 * SECOND,
  /** A control plane that answers nothing for so long ends `await` and followed events. */
  silenceMs: 5 * MINUTE,
} as const;
