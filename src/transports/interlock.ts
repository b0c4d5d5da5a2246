/** The port `Transport` over HTTP and SSE: the worker's calls of the contract. */
import {
  batchResult,
  type ClaimAnswer,
  type ClaimRequest,
  claimAnswer,
  type PresenceAnswer,
  type PresenceRequest,
  presenceAnswer,
  type Report,
  type ReportAnswer,
  reportAnswer,
  reportBatchAnswer,
  type ServiceInfo,
  serviceInfo,
} from '../contract/index.ts';
import {
  plainClaimAnswer,
  plainReportAnswer,
  plainReportBatchAnswer,
} from '../contract/plain-answers.ts';
import { workerDefaults } from '../core/defaults.ts';
import type { Clock } from '../ports/clock.ts';
import type { Answer, Hint, HintEnd, Transport } from '../ports/transport.ts';
import { Door } from '../wire/door.ts';
import type { WireFetch } from '../wire/fetch.ts';
import { judgeItem } from '../wire/judge.ts';
import type { KeySource } from '../wire/key.ts';
import { type FetchOptions, openFetch } from '../wire/open-fetch.ts';
import { parseClaimText } from './claim-text.ts';
import { readHints } from './hint-stream.ts';

export interface InterlockOptions extends Omit<FetchOptions, 'clock'> {
  readonly serviceUrl: string;
  readonly key: KeySource;
  readonly clock: Clock;
  /** Instead of our own connections; `caFile` and `proxy` then mean nothing. */
  readonly fetch?: WireFetch | undefined;
  /** Send the key over http beyond loopback [false]. */
  readonly insecureHttp?: boolean | undefined;
}

const OK = { statuses: [200] } as const;

export class InterlockTransport implements Transport {
  readonly promises = { leases: true, fencing: true, hints: true, replay: true } as const;
  readonly #door: Door;
  readonly #clock: Clock;
  readonly #key: KeySource;
  readonly #close: () => Promise<void>;

  /** Throws a `TaskError` where address, proxy or CA file cannot be used. */
  constructor(options: InterlockOptions) {
    const { serviceUrl, key, clock, insecureHttp } = options;
    const own = options.fetch ? undefined : openFetch(options);
    const fetch = options.fetch ?? (own as NonNullable<typeof own>).fetch;
    this.#door = new Door({ serviceUrl, key, clock, insecureHttp, fetch });
    this.#clock = clock;
    this.#key = key;
    this.#close = () => own?.close() ?? Promise.resolve();
  }

  discover(): Promise<Answer<ServiceInfo>> {
    return this.#door.call({
      method: 'GET',
      path: '/',
      open: true,
      anyContract: true,
      ...OK,
      schema: serviceInfo,
    });
  }

  claim(request: ClaimRequest, signal?: AbortSignal): Promise<Answer<ClaimAnswer>> {
    return this.#door.call({
      method: 'POST',
      path: '/claims',
      body: request,
      timeoutMs: workerDefaults.requestTimeoutMs + (request.waitMs ?? 0),
      patience: request.waitMs === undefined ? undefined : 'patient',
      signal,
      ...OK,
      schema: claimAnswer,
      plain: plainClaimAnswer,
      parse: parseClaimText,
    });
  }

  present(workerId: string, request: PresenceRequest): Promise<Answer<PresenceAnswer>> {
    const path = `/workers/${encodeURIComponent(workerId)}`;
    return this.#door.call({
      ...{ method: 'PUT', path, body: request, patience: 'patient' },
      ...OK,
      schema: presenceAnswer,
    });
  }

  async report(report: Report): Promise<Answer<ReportAnswer>> {
    const answer = await this.#door.call({
      method: 'POST',
      path: `/attempts/${encodeURIComponent(report.attemptId)}/${report.op}`,
      body: report,
      lane: report.op === 'renew' ? 'renew' : 'calls',
      ...OK,
      schema: reportAnswer,
    });
    return this.#ofThis(report, answer);
  }

  async reportBatch(reports: readonly Report[]): Promise<Answer<readonly Answer<ReportAnswer>[]>> {
    const answer = await this.#door.call({
      method: 'POST',
      path: '/attempts/batch',
      body: { reports },
      // Renewals wait for nothing, so they have connections of their own.
      lane: reports.every(({ op }) => op === 'renew') ? 'renew' : 'calls',
      ...OK,
      schema: reportBatchAnswer,
      plain: plainReportBatchAnswer,
    });
    if (answer.kind !== 'ok') return answer;
    const { sentAt } = answer;
    const value = reports.map((report, i): Answer<ReportAnswer> => {
      const plain = plainResult(answer.value.results[i]);
      if (plain !== undefined) return this.#ofThis(report, { kind: 'ok', value: plain, sentAt });
      const item = batchResult.safeParse(answer.value.results[i]);
      const expected = { ...OK, schema: reportAnswer };
      const one = judgeItem(item.data, expected, this.#door.address.shown, sentAt);
      return this.#ofThis(report, one);
    });
    return { kind: 'ok', value, sentAt };
  }

  hints(
    query: { workerId: string; sessionId: string },
    onHint: (hint: Hint) => void,
    signal: AbortSignal,
  ): Promise<HintEnd> {
    return readHints(this.#door, this.#clock, query, onHint, signal);
  }

  async reloadKey(): Promise<boolean> {
    const before = this.#key.current();
    const after = await this.#key.reload().catch(() => undefined);
    return after !== undefined && after !== before;
  }

  close(): Promise<void> {
    return this.#close();
  }

  /** An acceptance that names another report is none. */
  #ofThis(report: Report, answer: Answer<ReportAnswer>): Answer<ReportAnswer> {
    if (answer.kind !== 'ok') return answer;
    const { attemptId, fence, op } = answer.value;
    if (attemptId === report.attemptId && fence === report.fence && op === report.op) return answer;
    return {
      kind: 'no-answer',
      cause: 'not-the-contract',
      why: `${this.#door.address.shown} accepted another report than the one that was sent (${op} of ${attemptId}, fence ${fence}).`,
      sentAt: answer.sentAt,
    };
  }
}

/** What nearly every item of a batch's answer is; `undefined`: to be looked at more closely. */
function plainResult(item: unknown): ReportAnswer | undefined {
  const { status, body } = (item ?? {}) as { status?: unknown; body?: unknown };
  return status === 200 ? plainReportAnswer(body) : undefined;
}
