/**
 * FCP, the fake control plane: a real HTTP server on a port of its own that logs every request and, where
 * nothing is scripted, behaves as the contract says. Tests of the worker talk to it; hostile ones bend it.
 *
 *   const fcp = await startFcp();
 *   const task = fcp.offer({ type: 'demo/hello', input: { name: 'Ada' } });
 *   fcp.on(carrying('complete'), (_, ctl) => ctl.cutAfter('rst'), { times: 1 });
 *   // … start a worker on fcp.url …
 *   const report = await task.ended();
 *   expect(fcp.violations).toEqual([]);
 *   await fcp.stop();
 *
 * Rules of `on` see whole requests, rules of `onReport` one report each, alone or in a batch. Times are
 * `performance.now()` of this process.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer, JsonAnswer } from './answers.ts';
import { alive, type Offer } from './attempts.ts';
import { answerTo, type ControlOptions } from './control.ts';
import { Exchange } from './exchange.ts';
import { Hints } from './hints.ts';
import {
  type Found,
  Journal,
  type LoggedRequest,
  type Report,
  Unmet,
  type UntilOptions,
} from './journal.ts';
import { type CutMode, Listener, type SeenSocket } from './listener.ts';
import {
  DEFAULTS,
  type ExpireOptions,
  type FcpOptions,
  type ReportHandler,
  type RequestHandler,
  type RestartOptions,
} from './options.ts';
import { receive } from './receive.ts';
import { ReportExchange } from './report-exchange.ts';
import {
  matchesReport,
  matchesRequest,
  type ReportMatch,
  type RequestMatch,
  type Rule,
  type RuleOptions,
  Script,
} from './script.ts';
import { Keys, type SeenWorker, Sessions } from './sessions.ts';
import { TaskHandle } from './task-handle.ts';
import { Tasks } from './tasks.ts';
import { type Violation, Violations } from './violations.ts';

export type { Attempt, Offer } from './attempts.ts';
export type { Body, LoggedRequest, Report, UntilOptions } from './journal.ts';
export { toldAbout, Unmet } from './journal.ts';
export type {
  ExpireOptions,
  FcpOptions,
  ReportHandler,
  RequestHandler,
  RestartOptions,
} from './options.ts';
export { canonical } from './reports.ts';
export { carrying } from './script.ts';
export type { TaskHandle } from './task-handle.ts';
export type { Violation, ViolationKind } from './violations.ts';

export async function startFcp(options: FcpOptions = {}): Promise<Fcp> {
  return new Fcp(options).start();
}

export class Fcp {
  readonly hints: Hints;
  readonly keys: Keys;
  readonly #journal: Journal;
  readonly #options: ControlOptions;
  readonly #tasks: Tasks;
  readonly #sessions = new Sessions();
  readonly #violations: Violations;
  readonly #requestRules: Script<RequestMatch, LoggedRequest, RequestHandler>;
  readonly #reportRules: Script<ReportMatch, Report, ReportHandler>;
  readonly #listener: Listener;
  readonly #cuts = new WeakMap<LoggedRequest, (mode: CutMode) => void>();
  readonly #onOffer: FcpOptions['onOffer'];
  readonly #stopping = new AbortController();
  #restarting = false;

  constructor(options: FcpOptions) {
    const { keys, refuseHints, pingEveryMs = 15_000, host = '127.0.0.1' } = options;
    const { keepAliveTimeoutMs = 5_000, graceMs = 250, waitMs = 10_000, tolerate = [] } = options;
    this.#journal = new Journal(waitMs);
    this.#onOffer = options.onOffer;
    this.#options = { ...DEFAULTS, ...options };
    this.keys = new Keys(keys, (text) => this.#journal.did(text));
    this.#requestRules = new Script(matchesRequest, this.#journal);
    this.#reportRules = new Script(matchesReport, this.#journal);
    this.#tasks = new Tasks(this.#options.leaseMs, ({ offer }) => {
      if (offer.wake !== false) this.hints.wake(`${offer.type}@${offer.schemaVersion ?? 1}`);
    });
    this.#violations = new Violations(this.#tasks, this.#sessions, { graceMs, tolerate });
    this.hints = new Hints(this.#journal, pingEveryMs, (request, mode) => {
      this.#cuts.get(request)?.(mode);
    });
    if (refuseHints !== undefined) this.hints.refuse(refuseHints);
    this.#listener = new Listener(
      { host, keepAliveTimeoutMs },
      (message, response) => void this.#receive(message, response),
      (note) => (note === undefined ? this.#journal.changed() : this.#journal.note(note)),
    );
  }

  async start(): Promise<this> {
    await this.#listener.start();
    return this;
  }

  /** Where it listens; the same after a restart. */
  get url(): string {
    return this.#listener.url;
  }

  /** Every request, in the order of arrival. */
  get log(): readonly LoggedRequest[] {
    return this.#journal.requests;
  }

  /** Every report, alone or from a batch. */
  get reports(): readonly Report[] {
    return this.#journal.reports;
  }

  /** What the worker did against the contract: empty, if all is well. */
  get violations(): readonly Violation[] {
    return this.#violations.list;
  }

  get workers(): ReadonlyMap<string, SeenWorker> {
    return this.#sessions.workers;
  }

  /** Every connection that was ever made. */
  get sockets(): readonly SeenSocket[] {
    return this.#listener.sockets;
  }

  get openSockets(): number {
    return this.#listener.openSockets;
  }

  requests(match: RequestMatch): LoggedRequest[] {
    return this.log.filter((request) => matchesRequest(match, request));
  }

  /** Queues a task for the next claim that asks for it. */
  offer(offer: Offer): TaskHandle {
    this.#onOffer?.(offer);
    return new TaskHandle(this.#tasks.offer(offer), this.#tasks, this.#journal);
  }

  /** Scripts requests: the first rule that matches and is not spent has them. */
  on(match: RequestMatch, handler: RequestHandler, options?: RuleOptions): Rule<LoggedRequest> {
    return this.#requestRules.on(match, handler, options);
  }

  /** Scripts the answers to reports, wherever they travel; `match` is an op or a predicate. */
  onReport(match: ReportMatch, handler: ReportHandler, options?: RuleOptions): Rule<Report> {
    return this.#reportRules.on(match, handler, options);
  }

  /** Resolves with what the predicate returns as soon as that is something; asked after every event. */
  until<T>(look: () => T, options?: UntilOptions): Promise<Found<T>> {
    return this.#journal.until(look, options);
  }

  /** The next request of this kind that arrives from now on. */
  next(match: RequestMatch, options?: UntilOptions): Promise<LoggedRequest> {
    const from = this.log.length;
    const what = typeof match === 'string' ? `the next ${match}` : 'the next matching request';
    const look = () => this.log.slice(from).find((request) => matchesRequest(match, request));
    return this.until(look, { what, ...options });
  }

  /** Resolves if no request of this kind arrives for so long; rejects with the timeline if one does. */
  async quiet(match: RequestMatch, ms: number): Promise<void> {
    const stop = new AbortController();
    const request = await Promise.race([
      this.next(match, { timeoutMs: ms + 60_000 }),
      sleep(ms, undefined, { signal: stop.signal }).catch(() => undefined),
    ]).finally(() => stop.abort());
    if (!request) return;
    const what = request.reports.map(({ op }) => op).join(', ') || request.route;
    const says = `For ${ms / 1_000} s no ${what} was expected, but #${request.n} came`;
    throw new Unmet(says, this.dump());
  }

  /** The lease of an attempt is over; as a rule the attempt is then lost. */
  expire(attemptId: string, { ended = true }: ExpireOptions = {}): void {
    const attempt = this.#tasks.attempt(attemptId);
    if (!attempt || !alive(attempt)) throw new Error(`${attemptId} is no attempt that lives`);
    attempt.expired = true;
    if (ended) attempt.state = 'lost';
    this.#journal.did(`the lease of ${attemptId} ended${ended ? ', and the attempt is lost' : ''}`);
  }

  /** Asks for a cancel: in answers and as a hint; an unclaimed task just goes. */
  cancel(taskId: string): void {
    const task = this.#tasks.all.find((one) => one.taskId === taskId);
    if (!task) throw new Error(`${taskId} is no task of this FCP`);
    task.cancelRequested = true;
    this.#tasks.unqueue(task);
    const attempt = task.attempts.at(-1);
    this.#journal.did(`a cancel of ${attempt?.attemptId ?? taskId} was asked for`);
    if (attempt && alive(attempt)) this.hints.send('cancel', { attemptId: attempt.attemptId });
  }

  /** Asks workers (all that are known, or one) to drain: in answers and as a hint. */
  drain(workerId?: string): void {
    for (const worker of this.workers.values()) {
      if (workerId === undefined || worker.workerId === workerId) worker.drain = true;
    }
    const streams = this.hints.open.filter(
      (s) => workerId === undefined || s.workerId === workerId,
    );
    for (const stream of streams) stream.send('drain', {});
    this.#journal.did(`a drain was asked of ${workerId ?? 'all workers'}`);
  }

  /** All connections end, the port is closed for a while, then it is open again; what it knows stays. */
  async restart({ mode = 'fin', downMs = mode === 'refused' ? 1_000 : 0 }: RestartOptions = {}) {
    this.#restarting = true;
    const gone = downMs > 0 ? `, and for ${downMs} ms nobody listened` : '';
    this.#journal.did(`the control plane went away (${mode})${gone}`);
    await this.#listener.stop(mode === 'rst' ? 'rst' : 'fin');
    await sleep(downMs, undefined, { signal: this.#stopping.signal }).catch(() => {});
    this.#restarting = false;
    if (this.#stopping.signal.aborted) return;
    await this.#listener.start();
    this.#journal.did('the control plane is back');
  }

  /** Ends everything; rejects with the first mistake that a rule made. May be called twice. */
  async stop(): Promise<void> {
    const { failure } = this.#journal;
    const again = this.#stopping.signal.aborted;
    this.#stopping.abort();
    await this.#listener.stop('rst');
    this.#journal.fail(new Error('FCP was stopped'));
    if (failure && !again) throw failure;
  }

  /** The present on the clock of all times here. */
  get now(): number {
    return performance.now();
  }

  /** Ends every wait, present and future, with this error; `stop` rejects with it. */
  fail(error: Error): void {
    this.#journal.fail(error);
  }

  /** Where a text holds the token of an attempt; `undefined`: nowhere. */
  tokenIn(text: string): number | undefined {
    return this.#tasks.tokenIn(text);
  }

  /** A line in the timeline. */
  note(text: string): void {
    this.#journal.note(text);
  }

  /** The same for what the script did. */
  did(text: string): void {
    this.#journal.did(text);
  }

  /** The timeline as text, without keys and tokens, what is alike folded. */
  dump(lines?: number): string {
    return this.#journal.dump(lines);
  }

  /** All of the timeline, bounded. */
  timeline(): string[] {
    return this.#journal.timeline();
  }

  /** What scripts did so far, each once: `#12 complete 4fs2ea: the answer was changed: body.fence 1 → 77`. */
  played(): string[] {
    return this.#journal.played();
  }

  async #receive(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const { id, cut } = this.#listener.socketOf(message);
    const { request, whole } = await receive(message, id);
    request.n = this.#journal.requests.push(request);
    this.#cuts.set(request, cut);
    const closed = () => {
      if (!request.answered) request.cut ??= this.#restarting ? 'restart' : 'client';
      this.#journal.changed();
    };
    if (!whole || response.destroyed) return closed();
    response.once('close', closed);
    for (const report of request.reports) {
      report.n = this.#journal.reports.push(report);
      this.#tasks.attempt(report.attemptId)?.reports.push(report);
    }
    this.#violations.watch(request);
    const wire = { response, cutSocket: cut };
    const exchange = new Exchange(request, wire, this.#journal, () => this.#apply(request));
    this.#journal.changed();
    await this.#play(request, exchange).catch((error: Error) => {
      this.#journal.fail(error);
      cut('rst');
    });
  }

  async #play(request: LoggedRequest, exchange: Exchange): Promise<void> {
    await this.#requestRules.take(request)?.(request, exchange);
    if (!exchange.used) await exchange.pass();
    this.#violations.answered(request);
    this.#journal.changed();
  }

  #apply(request: LoggedRequest): Answer {
    const answer = answerTo(request, {
      options: this.#options,
      tasks: this.#tasks,
      sessions: this.#sessions,
      keys: this.keys,
      hints: this.hints,
      violations: this.#violations,
      decide: (report, byDefault) => this.#decide(report, byDefault),
    });
    this.#journal.changed();
    return answer;
  }

  #decide(report: Report, byDefault: () => JsonAnswer): JsonAnswer {
    const handler = this.#reportRules.take(report);
    if (!handler) return byDefault();
    const ctl = new ReportExchange(byDefault);
    handler(report, ctl);
    const answer = ctl.result();
    if (ctl.played !== undefined) report.played = ctl.played;
    return answer;
  }
}
