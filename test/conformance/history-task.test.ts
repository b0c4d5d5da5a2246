import { describe, expect, it } from 'vitest';
import { judge } from '../../src/conformance/history/linearizability.ts';
import { taskSpec } from '../../src/conformance/history/task-spec.ts';
import type { Answer, Asked, TaskOp } from '../../src/conformance/history/task-state.ts';

const LEASE_MS = 1_000;
const GRACE_MS = 500;

/** A history by hand: one call after the other, each 1 ms long, where nothing else is said. */
class Line {
  readonly ops: TaskOp[] = [];
  nowMs = 0;
  #upTo: readonly number[] | undefined;

  at(ms: number): this {
    this.nowMs = ms;
    return this;
  }

  call(asked: Asked, answer: Answer | undefined, forMs = 1): this {
    const callMs = this.nowMs;
    const returnMs = answer === undefined ? Number.POSITIVE_INFINITY : callMs + forMs;
    this.ops.push({ asked, answer, callMs, returnMs });
    this.nowMs = callMs + forMs + 1;
    return this;
  }

  submit(verdict = '201', taskId = 'tsk_1'): this {
    return this.call({ what: 'submit' }, { verdict, taskId });
  }

  claim(id: string, fence: number, number: number, more: object = {}): this {
    const { request = `req-${id}` } = more as { request?: string };
    const attempt = { id, fence, number };
    return this.call(claimOf(request, more), {
      verdict: '200',
      attempt,
      cancelRequested: false,
    });
  }

  say(attemptId: string, op: string, verdict: string, more: object = {}, forMs = 1): this {
    const { cancelRequested, ...rest } = more as { cancelRequested?: boolean };
    const asked = { what: 'report', op, attemptId, identity: true, body: op, ...rest } as Asked;
    return this.call(
      asked,
      { verdict, ...(cancelRequested === undefined ? {} : { cancelRequested }) },
      forMs,
    );
  }

  read(status: string, attempts: number, undelivered = 0, result?: string, seq = 0): this {
    const view = { status, attempts, undelivered, seq, ...(result && { result }) };
    return this.call({ what: 'read' }, { verdict: '200', view });
  }

  journal(...journal: string[]): this {
    return this.call({ what: 'journal' }, { verdict: '200', journal });
  }

  /** The whole journal, as it was read: what it says of attempts, and up to which entry. */
  entries(...upTo: number[]): this {
    this.#upTo = upTo;
    return this;
  }

  judged(): Promise<string> {
    const journal = this.ops.flatMap(({ answer }) => answer?.journal ?? []);
    const options = { maxAttempts: 3, lostGraceMs: GRACE_MS };
    const upTo = this.#upTo;
    const known = { ...(journal.length > 0 && { journal }), ...(upTo && { journal, upTo }) };
    return judge(this.ops, taskSpec({ ...options, ...known })).then(({ says }) => says);
  }
}

function claimOf(request: string, more: object = {}): Asked {
  return {
    what: 'claim',
    worker: 'w',
    request,
    leaseMs: LEASE_MS,
    safety: 'non-idempotent',
    gate: 'start',
    ...more,
  } as Asked;
}

const line = () => new Line();
/** At rest, and read so. */
const cancelled = () =>
  line()
    .submit()
    .call({ what: 'cancel' }, { verdict: '200' })
    .read('cancelled', 0, 0, undefined, 2);
const held = (more: object = {}) => line().submit().claim('a', 1, 1, more);

describe('the task as the contract tells it', () => {
  it.each([
    [
      'a whole life',
      held()
        .say('a', 'start', '200')
        .say('a', 'renew', '200')
        .read('running', 1)
        .say('a', 'complete', '200', { body: 'r' })
        .say('a', 'complete', '200 replayed', { body: 'r' })
        .say('a', 'complete', '409 STALE_ATTEMPT', { body: 'other' })
        .say('a', 'renew', '409 LEASE_EXPIRED')
        .read('succeeded', 1, 0, 'r')
        .journal('leased a', 'succeeded a'),
    ],
    ['a submission that comes again', line().submit().submit('200 replayed').read('queued', 0)],
    [
      'two submissions at once, of which one is the first',
      line()
        .call({ what: 'submit' }, { verdict: '200 replayed', taskId: 't' }, 5)
        .at(1)
        .call({ what: 'submit' }, { verdict: '201', taskId: 't' }, 5),
    ],
    [
      'a lease that ran out in its time',
      held()
        .at(LEASE_MS + 10)
        .claim('b', 2, 1)
        .say('a', 'complete', '409 STALE_ATTEMPT')
        .say('b', 'complete', '200'),
    ],
    [
      'a late report',
      held()
        .at(LEASE_MS + 10)
        .read('queued', 0, 1)
        .say('a', 'complete', '409 STALE_ATTEMPT recorded')
        .say('a', 'complete', '409 STALE_ATTEMPT recorded replayed')
        .say('a', 'renew', '409 LEASE_EXPIRED')
        .journal('leased a', 'lost a', 'late-report a'),
    ],
    [
      'an end past the gate after lease and grace',
      held()
        .say('a', 'start', '200')
        .at(LEASE_MS + GRACE_MS + 20)
        .read('outcome-unknown', 1),
    ],
    [
      'a cancel that the worker obeyed',
      held()
        .call({ what: 'cancel' }, { verdict: '200' })
        .say('a', 'renew', '200', { cancelRequested: true })
        .say('a', 'cancelled', '200')
        .call({ what: 'cancel' }, { verdict: '409 TASK_TERMINAL' })
        .read('cancelled', 0),
    ],
    [
      'a claim whose answer was lost, told by the repeated one',
      line()
        .submit()
        .call(claimOf('req'), undefined)
        .at(100)
        .read('running', 0)
        .claim('a', 1, 1, { request: 'req' })
        .say('a', 'complete', '200')
        .journal('leased a', 'succeeded a'),
    ],
    [
      'a result without an answer that came before the lease ran out',
      held()
        .call(
          { what: 'report', op: 'complete', attemptId: 'a', identity: true, body: 'r' },
          undefined,
        )
        .at(5_000)
        .read('succeeded', 1, 0, 'r'),
    ],
    [
      'a gate on a lease that ran out',
      held()
        .at(LEASE_MS + 10)
        .say('a', 'start', '409 LEASE_EXPIRED')
        .say('a', 'renew', '200')
        .say('a', 'start', '200'),
    ],
    [
      'an operator who takes a late report',
      held()
        .say('a', 'start', '200')
        .say('a', 'lost', '200', { begun: true, reason: 'host-died' })
        .read('outcome-unknown', 1)
        .say('a', 'complete', '409 STALE_ATTEMPT recorded', { body: 'r' })
        .call({ what: 'resolve', action: 'x', resolution: 'late-report' }, { verdict: '200' })
        .call({ what: 'resolve', action: 'x', resolution: 'late-report' }, { verdict: '200' })
        .read('succeeded', 1, 0, 'r'),
    ],
    [
      'a claim at rest that gets what is queued',
      line().submit().call(claimOf('early'), { verdict: '200' }).claim('a', 1, 1, { atRest: true }),
    ],
    [
      'an operator who is refused because something has come in between',
      cancelled()
        .call({ what: 'retry', action: 'x', ifSeq: 2 }, { verdict: '200' })
        .call({ what: 'retry', action: 'y', ifSeq: 2 }, { verdict: '409 CONFLICT' })
        .entries(0, 0, 0, 0),
    ],
    [
      'a view at each entry',
      line()
        .submit()
        .read('queued', 0, 0, undefined, 1)
        .claim('a', 1, 1)
        .read('running', 0, 0, undefined, 2)
        .say('a', 'start', '200')
        .read('running', 1, 0, undefined, 3)
        .say('a', 'complete', '200', { body: 'r' })
        .read('succeeded', 1, 0, 'r', 4)
        .journal('leased a', 'succeeded a')
        .entries(0, 0, 1, 1, 2),
    ],
  ])('allows %s', async (_, line) => {
    expect(await line.judged()).toBe('allowed');
  });

  it.each([
    [
      'a stale fence accepted',
      held().say('a', 'complete', '200', { identity: false }).read('succeeded', 1),
    ],
    ['a task given to two', held().at(10).claim('b', 2, 1)],
    [
      'a fence that does not rise by one',
      held()
        .at(LEASE_MS + 10)
        .claim('b', 3, 1),
    ],
    [
      'a lease that ran out too early',
      held()
        .at(LEASE_MS - 50)
        .claim('b', 2, 1),
    ],
    [
      'a lease that ran out too early after a renewal',
      held()
        .at(LEASE_MS / 2)
        .say('a', 'renew', '200')
        .at(LEASE_MS + 100)
        .claim('b', 2, 1),
    ],
    [
      'no grace past the gate',
      held()
        .say('a', 'start', '200')
        .at(LEASE_MS + 100)
        .read('outcome-unknown', 1),
    ],
    [
      'a loss past the gate that is queued again',
      held().say('a', 'start', '200').say('a', 'lost', '200', { begun: true }).read('queued', 1),
    ],
    [
      'a result changed after the end',
      held()
        .say('a', 'complete', '200', { body: 'r' })
        .say('a', 'complete', '200 replayed', { body: 'other' }),
    ],
    [
      'another result shown than was reported',
      held().say('a', 'complete', '200', { body: 'r' }).read('succeeded', 1, 0, 'other'),
    ],
    ['two tasks under one key', line().submit().submit('201', 'tsk_2')],
    ['another task for a repeated submission', line().submit().submit('200 replayed', 'tsk_2')],
    [
      'a replay that is refused',
      held().say('a', 'fail', '200').say('a', 'fail', '409 STALE_ATTEMPT'),
    ],
    [
      'a gate opened after the end',
      held().say('a', 'start', '200').say('a', 'fail', '200').say('a', 'start', '200 replayed'),
    ],
    [
      'new work for a repeated claim',
      held()
        .say('a', 'lost', '200', { begun: true })
        .claim('b', 2, 2, { request: 'req-a' })
        .claim('c', 2, 2, { request: 'req-c' }),
    ],
    [
      'a live attempt kept from its repeated claim',
      held().call(claimOf('req-a'), { verdict: '200' }),
    ],
    [
      'a cancel that is not told',
      held()
        .call({ what: 'cancel' }, { verdict: '200' })
        .say('a', 'renew', '200', { cancelRequested: false }),
    ],
    ['a renewal that counts', held().say('a', 'renew', '200').read('running', 1)],
    ['a release that uses up an attempt', held().say('a', 'release', '200').read('queued', 1, 0)],
    [
      'a late report that ends the task',
      held()
        .say('a', 'lost', '200', { begun: true })
        .say('a', 'complete', '409 STALE_ATTEMPT recorded')
        .read('succeeded', 1),
    ],
    [
      'a second late report',
      held()
        .say('a', 'lost', '200', { begun: true })
        .say('a', 'complete', '409 STALE_ATTEMPT recorded')
        .say('a', 'fail', '409 STALE_ATTEMPT recorded'),
    ],
    ['a read of the past', held().say('a', 'complete', '200').read('running', 0)],
    [
      'an end that the journal does not know',
      held().say('a', 'complete', '200').journal('leased a'),
    ],
    [
      'a fourth counted attempt of three',
      held({ safety: 'pure' })
        .say('a', 'fail', '200', { retryable: true })
        .claim('b', 2, 2, { safety: 'pure' })
        .say('b', 'fail', '200', { retryable: true })
        .claim('c', 3, 3, { safety: 'pure' })
        .say('c', 'fail', '200', { retryable: true })
        .claim('d', 4, 4, { safety: 'pure' }),
    ],
    [
      'a view of an entry that there never was',
      line().submit().read('queued', 0, 0, undefined, 999).entries(0, 0),
    ],
    [
      'a view that is behind its own entry',
      held().read('running', 0, 0, undefined, 1).journal('leased a').entries(0, 0, 1),
    ],
    ['a queued task with a result', line().submit().read('queued', 0, 0, 'x')],
    [
      'a succeeded task without its result',
      held().say('a', 'complete', '200', { body: 'r' }).read('succeeded', 1),
    ],
    [
      'an operator who is refused though nothing has come in between',
      cancelled()
        .call({ what: 'retry', action: 'x', ifSeq: 2 }, { verdict: '409 CONFLICT' })
        .entries(0, 0, 0),
    ],
    [
      'an operator who is obeyed though the attempt has ended since',
      held()
        .say('a', 'fail', '200')
        .call({ what: 'retry', action: 'x', ifSeq: 2 }, { verdict: '200' })
        .journal('leased a', 'failed a')
        .entries(0, 0, 1, 2, 2),
    ],
    [
      'a queued task that a claim at rest does not get',
      line()
        .submit()
        .call(claimOf('r', { atRest: true }), { verdict: '200' }),
    ],
    [
      'the next attempt for a repeated claim',
      held({ safety: 'pure' })
        .say('a', 'fail', '200', { retryable: true })
        .claim('b', 2, 2, { safety: 'pure', request: 'req-a' }),
    ],
  ])('does not allow %s', async (_, line) => {
    expect(await line.judged()).toBe('impossible');
  });
});
