/**
 * Submissions that come while others are under way go together, as one batch call; a lone one goes at once. Each keeps an
 * answer, a time limit and an abort signal of its own, as if it had been a single call. When they go and what a refused
 * batch means is decided in `core/gathering`.
 */
import type { TaskView } from '../contract/index.ts';
import type { BatchLimits } from '../core/batches.ts';
import { afterBatch, goNow } from '../core/gathering.ts';
import { submitDefaults } from '../core/submit-defaults.ts';
import type { Timer } from '../ports/clock.ts';
import type { HttpAnswer } from '../wire/judge.ts';
import { onAbort } from '../wire/on-abort.ts';
import { clientClosed } from './closed.ts';
import { Member, type MemberCalls, type Ticket, type TryOptions } from './submit-member.ts';
import { type BatchItems, judgeSubmitted } from './submitted.ts';

/** What it needs of a `ServiceClient`. */
export interface SubmitCalls extends MemberCalls {
  /** As far as they are known. */
  readonly limits: BatchLimits & { readonly inlineBytes: number };
  submitOnce(text: string, how: TryOptions): Promise<HttpAnswer<TaskView>>;
  submitBatch(texts: readonly string[], how: TryOptions): Promise<HttpAnswer<BatchItems>>;
}

export class SubmitQueue {
  readonly #calls: SubmitCalls;
  #waiting: Member[] = [];
  #underWay = 0;
  #lastCallAt = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;
  /** A look at those that wait comes at the end of this turn. */
  #looks = false;
  #noBatchBefore = Number.NEGATIVE_INFINITY;

  /** @param closed those that wait then end with `CLIENT_CLOSED`; what is under way ends with its connection. */
  constructor(calls: SubmitCalls, closed: AbortSignal) {
    this.#calls = calls;
    onAbort(closed, () => {
      for (const one of this.#waiting.splice(0)) one.fail(clientClosed(true));
    });
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
      for (const [i, one] of group.entries()) {
        const { ticket } = one;
        const own = judgeSubmitted(answer.value[i], ticket.idempotencyKey, shown, answer.sentAt);
        // Whoever leaves it out of a batch, or mixes it up, may do so each time.
        if (own.kind === 'no-answer') ticket.alone = true;
        one.settle(own);
      }
    else
      for (const one of group) {
        if (next === 'each-alone') one.ticket.alone = true;
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

/** Bytes of one UTF-16 unit at most. */
const UTF8_MOST = 3;
const BRACKETS_BYTES = 2;
