/** Claims beyond the free slots (`claim-ahead.ts`). */
export const aheadDefaults = {
  /** A handler is short whose last runs took no longer than that, each … */
  shortMs: 50,
  /**
   * … of so many: enough to see the seldom slow one of a mixed lot, few enough to know soon. Between two give-backs so many
   * end, and `most` divided by it stays below `undeliveredMax` (ADR 10).
   */
  runs: 32,
  /**
   * As much as the slots do in this time: the next claim goes when half of it is done, and there and back, with a commit of some
   * hundred reports before it, is 8 to 16 ms on an SSD. With 20 slots were idle a third of the time where it took 15 …
   */
  workMs: 40,
  /**
   * … and at most so many, so that a crash or a handler that hangs gives back few: what two claims bring (`claimMost`), for
   * while the control plane is at one claim the other one is what the slots work at.
   */
  most: 512,
  /** Shorter runs are as good as this: it is below what can be measured. */
  leastRunMs: 0.1,
  /** While other types are served too, short ones come before them at most so long. */
  othersMs: 100,
  /** What waits longer is given back: a handler has become slow, and another worker may be idle. */
  waitMs: 1_000,
  /**
   * Nothing is claimed ahead for so long after that. So one worker gives a task back at most twice a minute, and 20 times
   * (`undeliveredMax`) takes ten minutes of bad luck in a row.
   */
  pauseMs: 30_000,
} as const;
