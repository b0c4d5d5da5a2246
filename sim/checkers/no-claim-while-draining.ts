import type { Checker } from './index.ts';

export const noClaimWhileDraining: Checker = {
  name: 'no-claim-while-draining',
  rule: 'nothing is claimed after a drain began, and nothing begun but what was already asking for its start',
  check: ({ history }) => {
    const drains = new Map(history.processes.map(({ session, drainAt }) => [session, drainAt]));
    return [
      ...history.calls
        // One for nothing only ends the wait of the last.
        .filter(({ body, draining, path }) => draining && path === '/claims' && body?.max !== 0)
        .map(({ by, sentAt }) => `${by} claimed at ${Math.round(sentAt)}, while it drained`),
      ...history.jobs
        .filter(
          ({ effectSafety, effectGate, session, startedAt }) =>
            !(effectSafety === 'non-idempotent' && effectGate === 'start') &&
            startedAt > (drains.get(session) ?? Number.POSITIVE_INFINITY),
        )
        .map(
          ({ type, attemptId, machine, startedAt }) =>
            `${machine} began ${type} ${attemptId} at ${Math.round(startedAt)}, while it drained`,
        ),
    ];
  },
};
