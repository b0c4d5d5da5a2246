import type { Problem } from '../contract/index.ts';
import { sentence } from '../contract/sentence.ts';

/**
 * Why nothing is claimed while the control plane refuses the key or the address, and what to do about it.
 * @param stays the worker goes on and reads its key again; else its end says what to do.
 */
export function refusedKeyWords(
  status: number,
  { code, detail, title }: Problem,
  stays = true,
): string {
  const why = `the control plane refused our key or address (${status} ${code}): ${detail ?? title ?? 'no detail'}`;
  // Other refusals are not about which key it is.
  if (status !== 401 || !stays) return why;
  return `${sentence(why)} ${NEXT}`;
}

const NEXT =
  'Give this worker a good one (interlock keys new "…" --kind task-worker makes it): a key file or a profile is read again by itself; where the key came from INTERLOCK_WORKER_KEY, set that and start the worker again.';

/** Of reports that this key or address is wrong for. */
export function foreignWords(count: number): string {
  const are = count === 1 ? 'report of ours is' : 'reports of ours are';
  return `${count} ${are} not known to this address with this key (404): they were made for another project or control plane`;
}
