/** What the end of a shared host means for the jobs in it, and how they are named. */
import type { JobEnd } from '../ports/carrier.ts';
import type { Log } from '../ports/log.ts';
import { exitText } from './host.ts';
import { died } from './host-ends.ts';
import type { HostGone } from './host-process.ts';
import type { KernelKills } from './out-of-memory.ts';
import type { SharedHost } from './shared-host.ts';
import type { SharedRun } from './shared-run.ts';

/**
 * The end of each, by which task has ended it. Who was only beside it is told so: the exit code, and what was printed
 * last, are not its own.
 */
export function endOfShared(
  gone: HostGone,
  stderr: string,
  kernelKills: KernelKills,
  cause: SharedRun | undefined,
): (run: SharedRun) => JobEnd {
  let own: JobEnd | undefined;
  return (run) => {
    own ??= died(gone, stderr, kernelKills);
    if (cause === undefined || cause === run || gone.killReason !== undefined) return own;
    const killReason = `Another task in the same host, ${cause.job.taskId}, has ended it (${exitText(gone)}).`;
    return died({ ...gone, killReason }, '', kernelKills);
  };
}

/** Of many, the first. */
export function namesOf(runs: readonly SharedRun[]): string {
  const named = runs.slice(0, NAMED_MAX).map(({ job }) => job.taskId);
  const more = runs.length - named.length;
  return named.join(', ') + (more > 0 ? ` and ${more} more` : '');
}

const NAMED_MAX = 5;

export function tellEnd(
  log: Log,
  host: SharedHost,
  gone: HostGone,
  begun: readonly SharedRun[],
  cause: SharedRun | undefined,
): void {
  const { pid } = host.process;
  const one = cause ?? (begun.length === 1 ? begun[0] : undefined);
  const count = begun.length === 1 ? 'one task' : `${begun.length} tasks`;
  const why = gone.killReason ?? `It ended by itself (${exitText(gone)}).`;
  const who =
    one === undefined
      ? 'Which of them did it cannot be told: each runs alone the next time it comes here.'
      : `By task ${one.job.taskId}: it runs alone the next time it comes here.`;
  log.warn(
    'host.died',
    `The shared host ${pid} of ${host.file} has gone with ${count} in it (${namesOf(begun)}). ${why} ${who}`,
    {
      ...{ pid, file: host.file, ...gone },
      tasks: begun.map(({ job }) => job.taskId),
      ...(one && { taskId: one.job.taskId, attemptId: one.job.attemptId }),
    },
  );
}
