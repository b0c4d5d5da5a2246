import { expect, it } from 'vitest';
import { hintWhileRunning } from '../../src/cli/handler-words.ts';
import { nothingToServe } from '../../src/cli/worker-words.ts';

it.each([
  ['Correct the file and start again.', 'Correct the file. Then send SIGHUP again.'],
  ['Keep one of them.', 'Keep one of them. Then send SIGHUP again.'],
  ['Start again.', 'Send SIGHUP again.'],
])('what is to be done about a handler of a running worker is no start: %s', (hint, says) => {
  expect(hintWhileRunning(hint)).toBe(says);
});

it('a handlers folder that is none is told once', () => {
  const problem = { severity: 'error', code: 'HANDLERS_UNREADABLE', hint: 'Check it.' } as const;
  const message = 'The handlers folder /x does not exist (ENOENT).';
  const error = nothingToServe('/x', {
    handlers: [],
    problems: [{ ...problem, file: '/x', message }],
  });
  expect(error).toMatchObject({ code: 'HANDLERS_NONE', message, hint: 'Check it.' });
});
