import type { Io } from '../../src/cli/command.ts';
import { interlockProgram } from '../../src/cli/program.ts';
import { testWorld } from './world.ts';

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** `interlock <argv>` in this process. */
export async function interlock(
  argv: readonly string[],
  given: Partial<Io> & { input?: string } = {},
): Promise<Ran> {
  const world = testWorld(given);
  const code = await interlockProgram(argv, world.io);
  return { code, out: world.out(), err: world.err() };
}
