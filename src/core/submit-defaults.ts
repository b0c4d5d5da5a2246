/** Numbers of submissions that go together. Units stand in the names, reasons beside them. */
export const submitDefaults = {
  /** Calls with submissions that are under way: so many keep a control plane far away busy, and leave connections to others. */
  batchCalls: 8,
  /** One more call begins when so many submissions wait for each that is under way: a call of its own costs as much as a dozen of them, … */
  batchForOneMoreCall: 24,
  /** … or after this: a slow answer must not hold up the next. An answer of a control plane nearby comes sooner. */
  gatherMs: 10,
  /** A control plane that refused a batch as a whole gets single calls so long: it may know none, or will after an update. */
  batchPauseMs: 60_000,
} as const;
