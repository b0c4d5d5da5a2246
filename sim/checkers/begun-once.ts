import type { Checker } from './index.ts';

export const begunOnce: Checker = {
  name: 'begun-once',
  rule: 'a handler is begun at most once for an attempt, whatever is answered twice',
  check: ({ history }) => {
    const times = new Map<string, number>();
    for (const { attemptId } of history.jobs) times.set(attemptId, (times.get(attemptId) ?? 0) + 1);
    return [...times]
      .filter(([, n]) => n > 1)
      .map(([attemptId, n]) => `${attemptId} was begun ${n} times`);
  },
};
