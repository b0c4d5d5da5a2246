import { fstatSync, statSync } from 'node:fs';
import { isatty } from 'node:tty';
import { TaskError } from '../contract/index.ts';
import { systemClock } from '../system/clock.ts';
import { systemRandom } from '../system/random.ts';
import type { Io } from './command.ts';
import { exitCode } from './exit-codes.ts';
import { failureJson, failureText, toFailure } from './failure.ts';
import { outputTo } from './output.ts';
import type { Programs } from './programs.ts';
import { systemScreen } from './screen.ts';
import { makeStyle, wantsColour } from './style.ts';

/** The world as it is. */
export function systemIo(programs: Programs): Io {
  const { stdout, stderr } = process;
  return {
    env: process.env,
    cwd: currentFolder(),
    get stdin() {
      return process.stdin;
    },
    out: outputTo(stdout, leadsNowhere(1)),
    err: outputTo(stderr),
    terminal: { out: stdout.isTTY === true, err: stderr.isTTY === true, in: isatty(0) },
    columns: stdout.isTTY ? stdout.columns : undefined,
    get screen() {
      return systemScreen(process.stdin, stdout, process.env);
    },
    programs,
    clock: systemClock(),
    random: systemRandom(),
  };
}

/** Without one nothing can be found; it is said at once, for nothing else works yet. */
function currentFolder(): string {
  try {
    return process.cwd();
  } catch (cause) {
    const failure = toFailure(
      new TaskError('FOLDER_GONE', 'The current folder is gone: it was removed or moved away.', {
        hint: 'Change into a folder that is there, and run it again.',
        cause,
      }),
    );
    const style = makeStyle(wantsColour(process.env, process.stderr.isTTY === true));
    const json = process.argv.includes('--json');
    process.stderr.write(json ? failureJson(failure, false) : failureText(failure, style, false));
    return process.exit(exitCode(failure.exit));
  }
}

/** `/dev/null`. A descriptor that was closed when we were started is that too: Node.js opens it there. */
function leadsNowhere(fd: number): boolean {
  try {
    const seen = fstatSync(fd);
    return seen.isCharacterDevice() && seen.rdev === statSync('/dev/null').rdev;
  } catch {
    return process.platform !== 'win32';
  }
}

/** A throw that nobody caught ends the program with the code of a bug and words, not with a bare stack. */
export function endOnBugs(io: Io): void {
  const end = (error: unknown) => {
    const { INTERLOCK_LOG_LEVEL: level, INTERLOCK_LOG_FORMAT: format } = io.env;
    const failure = { ...toFailure(error), exit: 'bug' as const };
    const json = format === 'json' || process.argv.includes('--json');
    const debug = level === 'debug' || process.argv.includes('--debug');
    const style = makeStyle(wantsColour(io.env, io.terminal.err));
    void io.err
      .write(json ? failureJson(failure, debug) : failureText(failure, style, debug))
      .then(() => process.exit(exitCode('bug')));
  };
  process.on('uncaughtException', end);
  process.on('unhandledRejection', end);
}

/** Ends the process when all that was written has been taken. Sockets that idle do not keep it. */
export async function leave(io: Io, code: number): Promise<never> {
  await Promise.all([io.out.flush(), io.err.flush()]);
  process.exit(code);
}
