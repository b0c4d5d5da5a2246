import type { Report, ReportAnswer } from '../contract/index.ts';
import { afterRefusedBatch, batches } from '../core/batches.ts';
import type { Answer } from '../ports/transport.ts';
import type { WorkerContext } from './context.ts';
import { refusesWhole } from './refusals.ts';

export type ReportResult = Answer<ReportAnswer>;

/**
 * Sends reports in as few calls as the limits allow and gives one answer for each, in order. A batch that is
 * refused whole refuses no report: it is halved and sent again; one alone is sent as a single call, and that decides.
 * Discovery is asked once whether less is taken by now.
 * After the end of the worker nothing is sent any more.
 * @param bytesOf the report at that place, where it is known already.
 */
export async function sendReports(
  ctx: WorkerContext,
  reports: readonly Report[],
  bytesOf: (report: Report, at: number) => number = reportBytes,
): Promise<readonly ReportResult[]> {
  const chunks = batches(reports, bytesOf, ctx.limits);
  const [only] = chunks;
  if (only !== undefined && chunks.length === 1) return sendChunk(ctx, only);
  const results: ReportResult[] = [];
  for (const chunk of chunks) results.push(...(await sendChunk(ctx, chunk)));
  return results;
}

async function sendChunk(
  ctx: WorkerContext,
  reports: readonly Report[],
): Promise<readonly ReportResult[]> {
  const { transport } = ctx.ports;
  if (ctx.stopped) return reports.map(() => notSent(ctx));
  const [only] = reports;
  if (only === undefined) return [];
  if (reports.length === 1) {
    const answer = await transport.report(only);
    ctx.contact.ended();
    return [answer];
  }
  const whole = await transport.reportBatch(reports);
  ctx.contact.ended();
  if (whole.kind === 'ok') return reports.map((_, i) => whole.value[i] ?? missing(ctx));
  if (whole.kind === 'refused' && refusesWhole(whole.status)) {
    ctx.batchRefused();
    const next = afterRefusedBatch(reports);
    if (next.send === 'halves') {
      const [first, second] = next.halves;
      return [...(await sendChunk(ctx, first)), ...(await sendChunk(ctx, second))];
    }
  }
  return reports.map(() => whole);
}

/** Of the small ops a generous guess is enough; what can be large is measured. */
export function reportBytes(report: Report): number {
  switch (report.op) {
    case 'renew':
    case 'start':
    case 'effect':
    case 'release':
      return 1_024;
    default:
      return Buffer.byteLength(JSON.stringify(report));
  }
}

function missing(ctx: WorkerContext): ReportResult {
  return noAnswer(ctx, 'the answer to a batch lacked this report', 'not-the-contract');
}

function notSent(ctx: WorkerContext): ReportResult {
  return noAnswer(ctx, 'the worker has ended', 'aborted');
}

function noAnswer(
  ctx: WorkerContext,
  why: string,
  cause: 'aborted' | 'not-the-contract',
): ReportResult {
  return { kind: 'no-answer', why, cause, sentAt: ctx.ports.clock.now() };
}

/** No answer, or one about the key: nothing of it is about this report. */
export function aboutTheLine(result: ReportResult): boolean {
  if (result.kind !== 'refused') return result.kind === 'no-answer';
  return result.status === 401 || result.status === 403 || result.status === 426;
}
