import { TaskError } from '../contract/index.ts';

/** The command line itself is wrong. @param command whose help tells more: `tasks submit`. */
export function usageError(message: string, command = '', hint?: string): TaskError {
  const help = `interlock ${command ? `${command} ` : ''}--help`;
  return new TaskError('USAGE', message, {
    hint: hint ?? `Run ${help} for what it takes.`,
  });
}

/** Flags by which somebody would hand over a secret. */
const SECRET_FLAGS =
  /^(?:(?:worker|producer|operator|admin|metrics|api)-?)?(?:key|token|secret|password)$/i;

/** Refuses `--key` and its like; the message never repeats the value. */
export function refuseSecretFlags(argv: readonly string[]): void {
  for (const arg of argv) {
    if (arg === '--') return;
    const name = /^--?([A-Za-z][\w-]*)(?:=|$)/.exec(arg)?.[1];
    if (name === undefined || !SECRET_FLAGS.test(name)) continue;
    throw new TaskError(
      'USAGE',
      `--${name} is refused: what stands on a command line can be read by every program of this machine and is kept in the shell's history.`,
      {
        hint: 'Put the key into a file (0600) and give --key-file, or into INTERLOCK_WORKER_KEY, INTERLOCK_PRODUCER_KEY, INTERLOCK_OPERATOR_KEY or INTERLOCK_ADMIN_KEY.',
      },
    );
  }
}
