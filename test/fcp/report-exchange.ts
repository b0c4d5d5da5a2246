/** What a rule may do with one report: answer it itself, or change the answer of the control plane. */
import { type AnswerBody, type JsonAnswer, problem } from './answers.ts';

export class ReportExchange {
  readonly #byDefault: () => JsonAnswer;
  #answer: JsonAnswer | undefined;

  constructor(byDefault: () => JsonAnswer) {
    this.#byDefault = byDefault;
  }

  /** Applied; `alter` may change what is answered. */
  pass(alter: (answer: JsonAnswer) => JsonAnswer = (answer) => answer): void {
    this.#answer = alter(this.#byDefault());
  }

  /** Not applied. */
  answer(status: number, body: AnswerBody): void {
    this.#answer = { status, body };
  }

  /** Not applied; `retryAfterMs` among the extra fields holds for this report alone. */
  problem(status: number, code: string, extra: Record<string, unknown> = {}): void {
    this.#answer = problem(status, code, `FCP was told to answer ${code}`, extra);
  }

  stale(extra: Record<string, unknown> = {}): void {
    this.problem(409, 'STALE_ATTEMPT', extra);
  }

  leaseExpired(): void {
    this.problem(409, 'LEASE_EXPIRED');
  }

  /** The rule's answer; without one, the default. */
  result(): JsonAnswer {
    if (!this.#answer) this.pass();
    return this.#answer as JsonAnswer;
  }
}
