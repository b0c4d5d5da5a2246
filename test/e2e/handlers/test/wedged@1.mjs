import { appendFileSync } from 'node:fs';

export const effectSafety = 'pure';

/** Swallows every stop: in a promise that never settles, or in a loop that never gives way. */
export default ({ began, loop }) => {
  appendFileSync(began, `${process.pid}\n`);
  while (loop);
  return new Promise(() => setInterval(() => {}, 1_000));
};
