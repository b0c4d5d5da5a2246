import { canonical } from '../../src/contract/canonical.ts';
import type { PolicyRequest, Report, SubmitRequest } from '../../src/contract/index.ts';
import type { AttemptState, Change, NewEvent, TaskState, Verdict } from '../../src/core/task.ts';
import { submitTask } from '../../src/core/task.ts';
import { type Claim, claimTask } from '../../src/core/task-claim.ts';
import { cancelTask, resolveTask, retryTask } from '../../src/core/task-operator.ts';
import { applyReport, type ReportFacts } from '../../src/core/task-report.ts';
import { sweepTask } from '../../src/core/task-sweep.ts';

/**
 * One task at a control plane whose store is this object: it numbers the entries of the journal and keeps what
 * the machine returns, and decides nothing.
 */
export const T0 = Date.UTC(2026, 0, 1);

export type Entry = NewEvent & { readonly seq: number; readonly atMs: number };

type Safety = Pick<Claim, 'effectSafety' | 'effectGate'>;
export const pure: Safety = { effectSafety: 'pure', effectGate: 'start' };
export const idempotent: Safety = { effectSafety: 'idempotent', effectGate: 'start' };
export const startGate: Safety = { effectSafety: 'non-idempotent', effectGate: 'start' };
export const effectGate: Safety = { effectSafety: 'non-idempotent', effectGate: 'effect' };

/** A report without the four fields, which the world adds. */
export type Said = { readonly op: Report['op'] } & Record<string, unknown>;

export interface SayOptions extends Partial<ReportFacts> {
  /** Which attempt; default: the latest. */
  readonly of?: AttemptState | undefined;
  /** The session that `start` and `effect` name; default: the one that claimed. */
  readonly as?: string;
}

export class TaskWorld {
  now = T0;
  task: TaskState;
  readonly attempts = new Map<string, AttemptState>();
  readonly journal: Entry[] = [];
  /** In [0, 1): 0.5 is no jitter. */
  chance = 0.5;

  constructor(policy: PolicyRequest = {}, more: Partial<SubmitRequest> = {}) {
    const request = { type: 'demo/hello', schemaVersion: 1, input: null, policy, ...more };
    const { task, events } = submitTask(this.now, request, {
      id: 'tsk_1',
      project: 'default',
      by: 'key:k',
    });
    this.task = task;
    this.#write(events, 0);
  }

  get latest(): AttemptState {
    const attempt = this.task.attemptId && this.attempts.get(this.task.attemptId);
    if (!attempt) throw new Error('the task was never claimed');
    return attempt;
  }

  pass(ms: number): this {
    this.now += ms;
    return this;
  }

  claim(safety: Safety = pure, who: Partial<Claim> = {}): Change {
    return this.keep(
      claimTask(this.now, this.task, {
        attemptId: `att_${this.task.fence + 1}`,
        workerId: 'w1',
        sessionId: 's1',
        leaseMs: 30_000,
        ...safety,
        ...who,
      }),
    );
  }

  /** A worker reports. */
  say(said: Said, options: SayOptions = {}): Verdict {
    const { of: attempt = this.latest, as = attempt.sessionId, ...facts } = options;
    const body = {
      taskId: attempt.taskId,
      attemptId: attempt.id,
      fence: attempt.fence,
      leaseToken: 'token',
      ...(said.op === 'start' || said.op === 'effect' ? { sessionId: as } : {}),
      ...said,
    } as Report;
    const value = 'result' in said ? said.result : said.checkpoint;
    return this.keep(
      applyReport(this.now, this.task, attempt, body, {
        tokenFits: true,
        hash: canonical(JSON.parse(JSON.stringify({ ...body, start: undefined }))),
        session: 'current',
        chance: this.chance,
        ...(value === undefined ? {} : { valueJson: JSON.stringify(value) }),
        ...facts,
      }),
    ).verdict;
  }

  sweep(): Change | undefined {
    const attempt = this.task.attemptId ? this.attempts.get(this.task.attemptId) : undefined;
    const change = sweepTask(this.now, this.task, attempt, this.chance);
    return change && this.keep(change);
  }

  cancel(request: { reason?: string; ifSeq?: number } = {}): Verdict {
    return this.keep(cancelTask(this.now, this.task, request, 'key:k')).verdict;
  }

  retry(
    request: { ifSeq?: number; attempts?: number; acceptRepeatedEffect?: boolean } = {},
  ): Verdict {
    const whole = { actionId: 'a', ifSeq: this.task.seq, attempts: 1, reason: 'again', ...request };
    return this.keep(retryTask(this.now, this.task, whole, 'key:o')).verdict;
  }

  resolve(
    resolution: 'succeeded' | 'failed' | 'retry' | 'late-report',
    request: { ifSeq?: number; result?: unknown } = {},
  ): Verdict {
    const whole = { actionId: 'a', ifSeq: this.task.seq, reason: 'seen', resolution, ...request };
    const result = JSON.stringify(request.result ?? null);
    return this.keep(resolveTask(this.now, this.task, whole, 'key:o', result)).verdict;
  }

  /** Keeps what a command did, as a store does. */
  keep(change: Change): Change {
    const before = this.task.seq;
    if (change.task) this.task = change.task;
    if (change.attempt) this.attempts.set(change.attempt.id, change.attempt);
    this.#write(change.events, before);
    return change;
  }

  #write(events: readonly NewEvent[], before: number): void {
    for (const [i, event] of events.entries())
      this.journal.push({ ...event, seq: before + i + 1, atMs: this.now });
    this.task = { ...this.task, seq: before + events.length };
  }

  /** `failed BROKEN begun`, `failed BROKEN not-called`. */
  get outcome(): string {
    const { status, error } = this.task;
    const begun = error?.begun === false ? 'not-called' : undefined;
    return [status, error?.code, error?.effect, begun].filter(Boolean).join(' ');
  }

  get kinds(): string[] {
    return this.journal.map((entry) => entry.kind);
  }
}

/** A verdict in words: `ok`, `ok replayed`, `STALE_ATTEMPT recorded`. */
export function inWords(verdict: Verdict): string {
  if (verdict.ok) return verdict.replayed ? 'ok replayed' : 'ok';
  const flags = Object.entries(verdict.more ?? {}).filter(([, value]) => value === true);
  return [verdict.code, ...flags.map(([name]) => name)].join(' ');
}

export const start: Said = { op: 'start' };
export const effect: Said = { op: 'effect' };
export const renew: Said = { op: 'renew' };
export const complete: Said = { op: 'complete', result: { n: 1 } };
const error = { code: 'BROKEN', message: 'It broke.' };
export const fail: Said = { op: 'fail', error: { ...error, retryable: false } };
export const failRetryable: Said = { op: 'fail', error: { ...error, retryable: true } };
/** By a worker that knows that it never called the handler. */
export const failUncalled: Said = { ...fail, begun: false };
export const failUncalledRetryable: Said = { ...failRetryable, begun: false };
export const unknown: Said = { op: 'unknown', error: { ...error, retryable: false } };
export const cancelled: Said = { op: 'cancelled' };
export const lost: Said = { op: 'lost', reason: 'host-died', begun: true };
export const lostUnbegun: Said = { op: 'lost', reason: 'worker-restarted', begun: false };
export const release: Said = { op: 'release', reason: 'no-handler' };
export const progress = (n: number): Said => ({ op: 'progress', n, percent: n });
export const log = (n: number): Said => ({ op: 'log', n, lines: [] });
