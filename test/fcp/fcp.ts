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
export type { Body, LoggedRequest, Report } from './journal.ts';
export { toldAbout } from './journal.ts';
export type { ExpireOptions, FcpOptions, RestartOptions } from './options.ts';
export { carrying } from './script.ts';
export type { TaskHandle } from './task-handle.ts';
export type { Violation, ViolationKind } from './violations.ts';

export async function startFcp(options: FcpOptions = {}): Promise<Fcp> {
  return new Fcp(options).start();
}

export class Fcp {
  readonly hints: Hints;
  readonly keys: Keys;
  readonly #journal = new Journal();
  readonly #options: ControlOptions;
  readonly #tasks: Tasks;
  readonly #sessions = new Sessions();
  readonly #violations: Violations;
  readonly #requestRules: Script<RequestMatch, LoggedRequest, RequestHandler>;
  readonly #reportRules: Script<ReportMatch, Report, ReportHandler>;
  readonly #listener: Listener;
  readonly #cuts = new WeakMap<LoggedRequest, (mode: CutMode) => void>();
  readonly #stopping = new AbortController();
  #restarting = false;

  constructor(options: FcpOptions) {
    const { keys, refuseHints, pingEveryMs = 15_000, host = '127.0.0.1' } = options;
    const { keepAliveTimeoutMs = 5_000, graceMs = 250, tolerate = [] } = options;
    this.#options = { ...DEFAULTS, ...options };
    this.keys = new Keys(keys);
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
    if (request) throw new Error(`FCP expected silence, but #${request.n} came:\n${this.dump()}`);
  }

  /** The lease of an attempt is over; as a rule the attempt is then lost. */
  expire(attemptId: string, { ended = true }: ExpireOptions = {}): void {
    const attempt = this.#tasks.attempt(attemptId);
    if (!attempt || !alive(attempt)) throw new Error(`${attemptId} is no attempt that lives`);
    attempt.expired = true;
    if (ended) attempt.state = 'lost';
    this.#journal.note(`lease of ${attemptId} expired${ended ? ', attempt lost' : ''}`);
  }

  /** Asks for a cancel: in answers and as a hint; an unclaimed task just goes. */
  cancel(taskId: string): void {
    const task = this.#tasks.all.find((one) => one.taskId === taskId);
    if (!task) throw new Error(`${taskId} is no task of this FCP`);
    task.cancelRequested = true;
    this.#tasks.unqueue(task);
    const attempt = task.attempts.at(-1);
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
    this.#journal.note(`drain asked of ${workerId ?? 'all workers'}`);
  }

  /** All connections end, the port is closed for a while, then it is open again; what it knows stays. */
  async restart({ mode = 'fin', downMs = mode === 'refused' ? 1_000 : 0 }: RestartOptions = {}) {
    this.#restarting = true;
    this.#journal.note(`restart (${mode}, down for ${downMs} ms)`);
    await this.#listener.stop(mode === 'rst' ? 'rst' : 'fin');
    await sleep(downMs, undefined, { signal: this.#stopping.signal }).catch(() => {});
    this.#restarting = false;
    if (this.#stopping.signal.aborted) return;
    await this.#listener.start();
    this.#journal.note('listening again');
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

  /** A line in the timeline. */
  note(text: string): void {
    this.#journal.note(text);
  }

  /** The timeline as text, without keys and tokens. */
  dump(lines?: number): string {
    return this.#journal.dump(lines);
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
    return ctl.result();
  }
}
