import fc from 'fast-check';
import { expect, it } from 'vitest';
import { instantText } from '../../src/core/instant.ts';

it('is the text of toISOString, whatever was written before', () => {
  const near = fc.integer({ min: 1_700_000_000_000, max: 1_700_000_005_000 });
  const any = fc.integer({ min: -62_000_000_000_000, max: 8_640_000_000_000 });
  fc.assert(
    fc.property(
      fc.array(fc.oneof(near, any, fc.double({ min: 0, max: 1e12, noNaN: true }))),
      (all) => {
        for (const ms of all) expect(instantText(ms)).toBe(new Date(ms).toISOString());
      },
    ),
  );
});
