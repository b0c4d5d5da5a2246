import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { taskView } from '../../contract/index.ts';
import { spoolFlag } from '../../spool/index.ts';
import type { Door } from '../../wire/door.ts';
import { type Check, ok, warn } from './check.ts';

/** A report that came too late, as it lies in the folder `stale` of a spool. */
export interface StaleReport {
  /** `complete`, `fail`, `lost` … */
  readonly op: string;
  readonly taskId: string;
  /** The control plane kept it as a late report, which an operator can take. */
  readonly kept: boolean;
  /** That is still so, as the control plane says; `undefined`: it was not asked. */
  readonly open?: boolean | undefined;
}

/** What was set aside as stale, newest last. What cannot be read is left out; at most `READ_MAX` files. */
export async function readStale(
  spool: string,
  isLate: (taskId: string) => Promise<boolean | undefined> = async () => undefined,
): Promise<StaleReport[]> {
  const folder = join(spool, 'stale');
  const names = await readdir(folder).catch(() => []);
  const found: StaleReport[] = [];
  let asked = 0;
  const files = names.filter((name) => name.endsWith('.jsonl')).sort();
  for (const name of files.slice(-READ_MAX)) {
    const text = await readFile(join(folder, name), 'utf8').catch(() => '');
    const report = staleReport(text);
    if (!report) continue;
    const asks = report.kept && asked++ < ASKED_MAX;
    found.push(asks ? { ...report, open: await isLate(report.taskId) } : report);
  }
  return found;
}

/** One line for all of them. @param count of the folder, also where not all could be read. */
export function checkStale(folder: string, count: number, reports: readonly StaleReport[]): Check {
  const ops = Map.groupBy(reports, ({ op }) => op);
  const kinds = [...ops].map(([op, { length }]) => `${length} ${op}`).join(', ');
  const says = `${count} ${count === 1 ? 'report' : 'reports'} came too late${kinds && `: ${kinds}`}`;
  const open = reports.filter((report) => report.kept && report.open !== false);
  const kept = [...new Set(open.map(({ taskId }) => taskId))];
  const [id] = kept;
  const flag = spoolFlag(folder);
  if (id !== undefined) {
    const others =
      kept.length === 1
        ? ''
        : `; ${kept.length - 1} more: interlock spool list --state stale${flag}`;
    return warn(
      'spool stale',
      says,
      `The control plane kept an outcome. Unless the task was decided since (interlock tasks show ${id}), take it: interlock tasks resolve ${id} --as late-report --reason "…"${others}`,
    );
  }
  if (reports.length >= count && reports.every(({ op, kept }) => op === 'lost' || kept)) {
    const settled = reports.every(({ kept }) => kept)
      ? 'what the control plane kept of them was dealt with'
      : // A worker that said that it does not know how it ended has nothing that could be taken.
        'the attempts had ended before, as lost by their lease or otherwise';
    return ok('spool stale', `${says}; ${settled}, so nothing is to be done`);
  }
  return warn(
    'spool stale',
    says,
    `Their attempts had ended before; compare: interlock spool list --state stale${flag}; then: interlock spool discard --all --state stale${flag}`,
  );
}

/** Whether the control plane still has a late report of the task that can be taken; `undefined` where it does not say. */
export async function lateReportWaits(door: Door, taskId: string): Promise<boolean | undefined> {
  const answer = await door.call({
    method: 'GET',
    path: `/tasks/${encodeURIComponent(taskId)}`,
    statuses: [200],
    schema: taskView,
  });
  return answer.kind === 'ok' ? answer.value.lateReport !== undefined : undefined;
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
/** A person waits: each is a call. */
const ASKED_MAX = 20;
