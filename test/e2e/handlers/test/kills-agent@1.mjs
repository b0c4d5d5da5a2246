import { setTimeout as sleep } from 'node:timers/promises';

export const effectSafety = 'pure';

/** Takes the whole worker with it, each time. Only the worker that the input names. */
export default async ({ file }, ctx) => {
  const { appendFile } = await import('node:fs/promises');
  await appendFile(file, `${ctx.attempt}\n`);
  ctx.progress(50, 'about to fall');
  // Its progress is on its way to the disk.
  await sleep(300);
  if (process.ppid > 1) process.kill(process.ppid, 'SIGKILL');
  await sleep(60_000);
};
