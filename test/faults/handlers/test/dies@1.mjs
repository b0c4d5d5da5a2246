export { default } from './death.mjs';
export const effectSafety = 'pure';
