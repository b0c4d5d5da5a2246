/**
 * Submissions that come while others are under way go together, as one batch call; a lone one goes at once. Each keeps an
 * answer, a time limit and an abort signal of its own, as if it had been a single call. When they go and what a refused
 * batch means is decided in `core/gathering`.
 */
import { type TaskView, taskView } from '../contract/index.ts';
import { plainTaskView } from '../contract/plain-answers.ts';
import type { BatchLimits } from '../core/batches.ts';
import { workerDefaults } from '../core/defaults.ts';
import { afterBatch, goNow } from '../core/gathering.ts';
import { submitDefaults } from '../core/submit-defaults.ts';
import type { Clock, Timer } from '../ports/clock.ts';
import { type HttpAnswer, judgeItem } from '../wire/judge.ts';
import { givenUp, late } from '../wire/limit.ts';

export type BatchItems = readonly { readonly status: number; readonly body: unknown }[];

/** One submission, through all of its tries. */
export interface Ticket {
  /** Its body: what is repeated is the same. */
  readonly text: string;
  /** Wished so, or it was in a batch that failed as a whole: from then on it hurts nobody, and nobody hurts it. */
  alone: boolean;
}

/** How long one try may take, and who may end it. */
export interface TryOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** What it needs of a `ServiceClient`. */
export interface SubmitCalls {
  readonly clock: Clock;
  /** The control plane, as people write it. */
  readonly shown: string;
  /** As far as they are known. */
  readonly limits: BatchLimits & { readonly inlineBytes: number };
  submitOnce(text: string, how: TryOptions): Promise<HttpAnswer<TaskView>>;
  submitBatch(texts: readonly string[], how: TryOptions): Promise<HttpAnswer<BatchItems>>;
}

/** What a submission's answer counts as, alone or in a batch. */
export const submitted = { statuses: [200, 201], schema: taskView, plain: plainTaskView } as const;

export class SubmitQueue {
  readonly #calls: SubmitCalls;
  #waiting: Member[] = [];
  #underWay = 0;
  #lastCallAt = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;
  /** A look at those that wait comes at the end of this turn. */
  #looks = false;
  #noBatchBefore = Number.NEGATIVE_INFINITY;

  constructor(calls: SubmitCalls) {
    this.#calls = calls;
  }

  /** One try. Rejects only where a single call would. */
  send(ticket: Ticket, how: TryOptions): Promise<HttpAnswer<TaskView>> {
    const { clock, limits } = this.#calls;
    const { text } = ticket;
    const now = clock.now();
    if (
      ticket.alone ||
      how.signal?.aborted ||
      now < this.#noBatchBefore ||
      text.length * UTF8_MOST > limits.inlineBytes
    )
      return this.#calls.submitOnce(text, how);
    if (this.#underWay === 0 && this.#waiting.length === 0 && !this.#looks)
      return this.#under(this.#calls.submitOnce(text, how), now);
    return new Promise((resolve, reject) => {
      this.#waiting.push(new Member(this.#calls, ticket, how, now, resolve, reject));
      this.#lookSoon();
    });
  }

  /** At the end of the turn: what one answer brings about, or one caller submits, is together by then. */
  #lookSoon(): void {
    if (this.#looks) return;
    this.#looks = true;
    setImmediate(this.#look);
  }

  readonly #look = (): void => {
    this.#looks = false;
    this.#timer?.cancel();
    this.#timer = undefined;
    const { clock, limits } = this.#calls;
    const now = clock.now();
    this.#waiting = this.#waiting.filter((one) => one.isWanted(now));
    if (now < this.#noBatchBefore) this.#singly(this.#waiting.splice(0), now);
    for (;;) {
      const facts = { waiting: this.#waiting.length, calls: this.#underWay };
      if (!goNow({ ...facts, lastCallAt: this.#lastCallAt }, now)) break;
      void this.#go(this.#take(limits), now);
    }
    // With all calls under way the next one that comes back looks.
    if (this.#waiting.length > 0 && this.#underWay < submitDefaults.batchCalls) {
      const left = this.#lastCallAt + submitDefaults.gatherMs - now;
      this.#timer = clock.timer(left, this.#look);
    }
  };

  /** The oldest of those that wait, as many as fit. */
  #take({ batch, batchBytes }: BatchLimits): Member[] {
    let bytes = BRACKETS_BYTES;
    let count = 0;
    for (const { ticket } of this.#waiting) {
      bytes += Buffer.byteLength(ticket.text) + 1;
      if (count > 0 && (count >= batch || bytes > batchBytes)) break;
      count++;
    }
    return this.#waiting.splice(0, count);
  }

  async #go(group: readonly Member[], now: number): Promise<void> {
    const [first] = group as readonly [Member, ...Member[]];
    if (group.length === 1) {
      const { text } = first.ticket;
      first.follow(this.#under(this.#calls.submitOnce(text, first.left(now)), now));
      return;
    }
    const untilMs = Math.max(...group.map((one) => one.untilMs));
    const ended = new AbortController();
    let open = group.length;
    const left = () => {
      if (--open === 0) ended.abort();
    };
    for (const one of group) one.travel(untilMs - submitDefaults.gatherMs, now, left);
    const how = { timeoutMs: Math.max(1, untilMs - now), signal: ended.signal };
    const texts = group.map(({ ticket }) => ticket.text);
    try {
      this.#settle(group, await this.#under(this.#calls.submitBatch(texts, how), now));
    } catch (error) {
      for (const one of group) one.fail(error);
    }
  }

  #settle(group: readonly Member[], answer: HttpAnswer<BatchItems>): void {
    const { shown, clock } = this.#calls;
    const next = afterBatch(answer);
    if (next === 'singly') {
      const now = clock.now();
      this.#noBatchBefore = now + submitDefaults.batchPauseMs;
      this.#singly(group, now);
    } else if (answer.kind === 'ok')
      for (const [i, one] of group.entries())
        one.settle(judgeItem(answer.value[i], submitted, shown, answer.sentAt));
    else
      for (const one of group) {
        one.ticket.alone = true;
        one.settle(answer);
      }
  }

  #singly(group: readonly Member[], now: number): void {
    for (const one of group)
      if (!one.settled) one.follow(this.#calls.submitOnce(one.ticket.text, one.left(now)));
  }

  async #under<T>(call: Promise<T>, now: number): Promise<T> {
    this.#underWay++;
    this.#lastCallAt = now;
    try {
      return await call;
    } finally {
      this.#underWay--;
      this.#lookSoon();
    }
  }
}

/** A try that waits for others, or is under way with them. */
class Member {
  readonly ticket: Ticket;
  readonly untilMs: number;
  settled = false;
  readonly #calls: SubmitCalls;
  readonly #how: TryOptions;
  readonly #sentAt: number;
  readonly #resolve: (answer: HttpAnswer<TaskView>) => void;
  readonly #reject: (error: unknown) => void;
  #timer: Timer | undefined;
  #left: (() => void) | undefined;

  constructor(
    calls: SubmitCalls,
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
    how.signal?.addEventListener('abort', this.#abort);
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
  readonly #abort = () => this.#leave('aborted', givenUp(this.#calls.shown));

  #leave(cause: 'timeout' | 'aborted', why: string): void {
    const left = this.#left;
    this.settle({ kind: 'no-answer', cause, why, sentAt: this.#sentAt });
    left?.();
  }

  #end(): void {
    this.settled = true;
    this.#timer?.cancel();
    this.#how.signal?.removeEventListener('abort', this.#abort);
  }
}

/** Bytes of one UTF-16 unit at most. */
const UTF8_MOST = 3;
const BRACKETS_BYTES = 2;
