import { expect, it } from 'vitest';
import { noAnswerHint } from '../../src/client/errors.ts';

it('the next step of a name that is not found says what its message does not', () => {
  const why =
    'The name "nohost" could not be looked up (ENOTFOUND): check the address for a typing error, or the DNS of this machine.';
  const hint = noAnswerHint('dns', why);
  expect(hint).toContain('Correct the address');
  expect(hint).not.toContain('the DNS of this machine');
});
