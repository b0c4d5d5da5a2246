import { terminalStatuses } from '../../src/contract/tasks.ts';
import { gatePassed } from '../../src/core/effect-safety.ts';
import {
  type AttemptState,
  ended,
  isCurrent,
  type TaskState,
  type Verdict,
} from '../../src/core/task.ts';
import { claimable } from '../../src/core/task-claim.ts';
import { dueAtMs } from '../../src/core/task-sweep.ts';
import {
  cancelled,
  complete,
  effect,
  effectGate,
  fail,
  failRetryable,
  failUncalled,
  failUncalledRetryable,
  idempotent,
  inWords,
  log,
  lost,
  lostUnbegun,
  progress,
  pure,
  release,
  renew,
  type Said,
  start,
  startGate,
  T0,
  TaskWorld,
  unknown,
} from './task-world.ts';

/**
 * A random history of one task: two workers whose reports may come late, twice and in any order, a sweeper, a
 * producer who cancels and an operator. After every step it is checked against the rules of the contract.
 */
export const safeties = { pure, idempotent, startGate, effectGate };
const said: readonly Said[] = [
  renew,
  start,
  effect,
  progress(1),
  progress(2),
  log(1),
  complete,
  { op: 'complete', result: 'another' },
  { ...complete, start: {} },
  { ...failRetryable, start: {} },
  fail,
  failRetryable,
  failUncalled,
  failUncalledRetryable,
  unknown,
  cancelled,
  lost,
  lostUnbegun,
  { op: 'lost', reason: 'drain', begun: true },
  release,
  { op: 'release', reason: 'drain' },
];
const pauses = [1, 1_000, 5_000, 30_000, 61_000, 300_000, 400_000];

/** What to do, and three numbers to choose by. */
export type Step = readonly [what: number, a: number, b: number, c: number];

export class TaskHistory {
  readonly world: TaskWorld;
  readonly #safety: keyof typeof safeties;
  readonly story: string[] = [];
  /** Accepted terminal reports: each must get its answer again for ever. */
  readonly #accepted: { attemptId: string; said: Said }[] = [];
  readonly #gates = new Set<string>();
  #decisions = 0;
  /** Fence of the attempt at which an operator has last said whether the effect took place. */
  #looked = 0;
  /** An operator has taken their late word that they never called their handler. */
  readonly #late = new Set<string>();

  constructor(safety: keyof typeof safeties, maxAttempts: number, deadline: boolean) {
    this.#safety = safety;
    this.world = new TaskWorld({
      maxAttempts,
      attemptTimeoutMs: 60_000,
      queueTimeoutMs: 3_600_000,
      backoff: { initialMs: 1_000 },
      ...(deadline ? { deadlineAt: new Date(T0 + 120_000).toISOString() } : {}),
    });
  }

  take([what, a, b, c]: Step): void {
    const { world } = this;
    const before = world.task;
    const attemptsBefore = new Map(world.attempts);
    world.chance = (c % 100) / 100;
    let byOperator = false;
    switch (what % 10) {
      case 0:
      case 1:
        this.#claim(a);
        break;
      case 2:
      case 3:
      case 4:
      case 5:
        this.#report(a, b, c);
        break;
      case 6:
        this.#sweep();
        break;
      case 7:
        world.pass(pauses[a % pauses.length] ?? 1);
        this.#tell(`${world.now - T0} ms`);
        break;
      case 8:
        this.#tell(
          'cancel',
          world.cancel(b % 3 === 0 ? { ifSeq: Math.max(0, before.seq - (c % 3)) } : {}),
        );
        break;
      default:
        byOperator = this.#operate(a, b, c);
    }
    this.#check(before, attemptsBefore, byOperator);
  }

  /** Whatever happened, time alone brings the task to an end: no state is a trap. */
  finish(): void {
    const { world } = this;
    for (let i = 0; i < 100 && !terminalStatuses.has(world.task.status); i++) {
      const due = dueAtMs(world.task, world.task.attemptId ? world.latest : undefined);
      if (due === undefined) this.#wrong(`nothing ever ends a task that is ${world.task.status}`);
      world.pass(Math.max(0, (due ?? 0) - world.now));
      if (this.#sweep() === undefined) this.#wrong('due, but the sweeper does nothing');
    }
    if (!terminalStatuses.has(world.task.status)) this.#wrong('does not come to an end');
  }

  #claim(a: number): void {
    const { world } = this;
    const may = claimable(world.now, world.task);
    const worker = `w${(a % 2) + 1}`;
    const { verdict } = world.claim(safeties[this.#safety], {
      workerId: worker,
      sessionId: `${worker}-${a % 3}`,
    });
    this.#tell(`claim by ${worker}`, verdict);
    if (verdict.ok !== may) this.#wrong('claimable and claimTask differ');
  }

  #sweep() {
    const change = this.world.sweep();
    this.#tell(
      `sweep: ${change ? change.events.map((event) => event.kind).join(', ') : 'nothing'}`,
    );
    return change;
  }

  #report(a: number, b: number, c: number): void {
    const { world } = this;
    const attempts = [...world.attempts.values()];
    if (attempts.length === 0) return;
    // Mostly the latest attempt; sometimes one that came before.
    const attempt = attempts[
      b % 3 === 0 ? c % attempts.length : attempts.length - 1
    ] as AttemptState;
    const what = said[a % said.length] as Said;
    const session = c % 7 === 0 ? 'superseded' : 'current';
    const before = world.task;
    const verdict = world.say(what, { of: attempt, session, tokenFits: b % 11 !== 0 });
    this.#tell(
      `${attempt.id} ${JSON.stringify(what)}${b % 11 === 0 ? ' with a wrong token' : ''}`,
      verdict,
    );
    if (b % 11 === 0) {
      if (
        inWords(verdict) !== 'STALE_ATTEMPT' ||
        (world.task !== before && world.task.seq !== before.seq)
      )
        this.#wrong('a wrong token has an effect');
      return;
    }
    this.#judge(before, attempt, what, session, verdict);
  }

  #judge(
    task: TaskState,
    attempt: AttemptState,
    what: Said,
    session: string,
    verdict: Verdict,
  ): void {
    const { op } = what;
    const words = inWords(verdict);
    const current = isCurrent(task, attempt);
    const known = this.#accepted.some(
      (a) => a.attemptId === attempt.id && JSON.stringify(a.said) === JSON.stringify(what),
    );
    const outcome = op === 'complete' || op === 'fail' || op === 'unknown';
    if (known && words !== 'ok replayed')
      this.#wrong('an accepted report does not get its answer again');
    if (task.error?.begun === false && task.error.effect !== undefined && task.operatorFence === 0)
      this.#wrong('never called, and yet its effect may have begun');
    if (verdict.ok && !verdict.replayed && !current)
      this.#wrong('accepted although the attempt is over');
    if (
      verdict.ok &&
      ['complete', 'fail', 'unknown', 'cancelled', 'lost', 'release'].includes(op) &&
      !verdict.replayed
    )
      this.#accepted.push({ attemptId: attempt.id, said: what });
    if (op === 'start' || op === 'effect') {
      if (verdict.ok && (!current || session !== 'current'))
        this.#wrong('a gate opens that must not');
      const passes =
        !gatePassed(attempt) && gatePassed(this.world.attempts.get(attempt.id) ?? attempt);
      if (passes && this.world.now >= attempt.leaseUntilMs)
        this.#wrong('a gate opens on an expired lease');
    }
    if (outcome && current && !verdict.ok)
      this.#wrong('an outcome of the current attempt is refused');
    const open =
      attempt.state === 'lost' &&
      task.attemptId === attempt.id &&
      attempt.fence > task.operatorFence;
    if (outcome && open && !attempt.late && words !== 'STALE_ATTEMPT recorded')
      this.#wrong('an outcome of the latest attempt is neither accepted nor recorded');
    if (words === 'STALE_ATTEMPT recorded' && (attempt.state !== 'lost' || attempt.late))
      this.#wrong('recorded although it is no late report');
    const answered = ended(attempt) && (attempt.state !== 'lost' || attempt.late);
    if (op === 'renew' && (answered || open) && words !== 'LEASE_EXPIRED')
      this.#wrong('a renewal hides the answer that its report would get');
    if (op === 'release' && verdict.ok && !verdict.replayed && gatePassed(attempt))
      this.#wrong('released past its gate');
    const now = this.world.attempts.get(attempt.id);
    if (
      verdict.ok &&
      verdict.leaseMs !== undefined &&
      now?.leaseUntilMs !== this.world.now + verdict.leaseMs
    )
      this.#wrong('the lease that was told is not the one that is kept');
  }

  #operate(a: number, b: number, c: number): boolean {
    const { world } = this;
    const ifSeq = b % 5 === 0 ? world.task.seq - 1 : world.task.seq;
    const resolutions = ['succeeded', 'failed', 'retry', 'late-report'] as const;
    const repeated = c % 2 === 0;
    const begun = world.task.error?.effect === 'begun';
    const verdict =
      a % 2 === 0
        ? world.retry({
            ifSeq,
            attempts: (c % 3) + 1,
            ...(repeated ? { acceptRepeatedEffect: true } : {}),
          })
        : world.resolve(resolutions[c % 4] ?? 'failed', { ifSeq });
    this.#tell(
      a % 2 === 0
        ? `retry${repeated ? ' (effect may repeat)' : ''}`
        : `resolve ${resolutions[c % 4]}`,
      verdict,
    );
    if (verdict.ok && b % 5 === 0) this.#wrong('an action for another seq is accepted');
    if (verdict.ok && a % 2 === 0 && begun && !repeated)
      this.#wrong('an effect is repeated without a word');
    const open = [...this.#gates].some((id) => (world.attempts.get(id)?.fence ?? 0) > this.#looked);
    if (verdict.ok && a % 2 === 0 && open && !repeated)
      this.#wrong('an effect of an earlier attempt is repeated without a word');
    if (verdict.ok && a % 2 === 1) {
      if (resolutions[c % 4] !== 'late-report') this.#looked = world.task.fence;
      else if (world.task.error?.begun === false && world.task.attemptId)
        this.#late.add(world.task.attemptId);
    }
    if (verdict.ok && world.task.status === 'queued') this.#decisions++;
    return verdict.ok;
  }

  #check(
    before: TaskState,
    attemptsBefore: ReadonlyMap<string, AttemptState>,
    byOperator: boolean,
  ): void {
    const { task, journal, attempts } = this.world;
    if (journal.some((entry, i) => entry.seq !== i + 1) || task.seq !== journal.length)
      this.#wrong('the journal has a gap');
    if (this.#replayed() !== task.status)
      this.#wrong(`the journal tells ${this.#replayed()}, the task ${task.status}`);

    const changed = stable(task) !== stable(before);
    if (changed && terminalStatuses.has(before.status) && !byOperator)
      this.#wrong('a terminal task changes');
    for (const [id, was] of attemptsBefore) {
      const is = attempts.get(id);
      if (id !== before.attemptId && is !== was) this.#wrong('an old attempt changes');
      if (
        ended(was) &&
        is &&
        stable({ ...is, late: undefined }) !== stable({ ...was, late: undefined })
      )
        this.#wrong('an ended attempt changes');
    }
    if (task.attempts > task.permitted)
      this.#wrong(`${task.attempts} attempts counted, ${task.permitted} permitted`);
    if (task.attempts < 0 || task.undelivered > 20) this.#wrong('the counts are wrong');
    if (
      !byOperator &&
      before.cancelRequested &&
      before.status === 'running' &&
      task.status === 'queued'
    )
      this.#wrong('queued again although a cancel was requested');

    for (const attempt of attempts.values())
      if (gatePassed(attempt) && !this.#uncalled(attempt)) this.#gates.add(attempt.id);
      else this.#gates.delete(attempt.id);
    if (this.#gates.size > 1 + this.#decisions)
      this.#wrong('a gate is passed again without an operator');
    const last = journal.at(-1);
    if (last?.kind === 'requeued' && this.#gates.has(last.attemptId ?? ''))
      this.#wrong('queued again past the gate');

    this.#shape(before);
  }

  /** Its handler was never called, as far as its worker and its own words before tell. */
  #uncalled({ id, effectAccepted, progressN }: AttemptState): boolean {
    if (this.#late.has(id)) return true;
    const said = this.#accepted.find(({ attemptId }) => attemptId === id)?.said;
    return said?.op === 'fail' && said.begun === false && !effectAccepted && progressN === 0;
  }

  /** What every view of a task relies on. */
  #shape(before: TaskState): void {
    const { task, now } = this.world;
    const terminal = terminalStatuses.has(task.status);
    if (terminal !== (task.finishedAtMs !== undefined))
      this.#wrong('finishedAt and the status differ');
    const needsError = ['failed', 'expired', 'outcome-unknown'].includes(task.status);
    if (needsError && !task.error) this.#wrong(`${task.status} without an error`);
    if (task.status === 'succeeded' && (task.error || task.resultJson === undefined))
      this.#wrong('succeeded with an error or without a result');
    if (task.status === 'running' && ended(this.world.latest))
      this.#wrong('running without an attempt');
    if (task.status !== 'running' && task.attemptId && !ended(this.world.latest))
      this.#wrong('an attempt without a running task');
    if (!Number.isFinite(task.availableAtMs) || !Number.isFinite(task.queuedAtMs))
      this.#wrong('a time that is no number');
    if (task.status === 'queued' && before.status !== 'queued' && task.availableAtMs < now)
      this.#wrong('available in the past');
  }

  /** The status that the journal alone tells. */
  #replayed(): string {
    let status = '';
    for (const { kind, data } of this.world.journal) {
      if (kind === 'submitted' || kind === 'requeued') status = 'queued';
      else if (kind === 'leased') status = 'running';
      else if (typeof data.status === 'string') status = data.status;
    }
    return status;
  }

  #tell(what: string, verdict?: Verdict): void {
    this.story.push(verdict ? `${what} → ${inWords(verdict)} (${this.world.task.status})` : what);
  }

  #wrong(what: string): never {
    throw new Error(`${what}\n  ${this.#safety}\n  ${this.story.join('\n  ')}`);
  }
}

/** Everything of a task that a late report or a new entry does not touch. */
function stable(state: object): string {
  return JSON.stringify({ ...state, seq: undefined, lateReport: undefined });
}
