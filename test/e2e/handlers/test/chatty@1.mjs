import { once } from 'node:events';

export const effectSafety = 'pure';

/** Writes so many megabytes to stderr, without the end of a line, then returns. */
export default async ({ megabytes }) => {
  const piece = 'x'.repeat(1_048_576);
  for (let i = 0; i < megabytes; i++) {
    if (!process.stderr.write(piece)) await once(process.stderr, 'drain');
  }
  return { megabytes };
};
