export const effectSafety = 'pure';

/** Never gives way for so many milliseconds. */
export default ({ ms }) => {
  const end = performance.now() + ms;
  let turns = 0;
  while (performance.now() < end) turns++;
  return turns > 0;
};
