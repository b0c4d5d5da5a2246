import fc from 'fast-check';
import { expect, it } from 'vitest';
import { makeId } from '../../src/contract/ids.ts';
import { anyId } from '../../src/contract/names.ts';
import { runs } from '../property.ts';

const chance = fc.uint8Array({ minLength: 10, maxLength: 10 });
const wallMs = fc.integer({ min: 0, max: 2 ** 48 - 1 });

it('is a kind, an underscore and 26 letters and digits', () => {
  const id = makeId('tsk', Date.UTC(2026, 0, 1), new Uint8Array(10));
  expect(id).toMatch(/^tsk_[0-9a-z]{26}$/);
  fc.assert(
    fc.property(wallMs, chance, (ms, bytes) => {
      expect(anyId.safeParse(makeId('att', ms, bytes)).success).toBe(true);
    }),
    { numRuns: runs(200) },
  );
});

it('sorts as text in the order of time', () => {
  fc.assert(
    fc.property(wallMs, wallMs, chance, chance, (a, b, x, y) => {
      const [first, second] = [makeId('tsk', a, x), makeId('tsk', b, y)];
      if (a < b) expect(first < second).toBe(true);
      if (a > b) expect(first > second).toBe(true);
    }),
    { numRuns: runs(500) },
  );
});

it('keeps all 128 bits apart', () => {
  fc.assert(
    fc.property(wallMs, chance, fc.nat(79), (ms, bytes, bit) => {
      const other = bytes.slice();
      other[bit >> 3] = (other[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(makeId('tsk', ms, bytes)).not.toBe(makeId('tsk', ms, other));
    }),
    { numRuns: runs(300) },
  );
});

it('survives a clock that is before 1970 or no number of whole milliseconds', () => {
  for (const ms of [-1, 0.5, 2 ** 48 + 5])
    expect(makeId('req', ms, new Uint8Array(10))).toMatch(/^req_[0-9a-z]{26}$/);
});

it('is the 128 bits as one number in base 32', () => {
  const digits = '0123456789abcdefghjkmnpqrstvwxyz';
  fc.assert(
    fc.property(wallMs, chance, (ms, bytes) => {
      let value = bytes.reduce((all, byte) => (all << 8n) | BigInt(byte), BigInt(ms));
      let text = '';
      for (let i = 0; i < 26; i++) {
        text = digits[Number(value & 31n)] + text;
        value >>= 5n;
      }
      expect(makeId('tsk', ms, bytes)).toBe(`tsk_${text}`);
    }),
    { numRuns: runs(500) },
  );
});
