import type { Checker } from './index.ts';

export const settles: Checker = {
  name: 'settles',
  rule: 'after the faults have ended everything comes to rest',
  check: ({ settled, unsettled }) =>
    settled ? [] : [`30 minutes after the last fault: ${unsettled}`],
};
