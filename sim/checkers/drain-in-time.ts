import type { Checker } from './index.ts';

/** For last words, a goodbye and the closing of everything. */
const SLACK_MS = 6_000;

export const drainInTime: Checker = {
  name: 'drain-in-time',
  rule: 'a drain ends within its time',
  check: ({ history, rates }) =>
    history.processes.flatMap(({ name, drainAt, endedAt, killedAt, drainTimeoutMs }) => {
      if (drainAt === undefined) return [];
      const asleep = history.sleepsOf(name, drainAt);
      const most = (drainTimeoutMs + SLACK_MS) * (1 + rates.drift) + asleep;
      const took = (endedAt ?? killedAt ?? Number.POSITIVE_INFINITY) - drainAt;
      return took <= most
        ? []
        : [`${name} was told to drain at ${Math.round(drainAt)} and took ${took} ms of ${most}`];
    }),
};
