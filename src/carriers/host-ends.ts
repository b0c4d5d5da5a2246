/** What a host's end means for its job, and how it is said. */
import type { TaskFailure } from '../contract/errors.ts';
import { hostDefaults } from '../core/defaults.ts';
import type { Job, JobEnd } from '../ports/carrier.ts';
import type { Log } from '../ports/log.ts';
import { exitText, type Host } from './host.ts';
import type { HostGone } from './host-process.ts';
import { type KernelKills, saysOutOfMemory } from './out-of-memory.ts';

/** Why the agent kills a host that does not take a job. */
export const NOT_TAKEN =
  'It did not take the task in time: something that an earlier task left, mostly a loop, keeps it busy.';

/** The end of a job whose host went away in the middle. `stderr`: the end of what it wrote there. */
export function died(gone: HostGone, stderr: string, kernelKills: KernelKills): JobEnd {
  const { exitCode, signal, killReason } = gone;
  const killedByKernel = signal === 'SIGKILL' && killReason === undefined && kernelKills.justRose();
  const outOfMemory = killedByKernel || saysOutOfMemory(stderr, exitCode, signal);
  const line = outOfMemory ? stderr.match(/^.*out of memory.*$/im)?.[0] : undefined;
  const detail = killReason ?? line ?? stderr.slice(-hostDefaults.stderrToldChars).trim();
  return {
    how: 'died',
    ...(exitCode !== undefined && { exitCode }),
    ...(signal !== undefined && { signal }),
    ...(outOfMemory && { outOfMemory }),
    ...(detail !== '' && { detail: detail.toWellFormed() }),
  };
}

export function tellNotTaken(log: Log, host: Host, gone: HostGone): void {
  const { pid } = host.process;
  const text = `The handler host ${pid} of ${host.file} did not take a task, of which nothing has begun. ${why(gone)}`;
  log.warn('host.not-taken', text, { pid, file: host.file, calls: host.calls });
}

/** For a job that no host has taken in time. */
export function notTakenByAny(hosts: number, host: Host, gone: HostGone): TaskFailure {
  const message = `${hosts} handler hosts of ${host.file} did not take the task, one after the other. The last: ${why(gone)}`;
  return { code: 'HOST_BUSY', message: message.toWellFormed(), retryable: true };
}

/** … that hosts end by themselves with is the task's own fault (F41); one that must be killed is busy. */
export function endNotTaken(
  hosts: number,
  host: Host,
  gone: HostGone,
  kernelKills: KernelKills,
): JobEnd {
  return gone.killReason === undefined
    ? died(gone, host.process.stderrTail.text.trim(), kernelKills)
    : { how: 'not-begun', error: notTakenByAny(hosts, host, gone) };
}

export function tooLarge(error: unknown): TaskFailure {
  const message = `The input cannot be handed to the handler: ${(error as Error).message}`;
  return { code: 'INPUT_INVALID', message, retryable: false };
}

/** For the log of a task that left these processes behind. @param calls that may have; more than one: which cannot be told. */
export function leftRunning(pids: readonly number[], calls: number): string {
  const what = pids.length === 1 ? 'a process' : `${pids.length} processes`;
  if (calls === 1)
    return `The handler left ${what} running (${pids.join(', ')}); what it started was ended with it.`;
  return `This call, or one of ${calls - 1} beside it in its host, left ${what} running (${pids.join(', ')}); what they started was ended.`;
}

function why(gone: HostGone): string {
  return gone.killReason ?? `It ended (${exitText(gone)}).`;
}

/** Ends a host whose file says something else than this job was claimed for. */
export function endUnfit(host: Host, job: Job): TaskFailure | undefined {
  const failure = host.unfit(job);
  if (failure === undefined) return undefined;
  host.retire('its file has changed');
  host.process.kill();
  return failure;
}
