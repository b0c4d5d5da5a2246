/** Pure: what it writes is for the test alone. */
export { makeEffect as default } from './effects.mjs';
export const effectSafety = 'pure';
