/** Durations for people. Pure. */

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};
const FORM = /^(\d{1,12}(?:\.\d{1,6})?)\s*(ms|s|m|h|d)?$/;

/** `90s`, `10m`, `2h`, `500ms`, `1.5h`, `1d`; a bare number is seconds. Milliseconds, or `undefined` for what is no duration. */
export function parseDuration(text: string): number | undefined {
  const match = FORM.exec(text.trim());
  if (!match) return undefined;
  const ms = Math.round(Number(match[1]) * (UNITS[match[2] ?? 's'] ?? 1_000));
  return Number.isSafeInteger(ms) ? ms : undefined;
}

/** As a setting is written: `10m`, `90s`, `250ms`. */
export function durationText(ms: number): string {
  for (const unit of ['h', 'm', 's']) {
    const size = UNITS[unit] ?? 1;
    if (ms >= size && ms % size === 0) return `${ms / size}${unit}`;
  }
  return `${ms}ms`;
}

/** For people: `250 ms`, `4.2 s`, `3 min 5 s`, `2 h 10 min`, `3 d 4 h`. */
export function durationWords(ms: number): string {
  const whole = Math.max(0, Math.round(ms));
  if (whole < 1_000) return `${whole} ms`;
  if (whole < 10_000) return `${trim(whole / 1_000)} s`;
  const seconds = Math.round(whole / 1_000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return pair(seconds, 60, 'min', 's');
  if (seconds < 86_400) return pair(Math.floor(seconds / 60), 60, 'h', 'min');
  return pair(Math.floor(seconds / 3_600), 24, 'd', 'h');
}

/** `3 min`, `12 s`; nothing below zero, whatever the clocks say; empty for what is no instant. */
export function age(at: string, wallMs: number): string {
  const ms = wallMs - Date.parse(at);
  if (!Number.isFinite(ms)) return '';
  return durationWords(ms < 1_000 ? Math.max(0, ms) : Math.floor(ms / 1_000) * 1_000);
}

function pair(count: number, size: number, big: string, small: string): string {
  const rest = count % size;
  const head = `${Math.floor(count / size)} ${big}`;
  return rest === 0 ? head : `${head} ${rest} ${small}`;
}

function trim(value: number): string {
  return value.toFixed(1).replace(/\.0$/, '');
}
