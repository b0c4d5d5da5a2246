import { appendFileSync } from 'node:fs';

export const effectSafety = 'non-idempotent';

/** Passes its gate (the start), then never gives way. */
export default ({ file }) => {
  appendFileSync(file, `${process.pid}\n`);
  for (;;);
};
