import { expect, it } from 'vitest';
import { resultBeyond } from '../../src/contract/result-bound.ts';

it('takes a result up to the bound, counted in bytes of its JSON', () => {
  expect(resultBeyond(4, 'äx')).toMatchObject({
    code: 'RESULT_INVALID',
    message: expect.stringContaining('has 5 bytes as JSON; at most 4'),
    retryable: false,
  });
  expect(resultBeyond(5, 'äx')).toBeUndefined();
  expect(resultBeyond(4, null)).toBeUndefined();
});

it('tells in words of a result that no text can hold', () => {
  const endless: unknown[] = [];
  endless.push(endless);
  expect(resultBeyond(1_000, endless)?.message).toMatch(
    /^The result cannot be written as JSON: .+ Put it into a file/s,
  );
});
