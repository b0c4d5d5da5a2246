import { replay } from '../replay.ts';
import type { Checker } from './index.ts';

export const journal: Checker = {
  name: 'journal',
  rule: 'a journal has no gaps, only the latest attempt writes into it, and the task is what its journal makes of it',
  check: ({ tasks }) => tasks.flatMap((task) => replay(task).journal),
};
