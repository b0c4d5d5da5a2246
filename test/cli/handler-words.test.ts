import { expect, it } from 'vitest';
import { hintAtStart, hintWhileRunning, unservedHandlers } from '../../src/cli/handler-words.ts';
import { nothingToServe } from '../../src/cli/worker-words.ts';

it.each([
  ['Correct the file and start again.', 'Correct the file. Then send SIGHUP again.'],
  ['Keep one of them.', 'Keep one of them. Then send SIGHUP again.'],
  ['Start again.', 'Send SIGHUP again.'],
])('what is to be done about a handler of a running worker is no start: %s', (hint, says) => {
  expect(hintWhileRunning(hint)).toBe(says);
});

it.each([
  ['Correct the file and start again.', 'Correct the file. Then send SIGHUP, or start again.'],
  ['Keep one of them.', 'Keep one of them.'],
])('a worker that serves other handlers reads one again without a start: %s', (hint, says) => {
  expect(hintAtStart(hint)).toBe(says);
});

it('tells presence of each file that is not served: once for one type, since when it is so, with what to do', () => {
  const error = { severity: 'error', code: 'X', hint: 'Mend it.' } as const;
  const both = 'a@1.js and a@1.mjs are both a@1: none of them is served.';
  const problems = [
    { ...error, file: 'broken@1.mjs', type: 'broken@1', message: 'It does not load: Error: x.' },
    { ...error, file: 'a@1.js', type: 'a@1', message: both },
    { ...error, file: 'a@1.mjs', type: 'a@1', message: both },
    { ...error, file: 'B ad.mjs', message: 'B ad.mjs is not served: a name.' },
    { ...error, severity: 'warning' as const, file: 'c@1.mjs', type: 'c@1', message: 'It smells.' },
  ];
  const first = unservedHandlers(problems, [], 'then');
  expect(first).toEqual([
    {
      ...{ file: 'broken@1.mjs', type: 'broken', schemaVersion: 1, since: 'then' },
      why: 'broken@1.mjs: it does not load: Error: x. Mend it.',
    },
    { file: 'a@1.js', type: 'a', schemaVersion: 1, since: 'then', why: `${both} Mend it.` },
    { file: 'B ad.mjs', since: 'then', why: 'B ad.mjs is not served: a name. Mend it.' },
  ]);
  expect(unservedHandlers(problems, first.slice(1), 'now').map(({ since }) => since)).toEqual([
    'now',
    'then',
    'then',
  ]);
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
