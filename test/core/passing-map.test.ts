import { expect, it } from 'vitest';
import { PassingMap } from '../../src/core/passing-map.ts';

/** More than are removed before another map takes the place of the one inside. */
const MANY = 500;

it('keeps what is there, in the order in which it came, whatever has passed through', async () => {
  const map = new PassingMap<number, string>();
  for (let i = 0; i < MANY; i++) {
    map.set(i, `${i}`);
    if (i % 100 > 0) expect(map.delete(i)).toBe(true);
    if (i % 10 === 0) await undefined;
  }
  expect([...map.keys()]).toEqual([0, 100, 200, 300, 400]);
  expect([...map.values()]).toEqual(['0', '100', '200', '300', '400']);
  expect(map.size).toBe(5);
  expect([map.get(100), map.has(100), map.has(101)]).toEqual(['100', true, false]);
  expect(map.delete(101)).toBe(false);
});

it('shows a walk what is added and removed meanwhile, however much', () => {
  const map = new PassingMap<number, true>();
  for (let i = 0; i < MANY; i++) map.set(i, true);
  const seen: number[] = [];
  for (const key of map.keys()) {
    seen.push(key);
    // All but the last that was there, then a new one.
    if (key === 0) for (let i = 1; i < MANY - 1; i++) map.delete(i);
    if (key === MANY - 1) map.set(MANY, true);
  }
  expect(seen).toEqual([0, MANY - 1, MANY]);
});

it('ends a walk where it is emptied', () => {
  const map = new PassingMap<number, true>();
  for (let i = 0; i < MANY; i++) map.set(i, true);
  const seen: number[] = [];
  for (const key of map.keys()) {
    seen.push(key);
    map.clear();
  }
  expect(seen).toEqual([0]);
  expect(map.size).toBe(0);
});
