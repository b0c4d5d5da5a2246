import { NotApplicable } from '../case.ts';
import { expect, same } from '../check.ts';
import type { Seen } from './caller.ts';
import type { AttemptOffer, EventShape, TaskShape } from './wire-shapes.ts';
import type { ClaimOptions, WorkerActor } from './worker-actor.ts';
import type { ControlPlaneWorld } from './world.ts';

/** What many cases begin with, and what many of them ask at their end. */

/** A delay between attempts that holds nobody up. */
export const soon = { initialMs: 1, factor: 1, maxMs: 1, jitter: 0 } as const;

/** Longer than any case waits: for those that are not about leases. */
export const LONG_LEASE_MS = 120_000;

export interface Given {
  readonly task: TaskShape;
  readonly worker: WorkerActor;
  readonly attempt: AttemptOffer;
}

export interface GivenOptions extends ClaimOptions {
  /** Fields of the submission. */
  readonly task?: Readonly<Record<string, unknown>>;
  readonly policy?: Readonly<Record<string, unknown>>;
  /** [a fresh one] */
  readonly worker?: WorkerActor;
  /** Sends `start`, or `start` and `effect`. */
  readonly passed?: 'start' | 'effect';
  /** Word of the type, where a case has several. */
  readonly word?: string;
}

/** A task in the hands of a worker: submitted, claimed, its gate passed where `passed` says so. */
export async function given(world: ControlPlaneWorld, options: GivenOptions = {}): Promise<Given> {
  const { task: fields, policy, worker = world.worker(), passed, word, ...claim } = options;
  const task = await world.submit({
    type: world.type(word),
    policy: { leaseMs: LONG_LEASE_MS, backoff: soon, ...policy },
    ...fields,
  });
  const ops = passed === 'effect' ? ['start', 'effect'] : passed ? ['start'] : [];
  return steady(async () => {
    const beganMs = world.clock.now();
    const attempt = await worker.claimOne(task.type, claim);
    for (const op of ops)
      inTime(await worker.report(attempt, op), beganMs, attempt.leaseMs).is(200);
    return { task, worker, attempt };
  });
}

/** This machine, or the way to the peer, was slower than the short lease of a case. */
class TooSlow extends NotApplicable {}

/** Plays the turn again, or skips the case. */
export function tooSlow(ms: number, what: string): never {
  throw new TooSlow(`this machine took ${Math.round(ms)} ms for ${what}.`);
}

/** Plays the work again, a few times, where this machine was too slow for it. */
export async function steady<T>(work: (turn: number) => Promise<T>): Promise<T> {
  for (let turn = 1; ; turn++) {
    try {
      return await work(turn);
    } catch (error) {
      if (!(error instanceof TooSlow) || turn === TURNS) throw error;
    }
  }
}

const TURNS = 5;

/** The answer, unless it refuses what came later than a lease that began after `sinceMs`: that says nothing of the peer. */
export function inTime(
  seen: Seen,
  sinceMs: number,
  leaseMs: number,
  refused = seen.status === 409,
): Seen {
  const ms = Math.round(seen.receivedAtMs - sinceMs);
  if (refused && ms >= leaseMs) tooSlow(ms, `what a lease of ${leaseMs} ms is for`);
  return seen;
}

/** The lines of a `log` that nobody reads. */
export const oneLine = [{ at: '2026-01-01T00:00:00.000Z', level: 'info', text: 'a line' }] as const;

/** A failure as a handler reports it. */
export const failure = (retryable = false, more: Readonly<Record<string, unknown>> = {}) => ({
  error: { code: 'KIT_SAID_SO', message: 'The case wants it so.', retryable, ...more },
});

/** A `lost` as a worker reports it. */
export const lost = (reason = 'host-died', begun = true) => ({ reason, begun });

/** The answer accepts: 200, `accepted`, and the report's own names. */
export function accepted(seen: Seen, attempt: AttemptOffer, op: string): Record<string, unknown> {
  const body = seen.is(200).body();
  same(
    { accepted: body.accepted, attemptId: body.attemptId, fence: body.fence, op: body.op },
    { accepted: true, attemptId: attempt.attemptId, fence: attempt.fence, op },
    `what the answer to ${op} says`,
  );
  return body;
}

/** The task has this status now, without waiting. */
export async function isNow(
  world: ControlPlaneWorld,
  task: { readonly id: string },
  status: string,
): Promise<TaskShape> {
  const now = await world.task(task.id);
  same(now.status, status, 'the status of the task');
  return now;
}

/** Entries of one kind in the task's journal. */
export async function entries(
  world: ControlPlaneWorld,
  task: { readonly id: string },
  kind: string,
): Promise<readonly EventShape[]> {
  return (await world.events(task.id)).filter((event) => event.kind === kind);
}

/** The work changes nothing of the task: no entry, no status, no count. */
export async function unchanged(
  world: ControlPlaneWorld,
  task: { readonly id: string },
  work: () => Promise<void>,
): Promise<void> {
  const facts = async () => {
    const { status, seq, attempts, undelivered, result, error } = await world.task(task.id);
    return { status, seq, attempts, undelivered, result, error };
  };
  const before = await facts();
  await work();
  same(await facts(), before, 'the task after what had to change nothing');
}

/** Nothing claims it: a claim of a fresh worker comes back empty. */
export async function notOffered(world: ControlPlaneWorld, type: string): Promise<void> {
  const seen = (await world.worker().claim([type])).is(200);
  same(
    seen.body<{ attempts: unknown[] }>().attempts.length,
    0,
    `the number of attempts of ${type}`,
  );
}

/**
 * Waits until another worker gets the task, and when that was seen. What comes earlier than `notBeforeMs` (on the kit's
 * clock) is too early. @param ms how long it may take at most.
 */
export async function takenNotBefore(
  world: ControlPlaneWorld,
  type: string,
  notBeforeMs: number,
  options: ClaimOptions = {},
): Promise<AttemptOffer> {
  const other = world.worker();
  const ms = Math.max(0, notBeforeMs - world.clock.now()) + 20_000;
  return world.until(
    `a new attempt of ${type}`,
    async () => {
      const seen = (await other.claim([type], options)).is(200);
      const [attempt] = seen.body<{ attempts: AttemptOffer[] }>().attempts;
      const early = notBeforeMs - seen.receivedAtMs;
      expect(
        attempt === undefined || early <= CLOCK_SLACK_MS,
        `The task was given out ${Math.round(early)} ms too early.`,
      );
      return attempt;
    },
    ms,
  );
}

/** Two clocks round, and one of them may be set a little while it runs. */
const CLOCK_SLACK_MS = 25;

/** The lease of an attempt that nobody else could run is over: the control plane says in words what it waits for. */
export function silent(world: ControlPlaneWorld, task: { readonly id: string }): Promise<string> {
  return world.until(
    'a waitingFor that tells of the lease that ran out',
    async () => {
      const now = await world.task(task.id);
      same(now.status, 'running', 'the status of the task while its word is awaited');
      return now.waitingFor;
    },
    3 * world.leaseMinMs + 20_000,
  );
}
