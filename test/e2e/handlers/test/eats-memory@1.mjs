export const effectSafety = 'pure';

/** Allocates until it is ended for it. Give it a small heap: the machine is shared. */
export default () => {
  const all = [];
  for (let n = 0; ; n++) all.push(new Array(1_000_000).fill(n + 0.5));
};
