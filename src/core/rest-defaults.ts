/** When an agent gives back the memory that its start, or a burst of work, has left behind. */
export const restDefaults = {
  /** Without a new task for so long: a start is over, and most bursts are. */
  afterMs: 3_000,
  /** It costs some 50 ms of processor time: a task now and then leaves too little behind for that … */
  jobsMin: 100,
  /** … and bursts with pauses between them are still one. */
  apartMs: 60_000,
} as const;
