import { finalExitCodes } from '../exit-codes.ts';

/** Set by what we write for managers that know no codes of an exit, but only whether it was 0. */
export const MANAGER_VARIABLE = 'INTERLOCK_SERVICE_MANAGER';

/**
 * The exit code as the service manager is told it. launchd, and the Task Scheduler of Windows, start again whatever
 * has not ended with 0: there an end after which somebody has to do something first is told as 0. The log has the reason.
 */
export function exitForManager(
  code: number,
  env: Readonly<Record<string, string | undefined>>,
): number {
  const manager = env[MANAGER_VARIABLE];
  const simple = manager === 'launchd' || manager === 'windows';
  return simple && finalExitCodes.includes(code) ? 0 : code;
}
