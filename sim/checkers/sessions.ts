import type { History } from '../history.ts';
import { reportsSeen } from '../reports-seen.ts';
import type { Checker } from './index.ts';

export const sessions: Checker = {
  name: 'sessions',
  rule: 'a session that was superseded claims nothing and passes no gate',
  check: ({ history }) => {
    const over = superseded(history);
    const wrong: string[] = [];
    for (const { path, body, arrivals } of history.calls)
      if (path === '/claims')
        for (const { at, status } of arrivals)
          if (status === 200 && at > (over.get(body.sessionId) ?? Number.POSITIVE_INFINITY))
            wrong.push(
              `a claim of ${body.sessionId} was accepted at ${Math.round(at)}, its successor spoke first`,
            );
    for (const { call, at, op, attemptId, status } of reportsSeen(history)) {
      if (status !== 200 || (op !== 'start' && op !== 'effect') || call.session === undefined)
        continue;
      if (at > (over.get(call.session) ?? Number.POSITIVE_INFINITY))
        wrong.push(
          `${op} of ${attemptId} was accepted from ${call.session} at ${Math.round(at)}, after its successor had spoken`,
        );
    }
    return wrong;
  },
};

/** When each session was over: a process that started later on its machine was accepted. */
function superseded(history: History): Map<string, number> {
  const spokeAt = new Map<string, number>();
  for (const { path, body, arrivals } of history.calls) {
    if (path !== '/claims' && !path.startsWith('/workers/')) continue;
    const first = arrivals.find(({ status }) => status === 200);
    if (first === undefined) continue;
    const known = spokeAt.get(body.sessionId) ?? Number.POSITIVE_INFINITY;
    spokeAt.set(body.sessionId, Math.min(known, first.at));
  }
  const over = new Map<string, number>();
  for (const { session, machine, startedAt } of history.processes) {
    const later = history.processes
      .filter((one) => one.machine === machine && one.startedAt > startedAt)
      .map((one) => spokeAt.get(one.session) ?? Number.POSITIVE_INFINITY);
    const at = Math.min(...later, Number.POSITIVE_INFINITY);
    if (Number.isFinite(at)) over.set(session, at);
  }
  return over;
}
