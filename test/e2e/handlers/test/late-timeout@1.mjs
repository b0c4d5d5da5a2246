export const effectSafety = 'pure';
export const timeoutMs = 1_000;

/** Never settles. */
export default () => new Promise(() => setInterval(() => {}, 1_000));
