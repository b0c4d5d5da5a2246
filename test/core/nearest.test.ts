import { expect, it } from 'vitest';
import { SimulatedRandom } from '../../sim/random.ts';
import { nearest } from '../../src/core/nearest.ts';

/** By the book: the whole matrix. */
function distance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const at = (up: number, back: number) => rows[i - up]?.[j - back] ?? 0;
      let least = Math.min(at(1, 1) + Number(a[i - 1] !== b[j - 1]), at(1, 0) + 1);
      least = Math.min(least, (row[j - 1] ?? 0) + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, at(2, 2) + 1);
      row.push(least);
    }
    rows.push(row);
  }
  return rows[a.length]?.[b.length] ?? 0;
}

it('is the first of those with the fewest letters that differ, as the whole matrix tells', () => {
  const random = new SimulatedRandom(3);
  const word = (from: number) =>
    [...random.bytes(from + ((random.bytes(1)[0] ?? 0) % 5))]
      .map((byte) => 'abc'[byte % 3])
      .join('');
  for (let round = 0; round < 400; round++) {
    const asked = word(3);
    const known = Array.from({ length: 6 }, () => word(2));
    for (const most of [0, 1, 2, Number.POSITIVE_INFINITY]) {
      const allowed = Math.min(most, Math.max(1, Math.floor(asked.length / 3)));
      const ways = known.map((name) => distance(asked, name));
      const least = Math.min(...ways);
      const right = least <= allowed ? known[ways.indexOf(least)] : undefined;
      expect([asked, known, most, nearest(asked, known, most)]).toEqual([
        asked,
        known,
        most,
        right,
      ]);
    }
  }
});

it('compares no letters of words that are too long or too short, and few of those that soon differ', () => {
  const tally = { pairs: 0 };
  expect(nearest('a'.repeat(190), ['a'.repeat(187), 'a'.repeat(193)], 2, tally)).toBeUndefined();
  expect(tally.pairs).toBe(0);
  expect(nearest('a'.repeat(190), ['b'.repeat(190)], 2, tally)).toBeUndefined();
  expect(tally.pairs).toBeLessThan(30);
  tally.pairs = 0;
  expect(nearest('a'.repeat(190), [`${'a'.repeat(188)}bb`], 2, tally)).toBeDefined();
  expect(tally.pairs).toBeLessThan(5 * 190 + 1);
});
