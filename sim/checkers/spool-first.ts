import { terminalOps } from '../../src/contract/index.ts';
import type { Checker } from './index.ts';

export const spoolFirst: Checker = {
  name: 'spool-first',
  rule: 'what a handler did is told only when the report is durable, unless the disk refuses',
  check: ({ history, rates }) => {
    if (rates.diskFull + rates.diskError > 0) return [];
    const sessions = new Map(history.jobs.map(({ attemptId, session }) => [attemptId, session]));
    const durable = new Map<string, number>();
    for (const { attemptId, op, callsBefore } of history.spooled) {
      const name = `${attemptId} ${op}`;
      durable.set(name, Math.min(callsBefore, durable.get(name) ?? callsBefore));
    }
    return history.calls.flatMap(({ n, path, body, session, sentAt, by }) => {
      const reports: { op: string; attemptId: string }[] =
        path === '/attempts/batch' ? body.reports : path.startsWith('/attempts/') ? [body] : [];
      return reports
        .filter(({ op }) => terminalOps.has(op) && op !== 'release')
        .filter(({ attemptId }) => sessions.get(attemptId) === session)
        .filter(({ op, attemptId }) => n < (durable.get(`${attemptId} ${op}`) ?? Infinity))
        .map(
          ({ op, attemptId }) =>
            `${by} sent ${op} of ${attemptId} at ${Math.round(sentAt)}, before it was durable`,
        );
    });
  },
};
