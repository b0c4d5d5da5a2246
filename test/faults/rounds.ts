/**
 * How much of a fault test is done: `short` with `npm run test:faults` (CI), `long` with `-- --mode faults-long`.
 */
export function rounds(short: number, long: number): number {
  return process.env.FAULTS === 'long' ? long : short;
}
