/** Does nothing, in a process that it shares with the others of its type. */
export const effectSafety = 'pure';
export const host = 'shared';
export default () => null;
