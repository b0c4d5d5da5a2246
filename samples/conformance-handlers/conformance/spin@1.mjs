/** conformance/spin@1: keeps its core busy for `ms` milliseconds and gives way to nothing. */
export const effectSafety = 'pure';

export default function spin({ ms }) {
  const end = performance.now() + ms;
  let turns = 0;
  while (performance.now() < end) turns++;
  return { turned: turns > 0 };
}
