/**
 * A worker that is the first process (PID 1) of a container. Whatever a handler leaves behind becomes a child of PID 1, and
 * Node.js waits only for children that it has started itself: they would stay as zombies, each with its process id, until the
 * container ends. A shell that waits for one child collects all others too, so the worker becomes `/bin/sh` with itself as a child.
 */
import { spawnSync } from 'node:child_process';
import type { Log } from '../ports/log.ts';
import type { Io } from './command.ts';
import type { ProgramName } from './programs.ts';

/** A shell that does nothing takes a millisecond; one that is stuck must not hold up the start. */
const TRY_MS = 5_000;
/** Told to the worker below the shell, and to nobody else. */
const STANDS_IN = 'INTERLOCK_BEHIND_SHELL';
const SHELL = '/bin/sh';

/**
 * Passes signals on, also those that came before the child was there, and ends as the child ends (128 and its number for a
 * signal). A `wait` that a signal has cut is begun again; 127 is the answer to a second one for the same child. The input goes
 * through a third descriptor: a shell takes it away from what it puts into the background.
 */
const SHELL_AS_INIT = `
il_child= il_told= il_code=127
il_pass() {
  il_told=$1
  [ -z "$il_child" ] || kill "-$1" "$il_child" 2>/dev/null
}
trap 'il_pass TERM' TERM
trap 'il_pass INT' INT
trap 'il_pass HUP' HUP
exec 3<&0
"$@" <&3 3<&- &
il_child=$!
exec 3<&-
[ -z "$il_told" ] || kill "-$il_told" "$il_child"
while :; do
  il_told=
  wait "$il_child"
  il_now=$?
  [ "$il_now" = 127 ] || il_code=$il_now
  [ "$il_told" ] || exit "$il_code"
done
`;

/** Does not return where the process is PID 1 on Linux and there is a shell: then it is started again below that. */
export function standBehindShell(name: ProgramName, argv: readonly string[], io: Io): void {
  if (process.pid !== 1 || process.platform !== 'linux') return;
  try {
    // Tried before: Node.js ends at once, with a stack, where it cannot become another program.
    if (spawnSync(SHELL, ['-c', ':'], { stdio: 'ignore', timeout: TRY_MS }).status !== 0) return;
    const { execPath, args } = io.programs.program(name);
    process.execve?.(SHELL, [SHELL, '-c', SHELL_AS_INIT, SHELL, execPath, ...args, ...argv], {
      ...definedOf(io.env),
      [STANDS_IN]: '1',
    });
  } catch {
    // No shell: it goes on as it is, and says so.
  }
}

/** Says once where there is no init. */
export function tellNoInit(io: Io, log: Pick<Log, 'warn'>): void {
  if (process.platform !== 'linux') return;
  const standsIn = io.env[STANDS_IN] === '1';
  if (!standsIn && process.pid !== 1) return;
  const became = standsIn
    ? `${SHELL} stands in for one: it passes SIGTERM, SIGINT and SIGHUP on and collects what handlers leave behind`
    : `nobody collects what handlers leave behind: such processes stay as zombies, each with a process id, until the container ends`;
  log.warn(
    'container.no-init',
    `The worker was started as the first process (PID 1) of a container without an init, so ${became}. Start it under an init: docker run --init, or tini as the entrypoint.`,
    { standsIn: standsIn ? SHELL : 'none' },
  );
}

/** The environment without what only the worker itself was told. */
export function withoutStandIn(
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> {
  const { [STANDS_IN]: _, ...rest } = env;
  return rest;
}

function definedOf(env: Io['env']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter((one): one is [string, string] => one[1] !== undefined),
  );
}
