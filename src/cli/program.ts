import type { Io } from './command.ts';
import { commands, groups } from './commands.ts';
import { guarded, runCommand } from './main.ts';
import { beforeRest, parseCommandLine } from './parse.ts';

/** `interlock <argv>`, to its exit code. Never rejects. */
export function interlockProgram(argv: readonly string[], io: Io): Promise<number> {
  return guarded(beforeRest(argv), io, async () => {
    const parsed = await parseCommandLine(argv, { commands, groups, columns: io.columns });
    if (parsed.kind === 'command') return runCommand(parsed.command, parsed.typed, io, parsed.rest);
    await io.out.write(parsed.text);
    return 'ok';
  });
}
