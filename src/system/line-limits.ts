/** About ten thousand lines: a reader that rests longer than that misses some. */
export const WAITING_BYTES = 2_097_152;
/** How long an exit waits for a reader that takes nothing. */
export const FLUSH_MS = 500;
