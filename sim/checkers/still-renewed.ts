import { terminalOps } from '../../src/contract/index.ts';
import type { HttpCall } from '../history.ts';
import { reportsSeen } from '../reports-seen.ts';
import type { Checker } from './index.ts';

/** Longer than any third of a lease, the pause of one that ran out, and calls that hang. */
const LONG_MS = 30_000;

export const stillRenewed: Checker = {
  name: 'still-renewed',
  rule: 'an attempt whose report waits for its answer is renewed, unless it is lost',
  check: ({ history }) => {
    // Nothing is said for an attempt after that.
    const stale = new Set<string>();
    for (const { attemptId, status, answer } of reportsSeen(history))
      if (status === 409 && answer?.code === 'STALE_ATTEMPT') stale.add(attemptId);
    const calls = new Map<string, { op: string; call: HttpCall }[]>();
    for (const call of history.calls)
      for (const { op, attemptId } of reportsIn(call)) {
        const known = calls.get(attemptId);
        if (known) known.push({ op, call });
        else calls.set(attemptId, [{ op, call }]);
      }
    return history.spooled.flatMap(({ attemptId, op, session, machine, at }) => {
      if (op === 'lost' || stale.has(attemptId)) return [];
      const own = (calls.get(attemptId) ?? []).filter(({ call }) => call.session === session);
      const process = history.processes.find((one) => one.session === session);
      const over = Math.min(
        process?.killedAt ?? process?.endedAt ?? Number.POSITIVE_INFINITY,
        ...own
          .filter((one) => terminalOps.has(one.op) && one.call.deliveredAt !== undefined)
          .map(({ call }) => call.deliveredAt as number),
      );
      const until = at + LONG_MS + history.sleepsOf(machine, at);
      if (over <= until) return [];
      const renewed = own.some(
        (one) => one.op === 'renew' && one.call.sentAt >= at && one.call.sentAt <= until,
      );
      return renewed
        ? []
        : [
            `${op} of ${attemptId} waits on ${machine} since ${Math.round(at)}, and nobody renews its lease`,
          ];
    });
  },
};

function reportsIn({ path, body }: HttpCall): { op: string; attemptId: string }[] {
  if (path === '/attempts/batch') return body.reports;
  return path.startsWith('/attempts/') ? [body] : [];
}
