import { replay } from '../replay.ts';
import type { Checker } from './index.ts';

export const outcomes: Checker = {
  name: 'outcomes',
  rule: 'an attempt ends as the effect-safety table says: outcome-unknown exactly there',
  check: ({ tasks }) => tasks.flatMap((task) => replay(task).table),
};
