/**
 * Ids: `tsk_`, `att_` … and 128 bits, 48 of time and 80 of chance, in 26 characters whose order as text
 * is their order in time (Crockford's base 32, lower case). They are strings everywhere, never numbers.
 */
const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz';

export type IdKind = 'tsk' | 'att' | 'ses' | 'req' | 'act' | 'key' | 'evt' | 'prb';

/** @param chance at least 10 unpredictable bytes. @param wallMs milliseconds since 1970. */
export function makeId(kind: IdKind, wallMs: number, chance: Uint8Array): string {
  return `${kind}_${timeDigits(wallMs)}${chanceDigits(chance, 0)}${chanceDigits(chance, 5)}`;
}

/** 48 bits in 10 digits. Ids of one moment share them. */
function timeDigits(wallMs: number): string {
  if (wallMs === latest.wallMs) return latest.digits;
  const ms = Math.max(0, Math.trunc(wallMs)) % 2 ** 48;
  if (Number.isNaN(ms)) throw new RangeError(`${wallMs} is no time`);
  const digits = fiveDigits(Math.floor(ms / 2 ** 25)) + fiveDigits(ms % 2 ** 25);
  latest = { wallMs, digits };
  return digits;
}

let latest = { wallMs: Number.NaN, digits: '' };

/** 25 bits. */
function fiveDigits(value: number): string {
  return (
    digit(value >>> 20) +
    digit(value >>> 15) +
    digit(value >>> 10) +
    digit(value >>> 5) +
    digit(value)
  );
}

/** Five bytes in eight digits. */
function chanceDigits(bytes: Uint8Array, at: number): string {
  const a = bytes[at] ?? 0;
  const b = bytes[at + 1] ?? 0;
  const c = bytes[at + 2] ?? 0;
  const d = bytes[at + 3] ?? 0;
  const e = bytes[at + 4] ?? 0;
  return (
    twoDigits((a << 2) | (b >>> 6)) +
    twoDigits((b << 4) | (c >>> 4)) +
    twoDigits((c << 6) | (d >>> 2)) +
    twoDigits((d << 8) | e)
  );
}

/** Of the lowest ten bits. */
function twoDigits(value: number): string {
  return PAIRS[value & 1023] as string;
}

/** An id of single digits would be put together out of two dozen texts. */
const PAIRS = Array.from({ length: 1024 }, (_, value) => digit(value >>> 5) + digit(value));

/** Of the lowest five bits. */
function digit(value: number): string {
  return DIGITS[value & 31] as string;
}
