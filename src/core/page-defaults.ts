/** Numbers of the pages where people look; see `defaults.ts`. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

export const pageDefaults = {
  /** A working day: who signed in in the morning does so once. A stolen cookie is worth nothing the next day. */
  sessionMs: 8 * 60 * MINUTE,
  /** Without a page opened or a form sent for so long the session ends; live updates do not count. */
  idleMs: 60 * MINUTE,
  /** The cookie tells when it was used last to within this, so that few answers set it. */
  touchMs: 5 * MINUTE,
  /** Projects that one browser is signed in to at once; more would not fit into a cookie of 4 KB. */
  keysPerSession: 12,
  /** Sessions that were signed out are remembered until they would have ended; beyond this the oldest are forgotten. */
  endedKept: 10_000,
  /** Wrong keys from one address a minute, ten seconds' worth of them at once: people mistype, programs flood. */
  wrongKeysPerMinute: 30,
  /** Addresses that are counted; beyond it all others share one count. */
  addressesKept: 10_000,
  /** A form with an input or a result in it, names and escapes with it: 1 MiB may be escaped to three times its size. */
  largeFormBytes: 4 * 1_024 * 1_024,
  /** Any other, and all of who is not signed in: a reason of 4,096 characters may be escaped to 36 KB. */
  formBytes: 48 * 1_024,
  /** Fields of a form, counted before they are read, for a million of them take minutes: ours have a dozen. */
  formFields: 2_000,
  /** Types on one page: a producer can make as many as it likes, and each costs a look for names that come near. */
  typeRows: 50,
  /** Pools that the submit form offers; another one can be typed. */
  poolsOffered: 100,
  /** Streams of hints of one session: a browser opens six, in tabs that are seen; of more the oldest ends. */
  streamsPerSession: 16,
  /** Without a stream of hints pages ask for news so often … */
  pollMs: 5 * SECOND,
  /** … and with one so often, for what no hint tells (a worker that went silent). */
  refreshMs: 15 * SECOND,
  /** Hints that come together cause one look. */
  gatherMs: 250,
  /** A stream that ended is opened again after a time by chance between these. */
  reconnectMs: { min: SECOND, max: 10 * SECOND },
  /** A year: the address of an asset holds a hash of its content. */
  assetSeconds: 31_536_000,
  /** What a page tells about the form that was just sent is for the next page only. */
  saidSeconds: 60,
} as const;
