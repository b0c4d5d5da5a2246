import type { Checker } from './index.ts';

export const goneFirst: Checker = {
  name: 'gone-first',
  rule: 'a restarted worker says that an attempt was lost only when its handler is seen gone',
  check: ({ history }) => {
    const jobs = new Map(history.jobs.map((job) => [job.attemptId, job]));
    const machines = new Map(history.processes.map(({ session, machine }) => [session, machine]));
    return history.spooled.flatMap(({ op, attemptId, session, at }) => {
      const job = jobs.get(attemptId);
      if (op !== 'lost' || !job || job.machine !== machines.get(session)) return [];
      const gone = job.goneAt ?? Number.POSITIVE_INFINITY;
      return gone <= at
        ? []
        : [
            `${attemptId} was told to be lost at ${Math.round(at)} on ${job.machine}, its handler was gone at ${Math.round(gone)}`,
          ];
    });
  },
};
