/** Non-idempotent, behind its start. */
export { makeEffect as default } from './effects.mjs';
export const effectSafety = 'non-idempotent';
