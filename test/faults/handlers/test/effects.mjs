/**
 * What the handlers here do, written down where a kill cannot take it back: one line per beginning and one per effect,
 * on the disk (fsync) before the handler goes on.
 */
import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Begins, waits `beforeMs` (a stop ends it here), asks for the gate, makes its effect, waits `afterMs`.
 * `file`: where the lines go. With `busy` it spins through `beforeMs`: nothing can stop it but a kill.
 */
export async function makeEffect({ file, beforeMs = 0, afterMs = 0, busy = false }, ctx) {
  await note(file, 'began', ctx);
  if (busy) for (const end = performance.now() + beforeMs; performance.now() < end; );
  else await sleep(beforeMs, undefined, { signal: ctx.signal });
  await ctx.beginEffect();
  await note(file, 'effect', ctx);
  await sleep(afterMs);
  return { attempt: ctx.attempt, fence: ctx.fence };
}

async function note(file, what, { taskId, effectKey, attempt, fence }) {
  const line = { what, taskId, effectKey, attempt, fence, pid: process.pid };
  const handle = await open(file, 'a');
  try {
    await handle.write(`${JSON.stringify(line)}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
