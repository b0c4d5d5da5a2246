/** Numbers of `tasks top`; see `defaults.ts`. */

const SECOND = 1_000;

export const topDefaults = {
  /** Tasks of each kind that are asked for: more than a screen shows, less than an answer that takes long. */
  attention: 100,
  running: 100,
  queued: 100,
  failed: 100,
  newest: 100,
  /** Journal entries and log lines of an opened task, the newest ones. */
  entries: 500,
  /** Without a stream of hints, and while something runs (progress is hinted to nobody), it looks so often … */
  pollMs: 2 * SECOND,
  /** … and with one so often, for what no hint tells: a worker that went silent. */
  refreshMs: 10 * SECOND,
  /** Hints that come together cause one look. */
  gatherMs: 200,
  /** A stream that ended is opened again after a time by chance between these. */
  reconnectMs: { min: SECOND, max: 10 * SECOND },
  /** A stream brings a comment at least every 15 s; three of them missing, and it is none any more. */
  silenceMs: 45 * SECOND,
  /** Ages and times of waiting are drawn anew. */
  drawMs: SECOND,
  /** A lone ESC is a key, and ESC with more is another one: the rest comes within this. */
  escapeMs: 50,
  /** Characters of a filter: nobody types more. */
  filterChars: 200,
} as const;
