import { expect, it } from 'vitest';
import { readKeys } from '../../../src/cli/top/keys.ts';

it('reads what terminals send', () => {
  expect(readKeys('j\u001b[A\u001bOB\u001b[5~\r\u007f\u0003é👍', false)).toEqual({
    keys: ['j', 'UP', 'DOWN', 'PAGE-UP', 'ENTER', 'BACKSPACE', 'CTRL-C', 'é', '👍'],
    rest: '',
  });
});

it('waits for the rest of a key, and takes a lone ESC as one when nothing follows', () => {
  expect(readKeys('\u001b', false)).toEqual({ keys: [], rest: '\u001b' });
  expect(readKeys('\u001b[', false)).toEqual({ keys: [], rest: '\u001b[' });
  expect(readKeys('\u001b', true)).toEqual({ keys: ['ESCAPE'], rest: '' });
  expect(readKeys('\u001bq', false).keys).toEqual(['ESCAPE', 'q']);
});

it('takes keys that mean nothing here for none, not for text', () => {
  expect(readKeys('\u001b[15~\u001b[1;5C\u001b[<0;10;10M\u0001x', false).keys).not.toContain('1');
  expect(readKeys('\u001b[15~\u001b[200~x', false).keys).toEqual(['x']);
});
