/** Numbers of what pages tell about times gone by; see `defaults.ts`. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

export const historyDefaults = {
  /** What can be looked back on; each is some fifty bars, which a phone can still show. */
  spans: {
    '1h': { words: 'hour', ms: HOUR, barMs: MINUTE },
    '24h': { words: '24 hours', ms: 24 * HOUR, barMs: 30 * MINUTE },
  },
  /** Attempts that are looked at for one history: some 10 ms of a store's time, and some forty for each bar. */
  attempts: 2_000,
  /** Attempts begin before they end: those that were claimed this much earlier are looked at too (the default `attemptTimeoutMs`). */
  earlierMs: HOUR,
  /** A history is read again after so long: people look for a trend, and several may look at the same time. */
  keptMs: 10 * SECOND,
  /** Histories that are kept; beyond it all are read anew. */
  histories: 200,
  /** Types with charts in the list; of more only the words are told: a chart is some KB. */
  charted: 50,
  /** A share of failures is worth a warning from so many ended attempts on … */
  warnFrom: 5,
  /** … and from this share on: below it tasks that are tried again mostly get through. */
  warnShare: 0.2,
  /** One worker's ended attempts are looked for among so many newest of all, and so many are shown. */
  endedLooked: 2_000,
  endedShown: 20,
} as const;

export type HistorySpan = keyof typeof historyDefaults.spans;
