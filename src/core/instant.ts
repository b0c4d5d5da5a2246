/** The last second that was written, and its text up to the point. */
let second = Number.NaN;
let text = '';

/**
 * RFC 3339 of a wall time in ms, as `toISOString` writes it. Each task has half a dozen of them, and most are of the second
 * of the one before: of those only the milliseconds are written anew.
 */
export function instantText(wallMs: number): string {
  const ms = Math.floor(wallMs);
  const own = Math.floor(ms / 1_000);
  if (own !== second) {
    text = new Date(own * 1_000).toISOString().slice(0, -4);
    second = own;
  }
  const rest = ms - own * 1_000;
  return `${text}${rest < 10 ? '00' : rest < 100 ? '0' : ''}${rest}Z`;
}
