/** Idempotent: its effect may be made again with the same `effectKey`. */
export { makeEffect as default } from './effects.mjs';
export const effectSafety = 'idempotent';
