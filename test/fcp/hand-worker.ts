/** A worker moved by hand, one call at a time, for the tests of FCP itself. */
import { randomUUID } from 'node:crypto';
import type { AnswerBody } from '../../src/fcp/answers.ts';
import { BASE_PATH } from '../../src/fcp/base-path.ts';
import type { Fcp } from '../../src/fcp/fcp.ts';

export interface Told {
  status: number;
  body: AnswerBody;
  headers: Headers;
}

export interface GrantedAttempt {
  taskId: string;
  attemptId: string;
  fence: number;
  leaseToken: string;
  leaseMs: number;
  cancelRequested: boolean;
  [key: string]: unknown;
}

export class HandWorker {
  readonly workerId: string;
  readonly sessionId: string;
  key = 'il_hand';
  readonly #fcp: Fcp;

  constructor(fcp: Fcp, workerId = 'hand', sessionId: string = randomUUID()) {
    this.#fcp = fcp;
    this.workerId = workerId;
    this.sessionId = sessionId;
  }

  async call(method: string, path: string, body?: unknown, headers = {}): Promise<Told> {
    const response = await fetch(`${this.#fcp.url}${BASE_PATH}${path}`, {
      method,
      redirect: 'manual',
      body: body === undefined ? null : JSON.stringify(body),
      headers: {
        authorization: `Bearer ${this.key}`,
        'interlock-contract': '1',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
    });
    const text = await response.text();
    const json = response.headers.get('content-type')?.includes('json');
    return {
      status: response.status,
      body: json ? JSON.parse(text) : { text },
      headers: response.headers,
    };
  }

  claimBody(extra: Record<string, unknown> = {}): Record<string, unknown> {
    const { workerId, sessionId } = this;
    const want = [{ type: 'demo/hello', schemaVersion: 1, slots: 2, effectSafety: 'pure' }];
    return {
      workerId,
      sessionId,
      requestId: randomUUID(),
      pools: ['default'],
      want,
      max: 2,
      ...extra,
    };
  }

  claim(extra?: Record<string, unknown>): Promise<Told> {
    return this.call('POST', '/claims', this.claimBody(extra));
  }

  /** Claims and returns the attempts of the answer. */
  async take(extra?: Record<string, unknown>): Promise<GrantedAttempt[]> {
    return (await this.claim(extra)).body.attempts as GrantedAttempt[];
  }

  /** The one attempt of a claim. */
  async takeOne(extra?: Record<string, unknown>): Promise<GrantedAttempt> {
    const [attempt] = await this.take(extra);
    if (!attempt) throw new Error('the claim got no attempt');
    return attempt;
  }

  present(state: string, extra: Record<string, unknown> = {}): Promise<Told> {
    return this.call('PUT', `/workers/${this.workerId}`, {
      sessionId: this.sessionId,
      state,
      slots: { max: 2, busy: 0 },
      pools: ['default'],
      handlersHash: 'h1',
      versions: { worker: '0.1.0' },
      spool: { pending: 0, bytes: 0, oldestMs: 0, ok: true },
      ...extra,
    });
  }

  reportBody(op: string, attempt: GrantedAttempt, extra: Record<string, unknown> = {}) {
    const { taskId, attemptId, fence, leaseToken } = attempt;
    const session = op === 'start' || op === 'effect' ? { sessionId: this.sessionId } : {};
    return { op, taskId, attemptId, fence, leaseToken, ...session, ...extra };
  }

  report(op: string, attempt: GrantedAttempt, extra?: Record<string, unknown>): Promise<Told> {
    const path = `/attempts/${attempt.attemptId}/${op}`;
    return this.call('POST', path, this.reportBody(op, attempt, extra));
  }

  batch(...reports: unknown[]): Promise<Told> {
    return this.call('POST', '/attempts/batch', { reports });
  }

  /** Opens the hint stream; `next` resolves with the next piece of text that arrives, '' at the end. */
  async hints(): Promise<{ status: number; next: () => Promise<string>; close: () => void }> {
    const abort = new AbortController();
    const query = `workerId=${this.workerId}&sessionId=${this.sessionId}`;
    const response = await fetch(`${this.#fcp.url}${BASE_PATH}/hints?${query}`, {
      headers: { authorization: `Bearer ${this.key}`, 'interlock-contract': '1' },
      signal: abort.signal,
    });
    const reader = response.body?.getReader();
    const decoder = new TextDecoder();
    const next = async () => {
      const piece = await reader?.read().catch(() => undefined);
      return piece?.value ? decoder.decode(piece.value, { stream: true }) : '';
    };
    return { status: response.status, next, close: () => abort.abort() };
  }
}
