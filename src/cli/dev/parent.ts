import type { Io } from '../command.ts';

/**
 * Resolves with `true` when the shell is gone in which npm started us (`npm start`): npm passes its signals on to that shell
 * only, which does not pass them on. Only for a script that waits for its program: one that puts it into the background
 * (`… &`), and whoever starts it otherwise (nohup, setsid, a service), may leave it alone on purpose. `false` when `signal` aborts
 * or where there is nothing to watch.
 */
export async function npmGone(
  { env, clock }: Pick<Io, 'env' | 'clock'>,
  signal: AbortSignal,
  parent: () => number = () => process.ppid,
): Promise<boolean> {
  const script = env.npm_lifecycle_script;
  if (env.npm_lifecycle_event === undefined || script === undefined) return false;
  const waits = /\bdev\b/.test(script) && !script.replaceAll('&&', '').includes('&');
  if (!waits || process.platform === 'win32') return false;
  const first = parent();
  while (await clock.sleep(LOOK_MS, signal)) if (parent() !== first) return true;
  return false;
}

/** Soon for a person, nothing for a processor. */
const LOOK_MS = 500;
