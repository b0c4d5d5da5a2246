import { TaskError } from '../../contract/index.ts';
import { shellWord } from '../own-name.ts';
import type { CommandLine } from './papers.ts';
import type { ProgramEnd, RunProgram } from './run-program.ts';

/** Runs commands of the manager one after the other. Throws `SERVICE_MANAGER_FAILED` at the first that fails. */
export async function runSteps(
  steps: readonly CommandLine[],
  run: RunProgram,
  boundMs?: number,
): Promise<void> {
  for (const step of steps) {
    const end = await run(step, boundMs === undefined ? {} : { boundMs });
    if (end?.code !== 0) throw stepFailed(step, end);
  }
}

export function stepFailed(step: CommandLine, end: ProgramEnd | undefined): TaskError {
  const command = commandText(step);
  if (end === undefined)
    return new TaskError(
      'SERVICE_MANAGER_ABSENT',
      `There is no program ${step[0]} on this machine.`,
      {
        hint: 'Install the service manager’s programs, or see docs/service.md for other managers.',
      },
    );
  const said = (end.err || end.out).trim().split('\n').slice(0, SAID_LINES).join(' ');
  const how = end.code === null ? 'did not end in time' : `ended with ${end.code}`;
  return new TaskError(
    'SERVICE_MANAGER_FAILED',
    `${command} ${how}${said ? `: ${said.replace(/\.$/, '')}` : ''}.`,
    {
      hint: 'See its log (interlock worker service logs), mend the cause, and run the same command again.',
    },
  );
}

/** As it could be typed. */
export function commandText(step: CommandLine): string {
  return step.map(shellWord).join(' ');
}

const SAID_LINES = 3;
