import * as z from 'zod';

/** Fields of reports that came later. Control planes of before ignored them, so what does not fit is ignored too. */

/** Which code the handler is, for the journal. What is none is left out: it was always ignored. */
export const codeHash = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .optional()
  .catch(undefined)
  .meta({
    openapi: { examples: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'] },
    description:
      'Which code ran, as a SHA-256 in 64 digits (`0`–`f`): it stands in the attempt’s journal entry `started`. Anything else is ignored.',
  });

/** That its handler was not called, or nothing: what is not `false` was always ignored. */
export const notBegun = z
  .literal(false)
  .optional()
  .catch(undefined)
  .meta({
    openapi: { examples: [false] },
    description:
      '`false`: the handler was never called in this attempt, so no effect of it took place. Not believed after an accepted `effect` or `progress` of the attempt; anything else is ignored.',
  });
