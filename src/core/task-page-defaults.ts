/** Numbers of the pages about tasks; see `defaults.ts`. */
export const taskPageDefaults = {
  /** Rows of a list: some screens on a phone, one look at a desk. */
  rows: 50,
  runningRows: 20,
  /** Tasks of a status are counted so far: nobody acts on the difference between 1,000 and 40,000. */
  countedMost: 1_000,
  /** Failed tasks that are grouped, the newest: a bad night of a small project, and a few milliseconds. */
  failuresAmong: 1_000,
  /** A failure stands among what needs a person so long: one night and the day after it. Then it is under its status only. */
  failureStandsMs: 24 * 3_600_000,
  /** Entries at the end of a journal in which the last loss is looked for. */
  lossesShown: 50,
  /** Entries of the journal that a task's page shows at once; the rest is a link away. */
  journalEntries: 300,
  logLines: 200,
  /** Of an input or a result that the page shows; the whole is a download. */
  valueChars: 8_000,
  /** What is shorter is not folded: it takes no more place than the words around it. */
  openChars: 400,
  /** Keys in a journal whose names are looked up: each is a read, and a task has one or two. */
  keysNamed: 20,
  /** A page with something that runs is read again so often: no hint tells progress, and workers gather it for half a second. */
  liveProgressMs: 2_000,
  /** Other projects whose workers are looked at for a near miss. */
  otherProjects: 10,
} as const;
