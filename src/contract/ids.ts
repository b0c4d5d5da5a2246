/**
 * Ids: `tsk_`, `att_` … and 128 bits, 48 of time and 80 of chance, in 26 characters whose order as text
 * is their order in time (Crockford's base 32, lower case). They are strings everywhere, never numbers.
 */
const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz';

export type IdKind = 'tsk' | 'att' | 'ses' | 'req' | 'act' | 'key' | 'evt' | 'prb';

/** @param chance at least 10 unpredictable bytes. @param wallMs milliseconds since 1970. */
export function makeId(kind: IdKind, wallMs: number, chance: Uint8Array): string {
  let value = BigInt(Math.max(0, Math.trunc(wallMs))) & 0xffff_ffff_ffffn;
  for (let i = 0; i < 10; i++) value = (value << 8n) | BigInt(chance[i] ?? 0);
  let text = '';
  for (let i = 0; i < 26; i++) {
    text = DIGITS[Number(value & 31n)] + text;
    value >>= 5n;
  }
  return `${kind}_${text}`;
}
