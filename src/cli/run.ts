import { endOnBugs, leave, systemIo } from './io.ts';
import type { ProgramName, Programs } from './programs.ts';
import { start } from './start.ts';

/** Runs a program of ours as this process, which ends with it. */
export async function run(
  name: ProgramName,
  programs: Programs,
  argv: readonly string[],
): Promise<never> {
  const io = systemIo(programs);
  endOnBugs(io);
  return leave(io, await start(name, argv, io));
}
