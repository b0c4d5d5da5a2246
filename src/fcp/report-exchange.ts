/** What a rule may do with one report: answer it itself, or change the answer of the control plane. */
import { type AnswerBody, type JsonAnswer, problem } from './answers.ts';
import { answerWords, changedWords } from './played.ts';

export class ReportExchange {
  readonly #byDefault: () => JsonAnswer;
  #answer: JsonAnswer | undefined;
  /** What the rule did, in words; none where the answer is the default. */
  played: string | undefined;

  constructor(byDefault: () => JsonAnswer) {
    this.#byDefault = byDefault;
  }

  /** Applied; `alter` may change what is answered. */
  pass(alter?: (answer: JsonAnswer) => JsonAnswer): void {
    const honest = this.#byDefault();
    this.#answer = alter?.(honest) ?? honest;
    this.played = changedWords(honest, this.#answer);
  }

  /** Not applied. */
  answer(status: number, body: AnswerBody): void {
    this.#instead({ status, body });
  }

  /** Not applied; `retryAfterMs` among the extra fields holds for this report alone. */
  problem(status: number, code: string, extra: Record<string, unknown> = {}): void {
    this.#instead(problem(status, code, `the kit's control plane plays ${code}`, extra));
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

  #instead(answer: JsonAnswer): void {
    this.#answer = answer;
    this.played = `not carried out, answered ${answerWords(answer)}`;
  }
}
