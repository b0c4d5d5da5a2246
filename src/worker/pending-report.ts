import type { Report, ReportOf, TerminalReport } from '../contract/index.ts';
import { outcomeOps, START_IN_OUTCOME } from '../contract/start-in-outcome.ts';
import type { WorkerContext } from './context.ts';
import { type Held, reportOf } from './held.ts';
import { reportBytes } from './send-reports.ts';

/** A terminal report that is not answered yet. */
export class PendingReport {
  readonly held: Held;
  /** Of its own answers: busy, refused for now, unanswered while others are not. */
  notBefore = Number.NEGATIVE_INFINITY;
  tries = 0;
  inFlight = false;
  /** What its handler said before is still on its way. */
  waitsForWords = false;
  /** It got no answer although it went alone or others did: it goes alone from now on. */
  alone = false;
  /** When it last went out; the longest ago is tried first while nobody answers. */
  triedAt = Number.NEGATIVE_INFINITY;
  /** The control plane did not know its op: it waits for a discovery after this one that lists it. */
  unknownSince: number | undefined;
  /** It belongs to another project or address. */
  foreign = false;
  /** What it carries. */
  #start: ReportOf<'start'> | undefined;

  constructor(held: Held) {
    this.held = held;
  }

  /** What the handler said on the way and was not answered goes out before the report; where it is a `start` alone, inside (contract 4.47). */
  words({ features }: WorkerContext): readonly Report[] {
    const owed = this.held.words?.owed() ?? [];
    const [first] = owed;
    if (
      owed.length === 1 &&
      first?.op === 'start' &&
      outcomeOps.has(reportOf(this.held).op) &&
      features.includes(START_IN_OUTCOME)
    )
      this.#start = first;
    return this.#start === undefined ? owed : owed.filter((word) => word !== this.#start);
  }

  /** @param body as it is on disk. @returns as it goes out: with its `start` from then on, whatever `features` say later. */
  sent(body: TerminalReport): TerminalReport {
    if (this.#start === undefined) return body;
    const { codeHash } = this.#start;
    return { ...body, start: codeHash === undefined ? {} : { codeHash } } as TerminalReport;
  }

  /** Of the report and of those words. */
  bytesWith(words: readonly Report[]): number {
    // A report takes a little more where it goes with others.
    let bytes = this.bytes + 1;
    for (const report of words) bytes += reportBytes(report) + 1;
    return bytes;
  }

  /** Of the report as it goes out. */
  get bytes(): number {
    const { record } = this.held;
    // The record holds the report, and a little more.
    const bytes = record?.bytes ?? reportBytes(reportOf(this.held));
    return this.#start === undefined ? bytes : bytes + reportBytes(this.#start);
  }

  /** When it may be sent, as far as it alone decides. */
  dueAt(ctx: WorkerContext): number {
    if (this.inFlight || this.waitsForWords) return Number.POSITIVE_INFINITY;
    if (this.unknownSince === undefined) return this.notBefore;
    const listed =
      ctx.discoveries > this.unknownSince && ctx.features.includes(reportOf(this.held).op);
    // Not for ever: a control plane may know an op and not list it.
    return listed ? Number.NEGATIVE_INFINITY : this.notBefore;
  }
}
