import { workerDefaults } from '../core/defaults.ts';

const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * `Retry-After` as milliseconds: seconds or an HTTP date, at most ten minutes, junk ignored. A date is
 * measured from the answer's own `Date` where it has one, so that a wrong clock here changes nothing.
 */
export function retryAfterMs(
  header: string | null,
  date: string | null,
  wallMs: number,
): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d{1,12}$/.test(text)) return boundedWait(Number(text) * 1_000);
  if (!HTTP_DATE.test(text)) return undefined;
  const from = date !== null && HTTP_DATE.test(date.trim()) ? Date.parse(date) : wallMs;
  return boundedWait(Date.parse(text) - from);
}

/** A wait that the peer asked for, within our bounds; `undefined` for what is no duration. */
export function boundedWait(ms: number | undefined): number | undefined {
  if (ms === undefined || !Number.isFinite(ms)) return undefined;
  return Math.min(Math.max(0, Math.ceil(ms)), workerDefaults.retryAfterMaxMs);
}
