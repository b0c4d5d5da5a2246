/** Numbers of those who watch a worker; see `defaults.ts`. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** When a worker counts as ready, and when a watchdog is fed (`readiness.ts`). */
export const readinessDefaults = {
  /** So many in a row may fail: one lost answer is no reason to send people elsewhere … */
  missed: 2,
  /** … and the last of them may take as long as a call may (`workerDefaults.requestTimeoutMs`). */
  answerMs: 10 * SECOND,
  /** Where neither claims nor renewals are due: as if claims were, at their usual pace (`workerDefaults.pollMaxMs`). */
  unknownEveryMs: 15 * SECOND,
  /**
   * Without the end of any call so long past the time when one was due, the loops stand still: presence comes every 15 s
   * and a call ends after 15 s, so three of them are missing, while a busy machine is late by seconds.
   */
  stallMs: MINUTE,
  /**
   * Nothing held and nothing heard for so long: a restart costs a second and harms nobody. Shorter, and every longer
   * maintenance of the control plane would restart its whole fleet.
   */
  outageMs: 10 * MINUTE,
} as const;

/** The worker's status port: read by probes and people of this machine, a request a second at most. */
export const statusDefaults = {
  headersMs: 5 * SECOND,
  requestMs: 5 * SECOND,
  checkEveryMs: SECOND,
  /** From the request to the last byte taken: the longest page has some hundred KB. */
  answerMs: 10 * SECOND,
  headerBytes: 8_192,
  /** Several probes, a scraper and a person; further ones are refused. */
  connections: 32,
  /** A predecessor that gave its spool back a moment ago closes its port next. */
  portWaitMs: 2 * SECOND,
  portRetryMs: 100,
  /** `worker status` waits so long for an answer that needs milliseconds. */
  askMs: 5 * SECOND,
  /** Of a status that is read: hundreds of attempts and handlers. */
  askBytes: 8_388_608,
  /** The event loop's delay is sampled so often while somebody scrapes: ten times a second wakes an idle agent enough. */
  loopDelayMs: 100,
} as const;
