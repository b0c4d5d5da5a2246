/** What the end of a shared host means for the jobs in it, and how they are named. */
import type { JobEnd } from '../ports/carrier.ts';
import type { Log } from '../ports/log.ts';
import { exitText } from './host.ts';
import { died } from './host-ends.ts';
import type { HostGone } from './host-process.ts';
import type { KernelKills } from './out-of-memory.ts';
import type { SharedHost } from './shared-host.ts';
import type { SharedRun } from './shared-run.ts';

/** Who has ended a shared host, as far as it is known. */
export interface Blame {
  /** The job that did; absent: one of those in it. */
  readonly run?: SharedRun;
  /** What it did: `held its thread for 10 s`, `called process.exit(3)`. */
  readonly did: string;
}

export function exitOf(run: SharedRun | undefined, gone: HostGone): Blame | undefined {
  return run && { run, did: `called process.exit(${gone.exitCode ?? ''})` };
}

export function blamed({ run, did }: Blame): string {
  return `${run === undefined ? 'One of the tasks in it' : `Task ${run.job.taskId}`} ${did}.`;
}

/** The end of each that had begun. Who was only beside the culprit is told so: exit code and last words are not its own. */
export function endOfShared(
  gone: HostGone,
  stderr: string,
  kernelKills: KernelKills,
  begun: readonly SharedRun[],
  blame: Blame | undefined,
): (run: SharedRun) => JobEnd {
  let own: JobEnd | undefined;
  return (run) => {
    if (blame === undefined) {
      own ??= beside(died(gone, stderr, kernelKills), gone, begun.length);
      return own;
    }
    if (blame.run === run && gone.signal === undefined) return died(gone, stderr, kernelKills);
    const { exitCode, signal } = gone;
    return {
      how: 'died',
      ...(exitCode !== undefined && { exitCode }),
      ...(signal !== undefined && { signal }),
      why: whyOf(run, begun, blame),
    };
  };
}

function whyOf(run: SharedRun, begun: readonly SharedRun[], { run: by, did }: Blame): string {
  if (by === run) return `It ${did}, and the worker ended its process.`;
  if (by !== undefined)
    return `It shared a process with task ${by.job.taskId}, which ${did}: that ended the process. Nothing is wrong with this task.`;
  return `One of the ${begun.length} tasks in its process (${namesOf(begun)}) ${did}, so the worker ended the process. Which of them did it cannot be told.`;
}

function beside(end: JobEnd, gone: HostGone, count: number): JobEnd {
  if (end.how !== 'died' || count < 2 || gone.killReason !== undefined) return end;
  const others = count === 2 ? 'one other task' : `${count - 1} other tasks`;
  const how = `${exitText(gone)}${end.outOfMemory ? ', out of memory' : ''}`;
  return {
    ...end,
    why: `Its process, which it shared with ${others}, has ended (${how}). Which of them did it cannot be told.`,
  };
}

/** What becomes of a host in which something broke. */
export function replacedAfter(begun: readonly SharedRun[]): string {
  if (begun.length === 0) return 'New tasks get another host.';
  return `New tasks get another host; this one goes when those that run in it are over: ${namesOf(begun)}.`;
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
  blame: Blame | undefined,
): void {
  const { pid } = host.process;
  const one = blame?.run ?? (begun.length === 1 ? begun[0] : undefined);
  const count = begun.length === 1 ? 'one task' : `${begun.length} tasks`;
  const itself = gone.killReason ?? `It ended by itself (${exitText(gone)}).`;
  const why = blame === undefined ? itself : blamed(blame);
  log.warn(
    'host.died',
    `The shared host ${pid} of ${host.file} has gone with ${count} in it (${namesOf(begun)}). ${why}${next(one)}`,
    {
      ...{ pid, file: host.file, ...gone },
      tasks: begun.map(({ job }) => job.taskId),
      ...(one && { taskId: one.job.taskId, attemptId: one.job.attemptId }),
    },
  );
}

/** A task that was cancelled does not come again. */
function next(one: SharedRun | undefined): string {
  if (one === undefined)
    return ' Which of them did it cannot be told: each runs alone the next time it comes here.';
  return one.stopReason === 'cancel' ? '' : ' It runs alone the next time it comes here.';
}
