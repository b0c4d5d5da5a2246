import { TaskError } from '../../contract/index.ts';
import type { Call } from '../command.ts';
import { ownName, shellWord } from '../own-name.ts';

type Typed = Pick<Call, 'io' | 'sources'>;

/** Only root may: with the command as it was typed, so that it can be copied. */
export function asRoot({ io, sources }: Typed, word: string): TaskError {
  const words = Object.entries(sources.flags).flatMap(([name, value]) =>
    typeof value === 'boolean'
      ? value
        ? [`--${name}`]
        : []
      : [value].flat().flatMap((one) => [`--${name}`, shellWord(String(one))]),
  );
  const typed = ['sudo', commandOf(io), 'worker', 'service', word, ...words].join(' ');
  return new TaskError('SERVICE_NEEDS_ROOT', `Only root may ${word} a service of this machine.`, {
    hint: `Run: ${typed}   or add --user for a service of your own, which runs while you are logged in (always, after: loginctl enable-linger).`,
  });
}

/** sudo looks for programs on a PATH of its own, so the whole path it is. */
function commandOf(io: Pick<Call['io'], 'env' | 'cwd' | 'programs'>): string {
  const name = ownName(io);
  return name.includes('/') ? name : shellWord(io.programs.command);
}
