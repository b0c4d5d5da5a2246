/** What `interlock-worker` is made of: in `dist/` one file, since each file more costs a start about a millisecond. */
export { programsBeside } from './programs.ts';
export { run } from './run.ts';
