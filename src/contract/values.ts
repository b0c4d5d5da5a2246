import * as z from 'zod';
import { isDeeperThan } from './json.ts';
import { bounds } from './limits.ts';

export const tooDeep = `is nested deeper than ${bounds.valueDepth} levels`;

/** Any JSON value, but there must be one. */
export const jsonValue = z
  .unknown()
  .refine((value) => value !== undefined, 'is missing')
  .meta({ description: 'Any JSON value' });

/** One that is taken in: an input, a result, a checkpoint. Its size is checked where it is counted. */
export const inlineValue = jsonValue.refine(
  (value) => !isDeeperThan(value, bounds.valueDepth),
  tooDeep,
);
