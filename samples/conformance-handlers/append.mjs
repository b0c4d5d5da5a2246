/** The trace of an effect: one line of JSON in `$INTERLOCK_CONFORMANCE_DIR/effects.jsonl`. */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';

export function append(effectKey, line) {
  const folder = process.env.INTERLOCK_CONFORMANCE_DIR;
  appendFileSync(join(folder, 'effects.jsonl'), `${JSON.stringify({ effectKey, line })}\n`);
}
