import type { Report, ReportAnswer } from '../contract/index.ts';
import type { Answer } from '../ports/transport.ts';
import type { WorkerContext } from './context.ts';

export type ReportResult = Answer<ReportAnswer>;

/**
 * Sends reports in as few calls as the limits allow and gives one answer for each, in order. A batch that is
 * refused whole refuses no report: it is halved and sent again; one alone is sent as a single call, and that decides.
 */
export async function sendReports(
  ctx: WorkerContext,
  reports: readonly Report[],
): Promise<ReportResult[]> {
  const results: ReportResult[] = [];
  for (const chunk of chunks(ctx, reports)) results.push(...(await sendChunk(ctx, chunk)));
  return results;
}

async function sendChunk(
  ctx: WorkerContext,
  reports: readonly Report[],
): Promise<readonly ReportResult[]> {
  const { transport } = ctx.ports;
  const [only] = reports;
  if (only === undefined) return [];
  if (reports.length === 1) return [await transport.report(only)];
  const whole = await transport.reportBatch(reports);
  if (whole.kind === 'ok') return whole.value;
  if (whole.kind === 'refused' && refusesWhole(whole.status)) {
    const half = Math.ceil(reports.length / 2);
    return [
      ...(await sendChunk(ctx, reports.slice(0, half))),
      ...(await sendChunk(ctx, reports.slice(half))),
    ];
  }
  return reports.map(() => whole);
}

const refusesWhole = (status: number) =>
  status === 400 || status === 413 || status === 415 || status === 422;

function* chunks(ctx: WorkerContext, reports: readonly Report[]): Iterable<Report[]> {
  let chunk: Report[] = [];
  let bytes = 0;
  for (const report of reports) {
    const size = reportBytes(report);
    if (
      chunk.length > 0 &&
      (chunk.length >= ctx.limits.batch || bytes + size > ctx.limits.batchBytes)
    ) {
      yield chunk;
      chunk = [];
      bytes = 0;
    }
    chunk.push(report);
    bytes += size;
  }
  if (chunk.length > 0) yield chunk;
}

/** Of the small ops a generous guess is enough; what can be large is measured. */
function reportBytes(report: Report): number {
  switch (report.op) {
    case 'renew':
    case 'start':
    case 'effect':
    case 'release':
      return 1_024;
    default:
      return Buffer.byteLength(JSON.stringify(report)) + 64;
  }
}
