// Tells when it was begun, on the wall clock with microseconds; does nothing else.
export const effectSafety = 'pure';
export default () => ({ begunAt: performance.timeOrigin + performance.now() });
