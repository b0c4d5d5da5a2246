/** Every number of handler hosts, unit in its name, reason beside it. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Handler hosts and what they may say. Small enough for a host to load. */
export const hostDefaults = {
  /** Hosts are that much nicer than the agent: about a tenth of its weight where they compete for a core. */
  nice: 10,
  /** From the start of a host's process until the handler's module is loaded; slow disks, large modules. */
  startMs: 30 * SECOND,
  /**
   * A used host takes a task at once; one that does not in this time runs something that an earlier task left. Far above
   * what a machine with every core busy needs: a slow host is not a stuck one.
   */
  takeMs: 30 * SECOND,
  /**
   * A handler inside the program, and the first of a fresh host, waits this long at most until the record says that it
   * begins: a hundred times what an ordinary disk needs (no fsync), and nothing beside a lease.
   */
  givingMs: 50,
  /** Hosts that a task is given to, one after the other, until one takes it: the second is a new one. */
  takeHosts: 2,
  /** Until a process that looks at handlers has come up: on a machine with every core busy Node alone takes seconds, and no file is to blame. */
  probeStartMs: 30 * SECOND,
  /** A module's load at discovery, its top-level await included, once its process has come up. */
  probeMs: 10 * SECOND,
  /** A load that takes this long is told, so that a start does not wait in silence. */
  probeSlowMs: 3 * SECOND,
  /** Silent for this long while it loads several, a process is asked whether it still gives way … */
  probeAskMs: 1_500,
  /** … and without an answer for this long one of its files holds its thread: the others are looked at elsewhere, before `probeSlowMs` tells what there is. */
  probeHeldMs: SECOND,
  /** Of why a file cannot be served, in presence and status: a worker tells many, and each task that waits for one repeats it. */
  unservedToldChars: 1_000,
  /** Modules loaded for discovery at the same time: as many cores as the smallest machine has. */
  probesAtOnce: 2,
  /** A warm host without work is ended after this, to give its memory back. */
  idleMs: 5 * MINUTE,
  /**
   * A host is replaced after this many calls: what a handler leaks does not grow for ever. A new one costs a tenth of a second
   * of a core and knows nothing of the handler's hot code, as much as two thousand short calls: a few per cent of these.
   */
  callsPerHost: 50_000,
  /** … and a shared one after this many: its calls are small ones, and at ten thousand a second it lives for ten. */
  sharedCallsPerHost: 100_000,
  /** … at this age, also where calls are few and long: what leaks by time (timers, connections) does not either. */
  hostMaxAgeMs: HOUR,
  /**
   * … and when its memory has grown by so much since its first call: far more than the garbage of an ordinary handler, and
   * sixteen that leak still fit beside each other.
   */
  hostGrowthBytes: 256 * 1_048_576,
  /** Where a handler needs that much and always takes it, a new host in this time costs it nothing that is felt. */
  hostGrowthFromMs: MINUTE,
  /** How often the memory of a host is looked at, between its calls. */
  hostLookMs: 5 * SECOND,
  /** Hosts that are started at the same time: this, or the number of cores. */
  startsAtOnce: 2,
  /** A host that is not ready after this waits mostly for something else than a core: the next one is started. */
  startGapMs: 100,
  /** A shared host that works is asked this often whether its handlers let it answer: a renewal's worth, and no load. */
  sharedPingMs: 5 * SECOND,
  /**
   * … and one that has not answered for this long, with several tasks in it, is ended. All in it keep their slots until
   * then, so a worker may claim nothing meanwhile; ending it costs a task that may simply run again one attempt. What was
   * given to it and not begun waits too: it may read that at any moment, and then two hosts would run it.
   */
  sharedHeldMs: 10 * SECOND,
  /** Tasks that are remembered for having been in a shared host when it ended: they run alone. The oldest go first. */
  suspectsMax: 1_000,
  /** Progress is taken from a host this often; the latest wins. */
  progressEveryMs: 100,
  /** A handler that never gives way cannot hear that progress was taken: it says something this often. */
  progressUnaskedMs: 250,
  /** Log lines and output of one attempt that are kept: enough to read, too little to hurt. */
  logBytes: 1_048_576,
  /** What a line costs beside its text, so that millions of empty lines are bounded too. */
  logLineOverheadBytes: 32,
  /** A larger result belongs into a file; the control plane takes far less than this anyway. */
  resultBytes: 64 * 1_048_576,
  /** A longer message between agent and host is none: somebody else wrote to the channel. */
  frameBytes: 384 * 1_048_576,
  /** The end of stderr that is looked at when a host dies: a report of V8 fits. */
  stderrTailBytes: 8_192,
  /** … and what of it is told. */
  stderrToldChars: 1_500,
  /** A kill by the kernel for want of memory is told from a plain SIGKILL by a counter that rose within this. */
  outOfMemoryWindowMs: 2 * SECOND,
  /** … and which jobs read again where it was not read for this: not each of thousands a second. */
  outOfMemoryReadMs: SECOND,
  /**
   * A host that ends by itself (`process.exit`) with words left waits for the agent to read them, in pauses of this: 2 s in
   * all, far more than an agent on a busy machine needs for a pipe.
   */
  lastWordsPauseMs: 5,
  lastWordsPauses: 400,
  /** A host whose channel has closed mostly has ended; if it goes on for this long, it is killed. */
  closedChannelMs: SECOND,
  /** After a kill, how often it is looked whether the processes are gone: from the first to the last. */
  goneLookMs: { first: 1, last: 250 },
  /** A process that is not gone so long after SIGKILL hangs in the kernel: it is told in the log. */
  goneSlowMs: 5 * SECOND,
  /**
   * How long a restarted worker waits for the hosts of its earlier session to be gone before it begins with the others: those
   * that hang in the kernel may hang for ever.
   */
  orphansGoneMs: 5 * SECOND,
  /** … and how often it looks for those after that. */
  orphansLookMs: SECOND,
} as const;

/** Jobs that wait in a host behind a short one (`jobs-ahead.ts`). */
export const aheadInHostDefaults = {
  /** A host is filled up to this much work before the next one is woken: what waking it costs is a tenth of it. */
  workMs: 1.5,
  /** … and with so many jobs at most: one that dies makes so many move. */
  most: 32,
  /** Shorter calls count as much: what a host does around each. */
  leastMs: 0.04,
  /** A handler is known after so many calls, an odd number … */
  calls: 15,
  /** … and its median reckoned again after so many more. */
  reckonEvery: 5,
  /** A host that always has a next job is never looked at between two (its age, its memory): it is let run empty after this. */
  busyMs: 2 * SECOND,
  /** A call that takes longer than this is slow: those behind it go elsewhere. Far more than a short call, even on a busy core. */
  slowMs: 5,
  /** A host that was given jobs and has begun none of them for so long is asked for them, as for a slow call. */
  unreadMs: 100,
  /** One that was asked for them and has not answered for so long is held: they are forbidden there, and go to another host. */
  heldMs: 50,
  /** A host looks what the agent has said before it begins another job, where its last look is older than this: then it is asked in time. */
  lookMs: 2,
  /** Ends that a host has not sent yet go out at this size. */
  unsentBytes: 65_536,
} as const;
