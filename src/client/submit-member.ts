/** One try of a submission that waits for others, or is under way with them: its answer, its time and its signal are its own. */
import type { TaskView } from '../contract/index.ts';
import { workerDefaults } from '../core/defaults.ts';
import type { Clock, Timer } from '../ports/clock.ts';
import type { HttpAnswer } from '../wire/judge.ts';
import { givenUp, late } from '../wire/limit.ts';
import { onAbort } from '../wire/on-abort.ts';

/** One submission, through all of its tries. */
export interface Ticket {
  /** Its body: what is repeated is the same. */
  readonly text: string;
  /** What its task names, where it names one. */
  readonly idempotencyKey?: string | undefined;
  /** Wished so, or it was in a batch that had no answer for it: from then on it hurts nobody, and nobody hurts it. */
  alone: boolean;
}

/** How long one try may take, and who may end it. */
export interface TryOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

export interface MemberCalls {
  readonly clock: Clock;
  /** The control plane, as people write it. */
  readonly shown: string;
}

/** A try that waits for others, or is under way with them. */
export class Member {
  readonly ticket: Ticket;
  readonly untilMs: number;
  settled = false;
  readonly #calls: MemberCalls;
  readonly #how: TryOptions;
  readonly #sentAt: number;
  readonly #resolve: (answer: HttpAnswer<TaskView>) => void;
  readonly #reject: (error: unknown) => void;
  readonly #deaf: () => void;
  #timer: Timer | undefined;
  #left: (() => void) | undefined;

  constructor(
    calls: MemberCalls,
    ticket: Ticket,
    how: TryOptions,
    now: number,
    resolve: (answer: HttpAnswer<TaskView>) => void,
    reject: (error: unknown) => void,
  ) {
    this.#calls = calls;
    this.ticket = ticket;
    this.#how = how;
    this.#sentAt = now;
    this.untilMs = now + how.timeoutMs;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#deaf = onAbort(how.signal, () => this.#leave('aborted', givenUp(calls.shown)));
    // Who has the usual time need not be watched before the call begins: none that is under way lasts longer.
    if (how.timeoutMs < workerDefaults.requestTimeoutMs) this.#watch(how.timeoutMs);
  }

  /** Somebody still waits for it. */
  isWanted(now: number): boolean {
    if (this.untilMs <= now) this.#late();
    return !this.settled;
  }

  /** What is left for a call of its own. */
  left(now: number): TryOptions {
    return { timeoutMs: Math.max(1, this.untilMs - now), signal: this.#how.signal };
  }

  /** It goes with others. @param sureMs the call lasts that long; who has to be told before is watched. */
  travel(sureMs: number, now: number, left: () => void): void {
    this.#left = left;
    if (!this.#timer && this.untilMs < sureMs) this.#watch(this.untilMs - now);
  }

  /** It goes on alone: the call watches its time and its signal. */
  follow(call: Promise<HttpAnswer<TaskView>>): void {
    this.#end();
    call.then(this.#resolve, this.#reject);
  }

  settle(answer: HttpAnswer<TaskView>): void {
    if (this.settled) return;
    this.#end();
    this.#resolve(answer);
  }

  fail(error: unknown): void {
    if (this.settled) return;
    this.#end();
    this.#reject(error);
  }

  #watch(ms: number): void {
    this.#timer = this.#calls.clock.timer(ms, this.#late);
  }

  readonly #late = () => this.#leave('timeout', late(this.#calls.shown, this.#how.timeoutMs));

  #leave(cause: 'timeout' | 'aborted', why: string): void {
    const left = this.#left;
    this.settle({ kind: 'no-answer', cause, why, sentAt: this.#sentAt });
    left?.();
  }

  #end(): void {
    this.settled = true;
    this.#timer?.cancel();
    this.#deaf();
  }
}
