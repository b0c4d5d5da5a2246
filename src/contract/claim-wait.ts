import * as z from 'zod';
import { bounds } from './limits.ts';

/** Claims that wait for work: its name in `features`. */
export const CLAIM_WAIT = 'claim-wait';

/** Control planes of before ignored it, whatever it held. */
export const claimWaitMs = z
  .int()
  .min(0)
  .max(bounds.claimWaitMs)
  .optional()
  .catch(undefined)
  .meta({
    openapi: { examples: [20_000] },
    description: `Where there is nothing to claim the answer waits for it so long, ${bounds.claimWaitMs} ms at most. Where \`features\` does not list \`${CLAIM_WAIT}\` it is ignored, and so is what does not fit.`,
  });
