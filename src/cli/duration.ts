export { durationWords } from '../core/duration-words.ts';

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
