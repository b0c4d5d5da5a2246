/** Offered tasks and what claims get of them: what FCP believes, not how it answers. */
import { randomBytes } from 'node:crypto';
import {
  type Attempt,
  alive,
  gatePassed,
  makeId,
  type Offer,
  renewLease,
  type Task,
  wireForm,
} from './attempts.ts';
import type { Body, Want } from './journal.ts';

export class Tasks {
  readonly all: Task[] = [];
  readonly #attempts = new Map<string, Attempt>();
  readonly #claims = new Map<string, Attempt[]>();
  readonly #leaseMs: number;
  /** What waits for a claim: a new attempt of a task, or one that goes out once more. */
  readonly queue: { task: Task; again?: Attempt; since: number }[] = [];

  readonly #queued: (task: Task) => void;

  constructor(leaseMs: number, queued: (task: Task) => void) {
    this.#leaseMs = leaseMs;
    this.#queued = queued;
  }

  offer(offer: Offer): Task {
    const cancelRequested = offer.cancelRequested ?? false;
    const task = { taskId: makeId('tsk'), offer, attempts: [], cancelRequested };
    this.all.push(task);
    this.enqueue(task);
    return task;
  }

  enqueue(task: Task, again?: Attempt): void {
    this.queue.push({ task, again, since: performance.now() });
    this.#queued(task);
  }

  /** A report has ended this attempt: the task waits again, if its offer says so and no effect can have begun. */
  ended(attempt: Attempt): void {
    const { task, state } = attempt;
    const permitted = state === 'released' || (state === 'lost' && !gatePassed(attempt));
    if (task.offer.requeue && permitted && !task.cancelRequested) this.enqueue(task);
  }

  attempt(attemptId: string | undefined): Attempt | undefined {
    return attemptId === undefined ? undefined : this.#attempts.get(attemptId);
  }

  /** Where a text holds the token of an attempt; `undefined`: nowhere. */
  tokenIn(text: string): number | undefined {
    for (const { leaseToken } of this.#attempts.values()) {
      const at = text.indexOf(leaseToken);
      if (at >= 0) return at;
    }
    return undefined;
  }

  /** Takes a task that nobody claimed yet out of the queue. */
  unqueue(task: Task): void {
    const kept = this.queue.filter((entry) => entry.task !== task);
    this.queue.splice(0, this.queue.length, ...kept);
  }

  /** The attempts that a claim gets, as they go out; those of its first answer that live, if it is repeated. */
  grant(claim: Body, answerBytes: number): unknown[] {
    const earlier = this.#claims.get(claimKey(claim));
    if (earlier) {
      const kept = earlier.filter(alive);
      for (const attempt of kept) renewLease(attempt);
      return kept.map(wireForm);
    }
    const attempts: Attempt[] = [];
    this.#claims.set(claimKey(claim), attempts);
    const slots = new Map((claim.want ?? []).map((want) => [want, want.slots]));
    const max = claim.max ?? 0;
    const out: unknown[] = [];
    let bytes = 0;
    for (const entry of [...this.queue]) {
      const want = matching(claim, slots, entry.task.offer);
      if (!entry.task.offer.unasked && (!want || attempts.length >= max)) continue;
      const attempt = entry.again ?? this.#newAttempt(entry.task, claim, want);
      const wire = wireForm(attempt);
      bytes += Buffer.byteLength(JSON.stringify(wire) ?? '');
      if (bytes > answerBytes && out.length > 0) break;
      if (!entry.again) {
        entry.task.attempts.push(attempt);
        this.#attempts.set(attempt.attemptId, attempt);
      }
      if (want) slots.set(want, (slots.get(want) ?? 0) - 1);
      this.queue.splice(this.queue.indexOf(entry), 1);
      attempts.push(attempt);
      out.push(wire);
    }
    return out;
  }

  #newAttempt(task: Task, claim: Body, want: Want | undefined): Attempt {
    const { offer } = task;
    const now = performance.now();
    const leaseMs = Math.min(claim.leaseMs ?? Infinity, offer.leaseMs ?? this.#leaseMs);
    return {
      task,
      attemptId: makeId('att'),
      fence: task.attempts.length + 1,
      leaseToken: randomBytes(32).toString('base64url'),
      workerId: claim.workerId ?? '',
      sessionId: claim.sessionId ?? '',
      effectSafety: offer.effectSafety ?? want?.effectSafety ?? 'non-idempotent',
      effectGate: offer.effectGate ?? want?.effectGate ?? 'start',
      leaseMs,
      state: 'leased',
      grantedAt: now,
      leaseUntil: now + leaseMs,
      lapsedMs: 0,
      expired: false,
      started: false,
      effectBegun: false,
      last: { progress: -1, log: -1 },
      checkpoint: task.attempts.at(-1)?.checkpoint ?? offer.checkpoint,
      reports: [],
    };
  }
}

function matching(claim: Body, slots: Map<Want, number>, offer: Offer): Want | undefined {
  const { type, schemaVersion = 1, pool = 'default' } = offer;
  if (!claim.pools?.includes(pool)) return undefined;
  const free = [...slots].filter(([, left]) => left > 0).map(([want]) => want);
  return free.find((want) => want.type === type && want.schemaVersion === schemaVersion);
}

const claimKey = (claim: Body): string =>
  JSON.stringify([claim.workerId, claim.sessionId, claim.requestId]);
