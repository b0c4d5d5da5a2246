import type { Report } from '../contract/index.ts';
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

  constructor(held: Held) {
    this.held = held;
  }

  /** What the handler said on the way and was not answered goes out before the report. */
  words(): Report[] {
    return this.held.words?.owed() ?? [];
  }

  /** Of the report and of those words. */
  bytesWith(words: readonly Report[]): number {
    const { record } = this.held;
    // The record holds the report, and a little more.
    let bytes = record?.bytes ?? reportBytes(reportOf(this.held)) + 1;
    for (const report of words) bytes += reportBytes(report) + 1;
    return bytes;
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
