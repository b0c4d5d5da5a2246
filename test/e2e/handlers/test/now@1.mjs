export const effectSafety = 'pure';

/** When it began, by the clock of this machine. */
export default () => performance.timeOrigin + performance.now();
