import { expect, it } from 'vitest';
import { noCommonContract } from '../../src/core/contract-versions.ts';

it('finds nothing to say where ours is among theirs', () => {
  for (const theirs of [[1], [1, 2], [3, 2, 1]])
    expect(noCommonContract(theirs, 1)).toBeUndefined();
});

it.each([
  [[2], 1, 'it speaks contract 2, this program speaks 1', 'Update this program.'],
  [[2, 3], 1, 'it speaks contract 2, 3, this program speaks 1', 'Update this program.'],
  [[1], 2, 'it speaks contract 1, this program speaks 2', /^Update the control plane/],
  [[1, 3], 2, 'it speaks contract 1, 3, this program speaks 2', /go together/],
  [[], 1, 'it speaks contract none that it tells, this program speaks 1', /go together/],
] as const)(
  'of %j and %i says what each speaks, and which to update',
  (theirs, ours, says, next) => {
    const found = noCommonContract(theirs, ours);
    expect(found?.says).toBe(says);
    expect(found?.next).toMatch(next);
  },
);
