import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Check, ok, warn } from './check.ts';

/** A report that came too late, as it lies in the folder `stale` of a spool. */
export interface StaleReport {
  /** `complete`, `fail`, `lost` … */
  readonly op: string;
  readonly taskId: string;
  /** The control plane kept it as a late report, which an operator can take. */
  readonly kept: boolean;
}

/** What was set aside as stale, newest last. What cannot be read is left out; at most `READ_MAX` files. */
export async function readStale(spool: string): Promise<StaleReport[]> {
  const folder = join(spool, 'stale');
  const names = await readdir(folder).catch(() => []);
  const found: StaleReport[] = [];
  const files = names.filter((name) => name.endsWith('.jsonl')).sort();
  for (const name of files.slice(-READ_MAX)) {
    const text = await readFile(join(folder, name), 'utf8').catch(() => '');
    const report = staleReport(text);
    if (report) found.push(report);
  }
  return found;
}

/** One line for all of them. @param count of the folder, also where not all could be read. */
export function checkStale(folder: string, count: number, reports: readonly StaleReport[]): Check {
  const ops = Map.groupBy(reports, ({ op }) => op);
  const kinds = [...ops].map(([op, { length }]) => `${length} ${op}`).join(', ');
  const says = `${count} ${count === 1 ? 'report' : 'reports'} came too late${kinds && `: ${kinds}`}`;
  const kept = [...new Set(reports.filter(({ kept }) => kept).map(({ taskId }) => taskId))];
  const [id] = kept;
  if (id !== undefined) {
    const others = kept.length === 1 ? '' : `, and ${kept.length - 1} more in ${folder}/stale`;
    return warn(
      'spool stale',
      says,
      `The control plane kept an outcome. If nothing else has decided the task since, take it: interlock tasks resolve ${id} --as late-report --reason "…"${others}`,
    );
  }
  // A worker that said that it does not know how it ended has nothing that could be taken.
  if (reports.length >= count && reports.every(({ op }) => op === 'lost'))
    return ok('spool stale', `${says}; the task was decided before, so nothing is to be done`);
  return warn(
    'spool stale',
    says,
    `Another attempt or an operator decided the task; compare with ${folder}/stale.`,
  );
}

function staleReport(text: string): StaleReport | undefined {
  try {
    const { record, answer } = JSON.parse(text) as {
      record: { body: { op: unknown; taskId: unknown } };
      answer?: { problem?: { recorded?: unknown } };
    };
    const { op, taskId } = record.body;
    if (typeof op !== 'string' || typeof taskId !== 'string') return undefined;
    return { op, taskId, kept: answer?.problem?.recorded === true };
  } catch {
    return undefined;
  }
}

const READ_MAX = 200;
