/**
 * Sends terminal reports until each is answered. Woken by a new report, a free call, a new key, a discovery, or the end
 * of a pause. Reports that are ready together go together; a report that is told to wait (429, 5xx), or that nobody
 * answers, holds up no other. While there is no answer at all everything waits on disk. Ends when told to.
 */
import type { Report } from '../contract/index.ts';
import { workerDefaults } from '../core/defaults.ts';
import { PassingMap } from '../core/passing-map.ts';
import { type Decision, decideAnswer } from '../core/report-answer.ts';
import type { Attempts } from './attempts.ts';
import type { WorkerContext } from './context.ts';
import { type Held, reportOf } from './held.ts';
import { PendingReport } from './pending-report.ts';
import { keyRetry, pauseMs } from './refusals.ts';
import { foreignWords } from './refused-key.ts';
import { ReportBodies } from './report-bodies.ts';
import { goesBeside, nextCallAt } from './report-gather.ts';
import { ReportLine } from './report-line.ts';
import { aboutTheLine, type ReportResult, reportBytes, sendReports } from './send-reports.ts';
import { tellAnswer } from './tell-answer.ts';

export class ReportLoop {
  readonly #ctx: WorkerContext;
  readonly #attempts: Attempts;
  readonly #pending = new PassingMap<string, PendingReport>();
  readonly #line: ReportLine;
  readonly #bodies: ReportBodies;
  #calls = 0;
  /** Of those that wait, in calls that are under way. */
  #inFlight = 0;
  #lastCallAt = Number.NEGATIVE_INFINITY;
  /** When the loop looks again by itself at what gathers. */
  #looksAt = Number.POSITIVE_INFINITY;
  #done: Promise<void> | undefined;
  #untried: { readonly ids: Set<string>; readonly resolve: () => void } | undefined;

  constructor(ctx: WorkerContext, attempts: Attempts) {
    this.#ctx = ctx;
    this.#attempts = attempts;
    this.#bodies = new ReportBodies(ctx);
    this.#line = new ReportLine(ctx.ports.clock, ctx.ports.random);
    ctx.onAnswered = () => {
      if (this.#line.tryNow()) ctx.wake.reports.wake();
    };
    ctx.onClaim = () => {
      const waiting = this.#pending.size - this.#inFlight;
      if (goesBeside(waiting, ctx.limits.batch)) this.#send(this.#line.openAt);
    };
  }

  start(): void {
    this.#done ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#ctx.wake.reports.wake();
    await this.#done;
  }

  /** The attempt's report is durable (or is a release): send it until it is answered. */
  add(held: Held): void {
    const pending = new PendingReport(held);
    this.#bodies.add(held);
    this.#pending.set(held.attempt.attemptId, pending);
    const quiet = held.words?.end();
    if (quiet) {
      pending.waitsForWords = true;
      void quiet.then(() => {
        pending.waitsForWords = false;
        this.#ctx.wake.reports.wake();
      });
    }
    if (this.#openAt < this.#looksAt) this.#ctx.wake.reports.wake();
  }

  /** Not answered yet. */
  get unanswered(): number {
    return this.#pending.size;
  }

  /** Ops that the control plane does not know and a report waits for. */
  get waitsForDiscovery(): boolean {
    for (const { unknownSince } of this.#pending.values())
      if (unknownSince !== undefined) return true;
    return false;
  }

  /** Resolves when each of these has been sent once, or nobody answers. */
  async tried(attemptIds: readonly string[]): Promise<void> {
    const ids = new Set(attemptIds.filter((id) => this.#pending.has(id)));
    if (ids.size > 0)
      await new Promise<void>((resolve) => {
        this.#untried = { ids, resolve };
      });
  }

  async #run(): Promise<void> {
    while (!this.#ctx.stopped) {
      await this.#ctx.wake.reports.wait(this.#pause());
      this.#looksAt = Number.POSITIVE_INFINITY;
      this.#send();
    }
  }

  /** When the next call may begin, as things stand. */
  get #openAt(): number {
    const callAt = nextCallAt({
      waiting: this.#pending.size - this.#inFlight,
      calls: this.#calls,
      lastCallAt: this.#lastCallAt,
      moreSoon: this.#attempts.someWait,
      batch: this.#ctx.limits.batch,
    });
    return Math.max(this.#line.openAt, callAt);
  }

  /** How long until something may be sent, unless woken. */
  #pause(): number {
    if (this.#calls >= this.#line.callsMax || this.#pending.size === this.#inFlight)
      return Number.POSITIVE_INFINITY;
    const now = this.#ctx.ports.clock.now();
    let next = Number.POSITIVE_INFINITY;
    for (const pending of this.#pending.values()) {
      next = Math.min(next, pending.dueAt(this.#ctx));
      if (next <= now) break;
    }
    const open = this.#openAt;
    if (next <= now && open > now) this.#looksAt = open;
    return Math.ceil(Math.max(0, next - now, open - now));
  }

  #send(openAt = this.#openAt): void {
    const now = this.#ctx.ports.clock.now();
    for (; now >= openAt; openAt = this.#openAt) {
      if (this.#ctx.stopped || this.#calls >= this.#line.callsMax) return;
      const group = this.#line.silent ? this.#probe(now) : this.#group(now);
      if (group.length === 0) return;
      this.#lastCallAt = now;
      void this.#call(group, now);
    }
  }

  /** The next ones that fit into one call. */
  #group(now: number): PendingReport[] {
    const { batch, batchBytes } = this.#ctx.limits;
    const group: PendingReport[] = [];
    let count = 0;
    let bytes = 0;
    for (const pending of this.#pending.values()) {
      if (pending.dueAt(this.#ctx) > now) continue;
      if (pending.alone) {
        if (group.length === 0) return [pending];
        continue;
      }
      const words = pending.words(this.#ctx);
      count += words.length + 1;
      bytes += pending.bytesWith(words);
      if (group.length > 0 && (count > batch || bytes > batchBytes)) break;
      group.push(pending);
      if (group.length >= this.#line.groupMax) break;
    }
    return group;
  }

  /** While nobody answers: the one that was tried the longest ago, first those that were never alone. */
  #probe(now: number): PendingReport[] {
    let best: PendingReport | undefined;
    for (const pending of this.#pending.values()) {
      if (pending.dueAt(this.#ctx) > now) continue;
      const before =
        !best ||
        Number(pending.alone) < Number(best.alone) ||
        (pending.alone === best.alone && pending.triedAt < best.triedAt);
      if (before) best = pending;
    }
    return best ? [best] : [];
  }

  async #call(group: readonly PendingReport[], now: number): Promise<void> {
    this.#calls++;
    this.#inFlight += group.length;
    for (const pending of group) {
      pending.inFlight = true;
      pending.triedAt = now;
    }
    // Of each: how many reports of `all` are its own, the last of them its end.
    const sent: { pending: PendingReport; reports: number }[] = [];
    const all: Report[] = [];
    const sizes: number[] = [];
    for (const pending of group) {
      const body = this.#bodies.inMemory(pending) ?? (await this.#bodies.read(pending));
      if (body === undefined) {
        pending.inFlight = false;
        continue;
      }
      const words = pending.words(this.#ctx);
      for (const word of words) {
        all.push(word);
        sizes.push(reportBytes(word));
      }
      all.push(pending.sent(body));
      sizes.push(pending.bytes);
      sent.push({ pending, reports: words.length + 1 });
    }
    const sending = sendReports(this.#ctx, all, (_, i) => sizes[i] as number);
    this.#ctx.reportsGo();
    const results = await sending;
    this.#calls--;
    this.#inFlight -= group.length;
    const others =
      sent.length > 0 &&
      this.#heard(
        sent.map(({ pending }) => pending),
        results,
      );
    let at = 0;
    for (const { pending, reports } of sent) {
      pending.inFlight = false;
      const last = at + reports - 1;
      for (; at < last; at++) pending.held.words?.told(all[at] as Report, results[at]);
      const result = results[at++];
      const kept = result && this.#answered(pending, result, others);
      if (kept) await kept;
    }
    this.#tellTried(group);
    this.#tellForeign();
    this.#ctx.wake.reports.wake();
  }

  /** `true` if the line is up: then a report without an answer waits by itself. */
  #heard(group: readonly PendingReport[], results: readonly ReportResult[]): boolean {
    const { log } = this.#ctx.ports;
    if (this.#ctx.stopped) return false;
    if (!results.every(aboutTheLine)) {
      if (this.#line.answered()) {
        log.info('report.answered-again', 'The control plane answers reports again.');
        for (const pending of this.#pending.values())
          if (pending.alone && !pending.inFlight) pending.notBefore = Number.NEGATIVE_INFINITY;
      }
      return true;
    }
    const [first] = group;
    if (first?.alone && group.length === 1 && !this.#line.silent) return true;
    if (first && group.length === 1) first.alone = true;
    const begins = !this.#line.silent;
    const [result] = results;
    const asked = result && result.kind !== 'ok' ? result.retryAfterMs : undefined;
    const pause = this.#line.unanswered(asked);
    if (begins && result?.kind === 'no-answer')
      log.warn(
        'report.no-answer',
        `Reports get no answer: ${result.why} They are kept on disk and sent again; the next try is in ${(pause / 1000).toFixed(1)} s.`,
        { waiting: this.#pending.size },
      );
    return false;
  }

  /** What is kept may have to read the key again. */
  #answered(
    pending: PendingReport,
    result: ReportResult,
    lineUp: boolean,
  ): Promise<void> | undefined {
    const { held } = pending;
    const decision = decideAnswer(reportOf(held), result, {
      project: this.#projectOf(held),
      followUp: held.state.followUp,
      begun: held.state.begun,
      spool: this.#ctx.ports.spool.folder,
    });
    const { meter } = this.#ctx;
    const { op } = reportOf(held);
    if (decision.kind === 'keep') {
      meter.report(op, decision.because);
      return this.#keep(pending, result, decision, lineUp);
    }
    meter.report(op, decision.kind === 'done' ? 'accepted' : decision.kind);
    this.#ctx.keyAccepted();
    this.#pending.delete(held.attempt.attemptId);
    this.#bodies.remove(held);
    if (result.kind === 'refused')
      held.refusal = { status: result.status, problem: result.problem };
    if (!held.record) held.unwritten = { report: reportOf(held), followUp: held.state.followUp };
    tellAnswer(this.#ctx.ports.log, held, decision, this.#ctx.ports.spool.folder);
    this.#attempts.feed(held, { kind: 'report-answered', verdict: decision });
    return undefined;
  }

  /** By which a 404 is judged: a record made for another address is not known here, whatever its project is called. */
  #projectOf({ record }: Held): string | undefined {
    const { project, ports } = this.#ctx;
    if (record === undefined) return project;
    return record.serviceUrl === ports.spool.serviceUrl ? (record.project ?? project) : undefined;
  }

  async #keep(
    pending: PendingReport,
    result: ReportResult,
    { because }: Extract<Decision, { kind: 'keep' }>,
    lineUp: boolean,
  ): Promise<void> {
    pending.unknownSince = undefined;
    pending.foreign = false;
    if (because === 'operation') {
      pending.unknownSince = this.#ctx.discoveries;
      pending.notBefore = this.#ctx.ports.clock.now() + workerDefaults.retryAfterMaxMs;
      this.#ctx.wake.discovery.wake();
      return;
    }
    if (because === 'key' && result.kind === 'refused') {
      const { problem, sentAt, status } = result;
      // An address that knows nothing of it (404) says so of this report; the others may be at home there.
      pending.foreign = status === 404;
      const fresh = pending.foreign
        ? await this.#ctx.readKeyAgain(sentAt)
        : await this.#ctx.keyRefused(status, problem, sentAt);
      if (fresh) {
        this.#line.open();
        return;
      }
    }
    if (!lineUp) return;
    if (because === 'no-answer') pending.alone = true;
    this.#pauseOf(pending, result, because === 'key');
  }

  #pauseOf(pending: PendingReport, result: ReportResult, slowly: boolean): void {
    const { clock, random } = this.#ctx.ports;
    const backoff = slowly ? keyRetry : workerDefaults.retry;
    const asked = result.kind === 'ok' ? undefined : result.retryAfterMs;
    pending.notBefore = clock.now() + pauseMs(backoff, ++pending.tries, random.fraction(), asked);
  }

  #tellTried(group: readonly PendingReport[]): void {
    if (!this.#untried) return;
    const { ids, resolve } = this.#untried;
    for (const { held } of group) ids.delete(held.attempt.attemptId);
    if (ids.size > 0 && !this.#line.silent) return;
    this.#untried = undefined;
    resolve();
  }

  /** Claiming pauses while there is a report that this key or address is wrong for. */
  #tellForeign(): void {
    let foreign = 0;
    for (const pending of this.#pending.values()) if (pending.foreign) foreign++;
    this.#ctx.trouble('reports', foreign === 0 ? undefined : foreignWords(foreign));
  }
}
