import type {
  ClaimAnswer,
  ClaimRequest,
  PresenceAnswer,
  PresenceRequest,
  Report,
  ReportAnswer,
  ServiceInfo,
} from '../src/contract/index.ts';
import { workerDefaults } from '../src/core/defaults.ts';
import type { Clock } from '../src/ports/clock.ts';
import type { Answer, Hint, HintEnd, Transport } from '../src/ports/transport.ts';
import { SmallControlPlane } from './small-control-plane.ts';
import { WireWatch } from './wire-watch.ts';
import {
  type CallKind,
  noAnswer,
  ok,
  refused,
  type Said,
  type SentCall,
  type SentReport,
  type Unsent,
} from './wire-words.ts';

type CallRule = (
  call: SentCall,
  byDefault: () => Said<unknown>,
) => Said<unknown> | Promise<Said<unknown>>;
type ReportRule = (sent: SentReport, byDefault: () => Said<ReportAnswer>) => Said<ReportAnswer>;

interface Rule<Subject, Handler> {
  readonly match: (subject: Subject) => boolean;
  readonly handler: Handler;
  left: number;
}

/**
 * The transport's double with a small control plane behind it, in simulated time: every call is logged and answered after
 * `latencyMs`, by the first rule that matches or as the contract has it. What a worker may not do is told by `watch`.
 */
export class SimulatedTransport extends SmallControlPlane implements Transport {
  readonly promises = { leases: true, fencing: true, hints: true, replay: true } as const;
  readonly calls: SentCall[] = [];
  readonly reports: SentReport[] = [];
  readonly watch = new WireWatch();
  /** Keys that `reloadKey` finds, in order; the last stays. */
  readonly keys: string[] = ['il_sim'];
  keyReads = 0;
  latencyMs = 2;
  /** No call gets an answer: the machine does not accept connections. */
  down = false;
  /** Called with each report before it is answered. */
  onSend: (report: Report) => void = () => {};
  readonly #clock: Clock;
  readonly #callRules: Rule<SentCall, CallRule>[] = [];
  readonly #reportRules: Rule<SentReport, ReportRule>[] = [];
  readonly #streams = new Set<(hint: Hint | HintEnd) => void>();
  #key = 'il_sim';

  constructor(clock: Clock) {
    super(clock);
    this.#clock = clock;
  }

  /** Scripts calls; `times` [always]. Returns the end of the rule. */
  onCall(match: CallKind | ((call: SentCall) => boolean), handler: CallRule, times = Infinity) {
    const rule = {
      match: typeof match === 'function' ? match : (call: SentCall) => call.kind === match,
      handler,
      left: times,
    };
    this.#callRules.push(rule);
    return () => {
      rule.left = 0;
    };
  }

  /** Scripts the answers to reports, alone or in a batch. */
  onReport(match: string | ((report: Report) => boolean), handler: ReportRule, times = Infinity) {
    const fits = typeof match === 'function' ? match : ({ op }: Report) => op === match;
    const rule = { match: ({ report }: SentReport) => fits(report), handler, left: times };
    this.#reportRules.push(rule);
    return () => {
      rule.left = 0;
    };
  }

  of(kind: CallKind): SentCall[] {
    return this.calls.filter((call) => call.kind === kind);
  }

  sent(op: string, attemptId?: string): SentReport[] {
    return this.reports.filter(
      ({ report }) => report.op === op && (attemptId ?? report.attemptId) === report.attemptId,
    );
  }

  /** To every open stream; returns how many there are. */
  hint(hint: Hint): number {
    for (const stream of [...this.#streams]) stream(hint);
    return this.#streams.size;
  }

  /** Ends every open stream. */
  cutHints(end: HintEnd = { kind: 'closed', why: 'The stream was cut.' }): void {
    for (const stream of [...this.#streams]) stream(end);
  }

  get openStreams(): number {
    return this.#streams.size;
  }

  discover(): Promise<Answer<ServiceInfo>> {
    return this.#call('discover', undefined, () => this.info());
  }

  claim(request: ClaimRequest, signal?: AbortSignal): Promise<Answer<ClaimAnswer>> {
    return this.#call('claim', request, () => this.grant(request), signal);
  }

  present(workerId: string, request: PresenceRequest): Promise<Answer<PresenceAnswer>> {
    return this.#call('present', { workerId, ...request }, () => this.hello());
  }

  async report(report: Report): Promise<Answer<ReportAnswer>> {
    let sent: SentReport | undefined;
    return this.#call(
      'report',
      report,
      () => this.#judge(sent as SentReport),
      undefined,
      (call) => {
        sent = this.#arrived(report, call);
      },
    );
  }

  async reportBatch(reports: readonly Report[]): Promise<Answer<readonly Answer<ReportAnswer>[]>> {
    let sent: SentReport[] = [];
    return this.#call(
      'batch',
      reports,
      () => {
        if (reports.length > this.batch) return refused(400, 'INVALID_REQUEST');
        const said = sent.map((one) => this.#judge(one));
        if (said.includes('never')) return 'never';
        const sentAt = this.#clock.now();
        return ok(
          said.map(
            (one) => ({ ...(one as Unsent<Answer<ReportAnswer>>), sentAt }) as Answer<ReportAnswer>,
          ),
        );
      },
      undefined,
      (call) => {
        sent = reports.map((report) => this.#arrived(report, call));
      },
    );
  }

  async hints(
    query: { workerId: string; sessionId: string },
    onHint: (hint: Hint) => void,
    signal: AbortSignal,
  ): Promise<HintEnd> {
    const opened = await this.#call<null>('hints', query, () => ok(null), signal);
    if (opened.kind === 'refused')
      return {
        kind: 'refused',
        status: opened.status,
        why: 'refused',
        ...(opened.retryAfterMs === undefined ? {} : { retryAfterMs: opened.retryAfterMs }),
      };
    if (opened.kind === 'no-answer')
      return signal.aborted
        ? { kind: 'aborted', why: 'closed here' }
        : { kind: 'closed', why: opened.why };
    return new Promise((resolve) => {
      const stream = (said: Hint | HintEnd) => {
        if ('why' in said) {
          this.#streams.delete(stream);
          resolve(said);
        } else onHint(said);
      };
      this.#streams.add(stream);
      signal.addEventListener('abort', () => stream({ kind: 'aborted', why: 'closed here' }));
      onHint({ kind: 'open' });
      // Streams of a control plane begin with a ping.
      onHint({ kind: 'ping' });
    });
  }

  async reloadKey(): Promise<boolean> {
    this.keyReads++;
    const next = this.keys.length > 1 ? this.keys.shift() : this.keys[0];
    const changed = next !== this.#key;
    this.#key = next ?? this.#key;
    return changed;
  }

  /** In use now. */
  get key(): string {
    return this.#key;
  }

  async close(): Promise<void> {
    this.cutHints({ kind: 'aborted', why: 'the transport was closed' });
  }

  async #call<T>(
    kind: CallKind,
    request: unknown,
    byDefault: () => Said<T>,
    signal?: AbortSignal,
    arrived: (call: SentCall) => void = () => {},
  ): Promise<Answer<T>> {
    const sentAt = this.#clock.now();
    const call: SentCall = { kind, at: sentAt, request };
    this.calls.push(call);
    arrived(call);
    this.watch.call(call);
    const said = (await Promise.race([
      this.#said(call, byDefault as () => Said<unknown>),
      ...(signal ? [givenUp(signal)] : []),
    ])) as Said<T>;
    const wait = said === 'never' ? workerDefaults.requestTimeoutMs : this.latencyMs;
    const whole = await this.#clock.sleep(wait, signal);
    const answer = (
      said === 'never' || !whole ? noAnswer(whole ? 'timeout' : 'aborted') : said
    ) as Unsent<Answer<T>>;
    call.answeredAt = this.#clock.now();
    call.answer = answer as Unsent<Answer<unknown>>;
    this.#heard(call);
    return { ...answer, sentAt } as Answer<T>;
  }

  async #said(call: SentCall, byDefault: () => Said<unknown>): Promise<Said<unknown>> {
    if (this.down) return noAnswer('connect');
    const rule = this.#callRules.find(({ left, match }) => left > 0 && match(call));
    if (!rule) return byDefault();
    rule.left--;
    return rule.handler(call, byDefault);
  }

  #arrived(report: Report, call: SentCall): SentReport {
    const sent: SentReport = { at: this.#clock.now(), report, call };
    this.reports.push(sent);
    this.attempts.get(report.attemptId)?.sent.push(sent);
    this.watch.report(sent, this.attempts.get(report.attemptId));
    this.onSend(report);
    return sent;
  }

  /** What the worker was told, report by report. */
  #heard(call: SentCall): void {
    const answer = call.answer as Unsent<Answer<unknown>>;
    for (const [i, sent] of this.reports.filter((one) => one.call === call).entries()) {
      sent.answeredAt = this.#clock.now();
      const items = answer.kind === 'ok' && call.kind === 'batch' ? answer.value : undefined;
      const own = items ? (items as Unsent<Answer<ReportAnswer>>[])[i] : answer;
      sent.answer = (own ?? noAnswer('not-the-contract')) as Unsent<Answer<ReportAnswer>>;
    }
    this.watch.answered(call);
  }

  #judge(sent: SentReport): Said<ReportAnswer> {
    const rule = this.#reportRules.find(({ left, match }) => left > 0 && match(sent));
    if (!rule) return this.decide(sent.report);
    rule.left--;
    return rule.handler(sent, () => this.decide(sent.report));
  }
}

/** Whoever gives a call up does not wait for its answer. */
function givenUp(signal: AbortSignal): Promise<Said<unknown>> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(noAnswer('aborted')), { once: true });
  });
}
