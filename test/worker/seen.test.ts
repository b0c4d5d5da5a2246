import { expect, it } from 'vitest';
import { Seen } from '../../src/worker/seen.ts';

it('knows the last ids, and forgets those that are long gone', () => {
  const seen = new Seen(10);
  for (let n = 0; n < 100; n++) {
    seen.add(`att_${n}`);
    for (let back = 0; back <= Math.min(n, 9); back++)
      expect(seen.has(`att_${n - back}`)).toBe(true);
    expect(seen.has(`att_${n - 20}`)).toBe(false);
  }
});
