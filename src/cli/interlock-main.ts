/** All commands but the worker itself: in `dist/` a file that the worker loads only where it is asked for one of them. */
export { commands } from './commands.ts';
export { interlockProgram } from './program.ts';
