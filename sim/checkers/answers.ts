import { reportsSeen } from '../reports-seen.ts';
import type { Checker } from './index.ts';

const KINDS: Readonly<Record<string, string>> = {
  complete: 'succeeded',
  fail: 'failed',
  unknown: 'unknown',
  cancelled: 'cancelled',
  lost: 'lost',
  release: 'released',
};

export const answers: Checker = {
  name: 'answers',
  rule: 'a report that was accepted stands in the journal as it was sent',
  check: ({ history, tasks }) => {
    const entries = new Set(
      tasks.flatMap(({ events }) => events.map(({ kind, attemptId }) => `${kind} ${attemptId}`)),
    );
    const wrong = new Set<string>();
    for (const { op, attemptId, status, answer } of reportsSeen(history)) {
      const kind = KINDS[op];
      if (kind === undefined || status !== 200 || answer?.accepted !== true) continue;
      if (!entries.has(`${kind} ${attemptId}`))
        wrong.add(`${op} of ${attemptId} was accepted, and the journal has no ${kind} of it`);
    }
    return [...wrong];
  },
};
