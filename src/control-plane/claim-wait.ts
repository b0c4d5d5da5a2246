import type { ClaimRequest } from '../contract/worker-calls.ts';
import { isRefusal, type Refusal } from './answer.ts';
import type { KeyedCall } from './call.ts';
import { claim, claimOrNothing, type Granted } from './claim.ts';
import { GONE } from './turns.ts';
import { WaitingClaim } from './waiting-claims.ts';

/**
 * A claim that waits for work, `waitMs` at most, where there is none. Nothing is kept of it meanwhile: in the end it is
 * carried out like any other, with what there is then, or for nothing where nobody is to be given work any more.
 */
export async function claimOrWait(
  call: KeyedCall,
  asked: ClaimRequest,
): Promise<Granted | Refusal> {
  const { services, key, keySeen, request, turn } = call;
  const { clock, keyWatch, store, waiting } = services;
  const since = { now: clock.now(), nowMs: await store.nowMs() };
  const place: WaitingClaim<Granted | Refusal> = new WaitingClaim(key.project, asked, async () => {
    const now = clock.now();
    const found = await claimOrNothing(services, key, asked, place);
    return found && waited(found, now);
  });
  const waited = (found: Granted | Refusal, now: number): Granted | Refusal => {
    if (isRefusal(found)) return found;
    // By the clock of leases, and no more than has really passed.
    const waitedMs = Math.floor(Math.min(now - since.now, found.nowMs - since.nowMs));
    return { ...found, waitedMs: Math.max(0, waitedMs) };
  };
  try {
    const first = await claimOrNothing(services, key, asked, place);
    if (first !== undefined) return first;
    const gone = () => place.stop('gone');
    const { signal } = request;
    signal.addEventListener('abort', gone, { once: true });
    if (signal.aborted) gone();
    const unwatch = keyWatch.watch(key, keySeen, () => place.stop('key'));
    const timer = clock.timer(asked.waitMs ?? 0, () => place.stop('time'));
    place.foundNothing();
    await turn.outside(place.over);
    timer.cancel();
    unwatch();
    signal.removeEventListener('abort', gone);
  } finally {
    waiting.remove(place);
  }
  if (place.error !== undefined) throw place.error;
  if (place.found !== undefined) return place.found;
  switch (place.end) {
    case 'gone':
      return GONE;
    // Without a write: there may be thousands at the moment of a stop.
    case 'replaced':
    case 'stopped':
      return { attempts: [], drain: false, nowMs: await store.nowMs() };
    case 'key':
      return claim(services, key, { ...asked, max: 0 });
    default: {
      const now = clock.now();
      return waited(await claim(services, key, asked), now);
    }
  }
}
