import * as z from 'zod';
import { codeHash } from './report-fields.ts';

/** Outcomes that carry the `start` of their attempt: its name in `features`. */
export const START_IN_OUTCOME = 'start-in-outcome';

/** The ops that may carry it. */
export const outcomeOps: ReadonlySet<string> = new Set(['complete', 'fail', 'unknown']);

/** Control planes of before ignored it, whatever it held. */
export const startInOutcome = z
  .object({ codeHash })
  .optional()
  .catch(undefined)
  .meta({
    openapi: { examples: [{}] },
    description: `The attempt's \`start\` where it is not the gate and was not sent before: the outcome stands for both. It is no part of the canonical body. Where \`features\` does not list \`${START_IN_OUTCOME}\` it is not sent; what is no object is ignored.`,
  });
