import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Call, Command, Io } from '../../../src/cli/command.ts';
import { commands, groups } from '../../../src/cli/commands.ts';
import { guarded, runCommand } from '../../../src/cli/main.ts';
import { parseCommandLine } from '../../../src/cli/parse.ts';
import { filePrograms } from '../../../src/cli/programs.ts';
import * as service from '../../../src/cli/service/commands.ts';
import { systemPrograms } from '../../../src/cli/service/run-program.ts';
import type { ServiceWorld } from '../../../src/cli/service/world.ts';
import { systemClock } from '../../../src/system/clock.ts';
import type { Ran } from '../run.ts';
import { temporaryFolder, testWorld } from '../world.ts';
import { fakePrograms } from './given.ts';

/** systemctl as far as we use it: a service runs once it was started; what `fails` is in its folder fails. */
const SYSTEMCTL = `
here=$(dirname "$0")
[ "$1" = --user ] && shift
[ -e "$here/fails-$1" ] && { echo "Job for $2 failed." >&2; exit 1; }
case $1 in
  --version) echo 'systemd 252 (252.38)' ;;
  start | restart) touch "$here/active" ;;
  stop) rm -f "$here/active" ;;
  is-active) [ -e "$here/active" ] || exit 3 ;;
  show) cat "$here/shown" ;;
esac
exit 0`;

/** A machine made of folders: its root, and programs that write down how they were called. */
export function serviceMachine(given: Partial<ServiceWorld> = {}) {
  const root = temporaryFolder();
  chmodSync(root, 0o755);
  const bin = temporaryFolder();
  const programs = fakePrograms(bin, {
    systemctl: SYSTEMCTL,
    journalctl: 'echo a line of the log',
    launchctl: 'exit 0',
    id: 'echo 1234',
  });
  const put = (path: string, text = '', mode = 0o644) => {
    // The key is read where it is, all else is looked at below the root.
    for (const file of [join(root, path), ...(path.startsWith(root) ? [path] : [])]) {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text, { mode });
      chmodSync(file, mode);
    }
  };
  mkdirSync(join(root, 'run/systemd/system'), { recursive: true });
  put('/opt/interlock/bin/interlock', '#!/bin/sh\n', 0o755);
  put('/srv/handlers/demo/hello@1.mjs', 'export default () => 1;\n');
  const key = join(root, 'keys', 'key');
  const env = { PATH: programs.path, HOME: join(root, 'home') };
  const world: ServiceWorld = {
    platform: 'linux',
    uid: 0,
    home: join('/home', 'ada'),
    root,
    env: {},
    temporary: ['/scratch'],
    run: systemPrograms(env, systemClock()),
    ...given,
  };
  const run = async (
    argv: readonly string[],
    io: Partial<Io> & { input?: string } = {},
  ): Promise<Ran> => {
    const made = testWorld({
      programs: {
        ...filePrograms(join(import.meta.dirname, '../../../dist')),
        command: '/opt/interlock/bin/interlock',
      },
      ...io,
    });
    const code = await guarded(argv, made.io, async () => {
      const parsed = await parseCommandLine(argv, {
        commands: inWorld(world),
        groups,
        columns: 120,
      });
      if (parsed.kind === 'text') throw new Error(parsed.text);
      return runCommand(parsed.command, parsed.typed, made.io);
    });
    return { code, out: made.out(), err: made.err() };
  };
  return { root, bin, key, put, world, run, calls: programs.calls, forget: programs.forget };
}

/** The commands of a service, each in that world rather than the real one. */
function inWorld(world: ServiceWorld): Command[] {
  const runs: Record<string, (call: never, world: ServiceWorld) => ReturnType<Command['run']>> = {
    'worker service install': service.install,
    'worker service uninstall': service.uninstall,
    'worker service status': service.status,
    'worker service logs': service.logs,
  };
  return commands.map((command) => {
    const run = runs[command.path];
    return run ? { ...command, run: (call: Call) => run(call as never, world) } : command;
  });
}
