/** Its first attempt holds on, as one that is in the middle of its work when the machine fails; the next one is done at once. */
export const effectSafety = 'pure';

export default async function (_input, ctx) {
  const begunAt = performance.timeOrigin + performance.now();
  if (ctx.attempt > 1) return { begunAt };
  await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
  throw ctx.signal.reason;
}
