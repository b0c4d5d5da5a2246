import { describe, expect, it } from 'vitest';
import { checkers } from '../../sim/checkers/index.ts';
import { noFaults } from '../../sim/faults.ts';
import { History } from '../../sim/history.ts';
import type { Finished } from '../../sim/simulation.ts';
import { call, claim, finished, job, journal, leased, process, report, task } from './words.ts';

/** For each checker a history that keeps its rule and one, mostly a word away, that breaks it. */
const cases: Record<string, { good: Finished; bad: Finished }> = {
  'reports-kept': pair(
    (history) => {
      history.spooled.push(spooled('complete', 10));
      return { nodes: [node()] };
    },
    (history) => history.calls.push(report('complete', 20)),
  ),
  'spool-first': pair(
    (history) => {
      history.jobs.push(job());
      history.spooled.push(spooled('complete', 20, 1));
      history.calls.push(report('complete', 20));
    },
    (history) => history.spooled.push(spooled('complete', 20)),
  ),
  answers: pair(
    (history) => {
      history.calls.push(report('complete', 20));
      history.calls.push(report('release', 30, { body: { op: 'release', attemptId: 'att_2' } }));
      return { tasks: [task(journal(['submitted'], leased, ['succeeded']))] };
    },
    (history) => history.calls.pop(),
  ),
  'effect-once': pair(
    (history) => {
      history.jobs.push(job());
      for (const at of [1, 2]) history.effects.push({ taskId: 'tsk_1', attemptId: 'att_1', at });
      return { tasks: [task(journal(['submitted'], leased))] };
    },
    (history) => history.effects.pop(),
  ),
  'gate-first': pair(
    (history) => {
      history.jobs.push(job({ effectGate: 'effect' }), job({ attemptId: 'att_2' }));
      history.effects.push({ taskId: 'tsk_1', attemptId: 'att_2', at: 1 });
      history.effects.push({ taskId: 'tsk_1', attemptId: 'att_1', at: 1 });
      const started = ['started', { attemptId: 'att_2' }] as const;
      return { tasks: [task(journal(['submitted'], leased, [...started], ['started']))] };
    },
    (history) => history.effects.pop(),
  ),
  'gate-alive': pair(
    (history) => {
      history.calls.push(claim(0, 5_000));
      history.jobs.push(job({ startedAt: 5_500 }));
    },
    (history) => history.calls.push(renewal(1_000, 5_000)),
  ),
  'never-called': pair(
    (history) => {
      history.jobs.push(job(), job({ attemptId: 'att_2' }));
      const failed = ['failed', { data: { code: 'INPUT_INVALID', begun: false } }] as const;
      return { tasks: [task(journal(['submitted'], leased, [...failed]))] };
    },
    (history) => {
      history.jobs[0] = job({ refused: true });
    },
  ),
  outcomes: pair(() => {
    const lost = (status: string) => ['lost', { data: { reason: 'lease', begun: true, status } }];
    const events = (status: string) =>
      journal(['submitted'], leased, ['started'], lost(status) as [string]);
    return { tasks: [task(events('queued'), { attempts: 1 })] };
  }),
  journal: pair(() => ({ tasks: [task(journal(['submitted'], ['submitted', { seq: 3 }]))] })),
  'begun-once': pair(
    (history) => {
      history.jobs.push(job(), job());
    },
    (history) => history.jobs.pop(),
  ),
  'gone-first': pair(
    (history) => {
      history.processes.push(process(), process({ session: 'ses_2' }));
      history.jobs.push(job({ goneAt: 900 }));
      history.spooled.push({ ...spooled('lost', 800), session: 'ses_2' });
    },
    (history) => {
      const [one] = history.jobs;
      if (one) one.goneAt = 700;
    },
  ),
  sessions: pair(
    (history) => {
      history.processes.push(process(), process({ session: 'ses_2', startedAt: 500 }));
      history.calls.push(
        call('/claims', {
          session: 'ses_2',
          body: { sessionId: 'ses_2' },
          arrivals: [{ at: 600, status: 200, answer: { attempts: [] } }],
        }),
      );
      history.calls.push(report('start', 700));
    },
    (history) => history.calls.pop(),
  ),
  'lease-over': pair(
    (history) => {
      history.processes.push(process());
      history.calls.push(claim(0, 5_000));
      history.jobs.push(job({ effectSafety: 'idempotent', stopAt: 9_000 }));
    },
    (history) => history.calls.push(renewal(4_000, 5_000)),
  ),
  'still-renewed': pair(
    (history) => {
      history.processes.push(process());
      history.spooled.push(spooled('complete', 1_000));
      history.calls.push(report('renew', 500));
    },
    (history) => history.calls.push(report('renew', 20_000)),
  ),
  sweeper: pair(
    (history) => {
      history.planeStarts.push(0, 9_000);
      const at = new Date(10_000).toISOString();
      const data = { reason: 'lease', leaseRanOutAt: new Date(9_500).toISOString() };
      return {
        tasks: [task(journal(['submitted'], leased, ['lost', { by: 'sweeper', at, data }]))],
      };
    },
    (history) => history.planeStarts.pop(),
  ),
  'no-claim-while-draining': pair(
    (history) => {
      history.processes.push(process({ drainAt: 500 }));
      history.jobs.push(job({ effectSafety: 'pure' }));
    },
    (history) => {
      history.jobs.pop();
      // What was asking for its start already may begin.
      history.jobs.push(job());
    },
  ),
  'drain-in-time': pair(
    (history) => {
      history.processes.push(process({ drainAt: 0, endedAt: 17_000 }));
    },
    (history) => {
      const [one] = history.processes;
      if (one) one.endedAt = 12_000;
    },
  ),
  settles: { good: finished(), bad: finished({ settled: false, unsettled: '1 task is open' }) },
  'nothing-left': {
    good: finished(),
    bad: finished({ left: { planeTimers: 1, streams: 0 } }),
  },
  'submitted-once': pair(
    (history) => {
      history.submitted.push({ taskId: 'tsk_1', key: 'key-1', at: 0 });
      return { tasks: [named('tsk_2')] };
    },
    (history) => history.submitted.pop(),
  ),
  pace: pair(
    (history) => {
      for (let i = 0; i < 70; i++) history.calls.push(call('/claims', { sentAt: i * 200 }));
    },
    (history) => history.calls.splice(40),
  ),
  prompt: pair(
    (history) => {
      history.submitted.push({ taskId: 'tsk_1', key: 'key-1', at: 0 });
      history.jobs.push(job({ startedAt: 4_000 }));
    },
    (history) => {
      history.jobs.pop();
      history.jobs.push(job({ startedAt: 400 }));
    },
  ),
  calm: pair(() => ({
    tasks: [task(journal(['submitted'], leased, ['lost', { data: { reason: 'lease' } }]))],
  })),
  'no-bugs': {
    good: finished({ logs: [log([])] }),
    bad: finished({ logs: [log(['an event that cannot come'])] }),
  },
};

describe('the checker', () => {
  it.each(checkers.map((one) => [one.name, one] as const))(
    '%s tells who breaks it',
    (name, one) => {
      const { good, bad } = cases[name] as { good: Finished; bad: Finished };
      expect(one.check(good)).toEqual([]);
      const told = one.check(bad);
      expect(told).toHaveLength(1);
      expect(told[0]).toMatch(/\w+ \w+/);
    },
  );

  it('sweeper also tells of a grace that was not kept', () => {
    const data = {
      reason: 'lease',
      gatePassed: true,
      leaseRanOutAt: new Date(100_000).toISOString(),
    };
    const lost = (ms: number) => {
      const entry = { by: 'sweeper', at: new Date(ms).toISOString(), data };
      const tasks = [task(journal(['submitted'], leased, ['started'], ['lost', entry]))];
      return checkers.find(({ name }) => name === 'sweeper')?.check(finished({ tasks }));
    };
    expect(lost(110_000)).toEqual([]);
    expect(lost(109_000)).toEqual([expect.stringContaining('with a grace of 10000 ms')]);
  });

  it('sessions also tells of a claim that came after its successor', () => {
    const { bad } = cases.sessions as { bad: Finished };
    bad.history.calls.push({ ...claim(700, 5_000) });
    expect(checkers.find(({ name }) => name === 'sessions')?.check(bad)).toHaveLength(2);
  });

  it('calm takes a failure of a handler for none of the worker', () => {
    const calm = checkers.find(({ name }) => name === 'calm');
    const told = (lines: string[]) =>
      calm?.check(finished({ logs: [{ lines, bugs: [], secrets: [] } as never] }));
    const over = '9 w1 warn attempt.over demo/hello@1 (task tsk_1)';
    const stopped =
      '8 w1 warn handler.stopping demo/hello@1 (task tsk_1) is being stopped (timeout); it has 10.0 s.';
    expect(told([`${over} has failed (X), acknowledged.`, stopped])).toEqual([]);
    expect(told([`${over} is lost (timeout). It was stopped.`])).toEqual([]);
    const lease = `${over} is lost (lease).`;
    expect(told([lease, '9 w1 warn claim.paused Nothing is claimed'])).toHaveLength(2);
  });

  it('calm and prompt say nothing where something went wrong', () => {
    for (const name of ['calm', 'prompt']) {
      const { bad } = cases[name] as { bad: Finished };
      const rates = { ...noFaults, slow: 0.1 };
      expect(checkers.find((one) => one.name === name)?.check({ ...bad, rates })).toEqual([]);
    }
  });
});

/** @param mend what has to be otherwise for the rule to be kept; default: an empty world keeps it. */
function pair(
  breaks: (history: History) => unknown,
  mend?: (history: History) => unknown,
): { good: Finished; bad: Finished } {
  const make = () => {
    const history = new History();
    return finished({ history, ...(breaks(history) as Partial<Finished> | undefined) });
  };
  const bad = make();
  if (!mend) return { good: finished(), bad };
  const good = make();
  mend(good.history);
  return { good, bad };
}

function spooled(op: string, at: number, callsBefore = 0) {
  const whose = { attemptId: 'att_1', taskId: 'tsk_1', session: 'ses_1', machine: 'w1' };
  return { ...whose, op, at, callsBefore };
}

function renewal(at: number, leaseMs: number) {
  const answer = { accepted: true, attemptId: 'att_1', fence: 1, op: 'renew', leaseMs };
  return report('renew', at, { arrivals: [{ at, status: 200, answer }] });
}

function named(id: string) {
  const made = task(journal(['submitted']));
  return { ...made, view: { ...made.view, id, idempotencyKey: 'key-2' } };
}

function node() {
  return { o: { name: 'w1' }, files: () => [], log: log([]) } as never;
}

function log(bugs: string[]) {
  return { lines: [], bugs, secrets: [] } as never;
}
