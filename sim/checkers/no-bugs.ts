import type { Checker } from './index.ts';

export const noBugs: Checker = {
  name: 'no-bugs',
  rule: 'nothing throws inside, and no log tells a key or a lease token',
  check: ({ logs }) =>
    logs.flatMap(({ bugs, secrets }) => [...bugs, ...secrets.map((line) => `secret: ${line}`)]),
};
