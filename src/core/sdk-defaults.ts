/** Numbers of `TaskWorker`, between the user's thread and the agent's. Units stand in the names, reasons beside them. */
export const sdkDefaults = {
  /** That a handler has begun which then holds its thread is seen after this: soon enough for its time limit and renewals. */
  begunLookMs: 20,
  /** Lines for the user's log that wait while a handler holds its thread; what comes then is counted and told. */
  logLinesWaiting: 1_000,
  /** A key's source lives in the user's thread and may not be heard for long: renewals go on with the last key. */
  keyWaitMs: 1_000,
  /** `status()` waits so long for the agent, which needs microseconds unless the machine is very busy. */
  statusWaitMs: 100,
  /**
   * The young space of the agent's thread. What waits for a slot or for its report survives each collection, so what they cost is
   * their number: in a drain one for 370 tasks with 48, one for 620 with 96, which keeps some 20 MB more after work and none before.
   * V8's own choice costs 7 to 14 MB more at rest.
   */
  agentYoungMb: 96,
} as const;
