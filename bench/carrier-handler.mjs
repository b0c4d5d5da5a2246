import { existsSync } from 'node:fs';

/** Does nothing, or waits for a file before that. */
export const effectSafety = 'pure';
export default ({ after }) => (after === undefined ? null : until(after));

async function until(file) {
  while (!existsSync(file)) await new Promise((soon) => setTimeout(soon, 5));
  return null;
}
