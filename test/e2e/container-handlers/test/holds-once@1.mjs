/** Its first attempt never ends by itself; the next one does. */
export const effectSafety = 'idempotent';

export default async (_input, { attempt }) => {
  if (attempt > 1) return { attempt };
  return new Promise(() => setInterval(() => {}, 1_000));
};
