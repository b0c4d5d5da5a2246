export const effectSafety = 'pure';

/** Gives its input back. */
export default (input) => input;
