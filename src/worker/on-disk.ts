import type { TerminalReport } from '../contract/index.ts';
import type { AttemptEffect } from '../core/attempt.ts';
import { workerDefaults } from '../core/defaults.ts';
import { decideAnswer } from '../core/report-answer.ts';
import type { SpooledReport } from '../spool/index.ts';
import type { Attempts } from './attempts.ts';
import type { WorkerContext } from './context.ts';
import { type Held, label, reportOf } from './held.ts';
import { pauseMs, refusesKey } from './refusals.ts';
import { ReportWrites } from './report-writes.ts';
import { sendReports } from './send-reports.ts';
import { tellAnswer } from './tell-answer.ts';

/**
 * What an attempt asks of the disk, in order: a report is durable before it is sent, a set-aside before what follows it.
 * While the disk refuses, the report is sent directly and the disk is tried again; nothing is ever dropped for it.
 */
export class OnDisk {
  readonly #ctx: WorkerContext;
  readonly #attempts: Attempts;

  readonly #writes: ReportWrites;
  /** A moment ago, and not marked. */
  #begun: Held[] = [];

  constructor(ctx: WorkerContext, attempts: Attempts) {
    this.#ctx = ctx;
    this.#attempts = attempts;
    this.#writes = new ReportWrites(ctx, {
      metaOf: (held) => this.#meta(held),
      moreSoon: () => attempts.someWait,
      wrote: (held, report, how) => {
        if ('error' in how) void this.#write(held, report, how);
        else this.#written(held, how);
      },
    });
  }

  /** What is asked for by itself, as it mostly is, goes together with what others ask for. */
  one(held: Held, effect: AttemptEffect): void {
    if (this.#ctx.spoolGone) return;
    if (effect.do === 'write-report') this.#writes.write(held, effect.report);
    else if (effect.do === 'forget' && held.record) this.#writes.answered(held);
    else if (effect.do === 'mark-begun') this.#begins(held);
    else void this.carryOut(held, [effect]);
  }

  /**
   * It has begun, unmarked where it waited in its host. Then its end is mostly told in the same breath, and its report says all
   * that the mark would: as soon as it is on the disk, which may be slow.
   */
  #begins(held: Held): void {
    if (held.begunOn !== undefined || held.state.effectSafety === 'non-idempotent') {
      void this.markBegun(held, held.job?.host);
      return;
    }
    this.#begun.push(held);
    if (this.#begun.length > 1) return;
    this.#ctx.ports.clock.timer(workerDefaults.beginSeenMs, () => {
      const all = this.#begun;
      this.#begun = [];
      this.#markThoseAt('running', all);
      const ending = all.filter(({ state }) => state.phase === 'ending');
      if (ending.length > 0)
        this.#ctx.ports.clock.timer(workerDefaults.endSeenMs, () =>
          this.#markThoseAt('ending', ending),
        );
    });
  }

  #markThoseAt(phase: 'running' | 'ending', all: readonly Held[]): void {
    for (const held of all)
      if (held.state.phase === phase && !this.#ctx.spoolGone)
        void this.markBegun(held, held.job?.host);
  }

  /** The worker ends: nothing gathers any more. */
  flush(): void {
    this.#writes.flush();
  }

  async carryOut(held: Held, effects: readonly AttemptEffect[]): Promise<void> {
    for (const effect of effects) {
      if (this.#ctx.spoolGone) return;
      switch (effect.do) {
        case 'mark-begun':
          await this.markBegun(held, held.job?.host);
          break;
        case 'set-aside':
          await this.#setAside(held, effect.as);
          break;
        case 'write-report':
          await this.#write(held, effect.report);
          break;
        case 'forget':
          // What could not be set aside before the end stays on disk: the next start sends it and is told the same.
          if (!this.#ctx.stopped || held.record) await this.#forget(held);
          break;
        default:
          throw new Error(`effect '${effect.do}' is not one of the disk's`);
      }
    }
  }

  /**
   * That it begins, on this host. Issued before the handler gets its input, so that one whose first line ends this process
   * leaves an attempt that counts. Never rejects.
   */
  async markBegun(held: Held, host: string | undefined): Promise<void> {
    if (held.begunOn && held.begunOn.host === host) return;
    held.begunOn = { host };
    await this.#tolerate(held, 'mark the running record', () =>
      this.#ctx.ports.spool.markBegun(held.attempt.attemptId, host),
    );
  }

  async #forget(held: Held): Promise<void> {
    const { spool } = this.#ctx.ports;
    const { record } = held;
    if (record)
      await this.#tolerate(held, 'remove the answered report', () => spool.answered(record));
    else
      await this.#tolerate(held, 'remove the running record', () =>
        spool.forget(held.attempt.attemptId),
      );
  }

  /** A result is never dropped because a disk was full: it is tried until it is kept. */
  async #setAside(held: Held, as: 'stale' | 'refused'): Promise<void> {
    const { log, spool } = this.#ctx.ports;
    const { report, followUp } = held.unwritten ?? {
      report: reportOf(held),
      followUp: held.state.followUp,
    };
    held.unwritten = undefined;
    // A release that came too late tells nothing.
    if (as === 'stale' && report.op === 'release') return;
    let { record } = held;
    held.record = undefined;
    const answer = held.refusal ?? { note: 'another report of the attempt was told STALE_ATTEMPT' };
    for (let failures = 0; !this.#ctx.stopped; failures++) {
      try {
        // Answered before it ever was on disk: an outcome is worth keeping all the same.
        record ??= await spool.writeReport(report, { ...this.#meta(held), followUp });
        await spool.setAside(record, as, answer);
        // Its own answer is told where it comes in.
        if (held.refusal === undefined)
          log.warn(
            'report.stale',
            `The ${report.op} of ${label(held)} came too late: the control plane has decided the task without it. It is set aside in the spool.`,
            { attemptId: held.attempt.attemptId },
          );
        return;
      } catch (cause) {
        this.#ctx.spoolFailed(cause);
        if (failures === 0)
          log.error(
            'spool.trouble',
            `The ${as} report of ${label(held)} could not be set aside: ${causeText(cause)} It is tried again.`,
            { attemptId: held.attempt.attemptId },
          );
      }
      await this.#ctx.pause(workerDefaults.spoolRetryMs);
    }
  }

  /** Trouble with the disk after the fact costs a repetition, never a result: it is told and work goes on. */
  async #tolerate(held: Held, what: string, work: () => unknown): Promise<void> {
    try {
      await work();
    } catch (cause) {
      this.#ctx.spoolFailed(cause);
      this.#ctx.ports.log.error(
        'spool.trouble',
        `Could not ${what} of ${label(held)}: ${causeText(cause)}`,
        { attemptId: held.attempt.attemptId },
      );
    }
  }

  #written(held: Held, record: SpooledReport): void {
    held.record = record;
    // The machine has this one whole, also where the one before was only on disk.
    held.bodyOnDisk = false;
    this.#attempts.feed(held, { kind: 'report-written' });
  }

  /** @param refused it was tried, and this came of it */
  async #write(
    held: Held,
    report: TerminalReport,
    refused?: { readonly error: unknown },
  ): Promise<void> {
    const { log, spool } = this.#ctx.ports;
    const direct = new Direct(this.#ctx, this.#attempts, held, report);
    for (let failures = 0; ; failures++) {
      try {
        if (refused && failures === 0) throw refused.error;
        this.#written(held, await spool.writeReport(report, this.#meta(held)));
        return;
      } catch (cause) {
        this.#ctx.spoolFailed(cause);
        if (failures === 0)
          log.error(
            'spool.write-failed',
            `The report of ${label(held)} could not be written to the spool: ${causeText(cause)} It is sent directly; its lease is renewed meanwhile.`,
            { attemptId: held.attempt.attemptId },
          );
      }
      if (this.#ctx.stopped) return;
      this.#attempts.feed(held, { kind: 'report-not-written' });
      if (held.state.phase !== 'ending' || (await direct.send())) return;
      await this.#ctx.pause(workerDefaults.spoolRetryMs);
    }
  }

  #meta(held: Held) {
    return {
      type: held.attempt.type,
      schemaVersion: held.attempt.schemaVersion,
      followUp: held.state.followUp,
      ...(held.workedAt === undefined ? {} : { workedAt: held.workedAt }),
    };
  }
}

/** A report that the disk refuses, on its way all the same. */
class Direct {
  readonly #ctx: WorkerContext;
  readonly #attempts: Attempts;
  readonly #held: Held;
  readonly #report: TerminalReport;
  #failures = 0;
  #notBefore = Number.NEGATIVE_INFINITY;

  constructor(ctx: WorkerContext, attempts: Attempts, held: Held, report: TerminalReport) {
    this.#ctx = ctx;
    this.#attempts = attempts;
    this.#held = held;
    this.#report = report;
  }

  /** `true` if the answer decided (or nothing is to be sent any more). */
  async send(): Promise<boolean> {
    const held = this.#held;
    const { clock, random } = this.#ctx.ports;
    if (clock.now() < this.#notBefore) return false;
    await held.words?.end();
    const before = held.words?.owed() ?? [];
    const results = await sendReports(this.#ctx, [...before, this.#report]);
    for (const [i, report] of before.entries()) held.words?.told(report, results[i]);
    const result = results.at(-1);
    if (!result || held.state.phase !== 'ending') return held.state.phase !== 'ending';
    const decision = decideAnswer(this.#report, result, {
      project: this.#ctx.project,
      followUp: held.state.followUp,
      begun: held.state.begun,
      spool: this.#ctx.ports.spool.folder,
    });
    if (decision.kind !== 'keep') {
      if (result.kind === 'refused')
        held.refusal = { status: result.status, problem: result.problem };
      tellAnswer(this.#ctx.ports.log, held, decision, this.#ctx.ports.spool.folder);
      held.unwritten = { report: this.#report, followUp: held.state.followUp };
      this.#attempts.feed(held, { kind: 'report-answered', verdict: decision });
      return true;
    }
    const asked = result.kind === 'ok' ? undefined : result.retryAfterMs;
    this.#notBefore =
      clock.now() + pauseMs(workerDefaults.retry, ++this.#failures, random.fraction(), asked);
    if (result.kind === 'refused' && refusesKey(result, this.#ctx.project)) {
      const { problem, sentAt, status } = result;
      if (await this.#ctx.keyRefused(status, problem, sentAt)) this.#notBefore = 0;
    }
    return false;
  }
}

function causeText(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
