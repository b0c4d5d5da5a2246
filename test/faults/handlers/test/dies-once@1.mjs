export { default } from './death.mjs';
export const effectSafety = 'non-idempotent';
