/** What is done when the agent's thread dies under the program: tell, stop the handlers, leave the spool to the next start. */
import type { ServedJobs } from '../carriers/thread-jobs.ts';
import { TaskError } from '../contract/errors.ts';
import { typeKey } from '../contract/type-key.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import { systemDisk } from '../system/disk.ts';
import { systemFolderLock } from '../system/folder-lock.ts';
import type { AgentSettings, WorkerEnd } from './agent-words.ts';
import { leaveSpool, reportsLeft } from './leave-spool.ts';

export function howItDied(fault: Error | undefined, exitCode: number): string {
  if (fault === undefined)
    return `The thread of the agent was ended from outside (code ${exitCode}).`;
  const { code } = fault as NodeJS.ErrnoException;
  if (code === 'ERR_WORKER_OUT_OF_MEMORY')
    return 'The thread of the agent ran out of memory. Give Node more (--max-old-space-size), or take fewer and smaller tasks at the same time.';
  return `The thread of the agent broke: ${fault.message}${code === undefined ? '' : ` (${code})`}`;
}

export function diedError(detail: string, cause: Error | undefined): TaskError {
  if ((cause as NodeJS.ErrnoException | undefined)?.code === 'ERR_MODULE_NOT_FOUND')
    return new TaskError('AGENT_NOT_STARTED', detail, {
      hint: 'Files of interlock-node-sdk are missing beside it: keep the package out of the bundle (`external`) and install it beside the program.',
      cause,
    });
  return new TaskError('AGENT_DIED', detail, {
    retryable: true,
    hint: NEXT,
    cause,
  });
}

/**
 * Resolves when no handler of the agent runs any more and its spool is free, or when their time to stop is over: then the
 * spool stays taken for as long as one of them runs, so that nobody tells its task as lost and runs it a second time.
 */
export async function afterDeath(
  detail: string,
  settings: Pick<AgentSettings, 'spool' | 'sessionId' | 'stopGraceMs'>,
  ports: { readonly clock: Clock; readonly log: Log },
  jobs: ServedJobs,
): Promise<WorkerEnd> {
  const { clock, log } = ports;
  const disk = systemDisk();
  const stopped = jobs.running;
  log.error('agent.died', `This worker has ended. ${detail} ${NEXT}`, { running: stopped });
  // Nobody can take their words any more: they are not lost without a trace at least.
  jobs.onEnded((job, end) =>
    log.warn(
      'handler.unheard',
      `The handler of ${typeKey(job.type, job.schemaVersion)} (task ${job.taskId}) has ended (${end.how}) after the worker’s own thread had died, so its end cannot be reported: the next start tells the attempt as lost.`,
      { taskId: job.taskId, attemptId: job.attemptId, how: end.how },
    ),
  );
  jobs.stopAll('drain');
  const left = jobs
    .idle()
    .then(() =>
      leaveSpool({ disk, clock, lock: systemFolderLock() }, settings.spool, settings.sessionId),
    )
    .catch((error: unknown) =>
      log.warn(
        'spool.not-left',
        `The spool ${settings.spool} could not be given back (${String(error)}): the next worker of this process may find it taken. Restart the program then.`,
      ),
    );
  const enough = new AbortController();
  await Promise.race([left, clock.sleep(settings.stopGraceMs, enough.signal)]);
  enough.abort();
  return { why: 'agent-died', unsent: await reportsLeft(disk, settings.spool), stopped, detail };
}

const NEXT = 'Start a worker again: it sends what lies in the spool.';
