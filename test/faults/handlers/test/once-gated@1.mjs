/** Non-idempotent, behind the gate of its effect. */
export { makeEffect as default } from './effects.mjs';
export const effectGate = 'effect';
export const effectSafety = 'non-idempotent';
