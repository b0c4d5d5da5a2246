import type { ClaimAnswer, ClaimRequest } from '../contract/index.ts';
import { claimWaitDefaults } from '../core/claim-wait-defaults.ts';
import type { Answer } from '../ports/transport.ts';
import type { WorkerContext } from './context.ts';

export interface WaitedFor {
  readonly answer: Answer<ClaimAnswer>;
  /** The claim was sent once more to end its wait: when, by the clock. */
  readonly endedAt?: number;
}

/**
 * A claim that waits at the control plane for work, from its send to its answer. Where nothing is wanted of it any more (a
 * drain, a trouble, other settings, a hint stream that was lost and is open again: the claim's connection may be as dead as that
 * one was) the same claim is sent once more, for nothing and without a wait: that brings what
 * was given to it already, and nothing is given to it after that. Woken by whatever wakes the claim loop, which waits here.
 */
export async function waitingClaim(
  ctx: WorkerContext,
  request: ClaimRequest,
  signal: AbortSignal,
): Promise<WaitedFor> {
  const { clock, transport } = ctx.ports;
  const { settings, hintsReopened } = ctx;
  const otherNow = () => ctx.settings !== settings || ctx.hintsReopened !== hintsReopened;
  const unwanted = () =>
    ctx.draining || ctx.stopped || ctx.heldBack || ctx.pauses.some || otherNow();
  // Not `AbortSignal.any`: each of them stays with the worker's own signal, and in memory, until the next full collection.
  const over = new AbortController();
  const leave = () => over.abort();
  if (signal.aborted) leave();
  signal.addEventListener('abort', leave, { once: true });
  let answer: Answer<ClaimAnswer> | undefined;
  const sent = transport.claim(request, over.signal).then((one) => {
    signal.removeEventListener('abort', leave);
    answer = one;
    ctx.wake.claim.wake();
    return one;
  });
  while (answer === undefined) {
    await ctx.wake.claim.wait(Number.POSITIVE_INFINITY);
    if (answer !== undefined || !unwanted()) continue;
    const endedAt = clock.now();
    const last = await lastWord(ctx, withoutWait({ ...request, max: 0 }), signal);
    // Whatever the first one still brings, this has brought too; without an answer it is repeated as any other claim.
    leave();
    const first = await sent;
    return { answer: first.kind === 'ok' ? first : last, endedAt };
  }
  return { answer };
}

/** Nothing is held here while a claim waits: a drain need not stay for an answer that does not come. */
async function lastWord(
  ctx: WorkerContext,
  request: ClaimRequest,
  signal: AbortSignal,
): Promise<Answer<ClaimAnswer>> {
  const { clock, transport } = ctx.ports;
  if (!ctx.draining) return transport.claim(request, signal);
  const late = new AbortController();
  const timer = clock.timer(claimWaitDefaults.lastWordMs, () => late.abort());
  const answer = await transport.claim(request, AbortSignal.any([signal, late.signal]));
  timer.cancel();
  if (answer.kind !== 'no-answer' || !late.signal.aborted) return answer;
  const why = `There was none within ${claimWaitDefaults.lastWordMs / 1000} s.`;
  return { ...answer, cause: 'timeout', why };
}

export function withoutWait(request: ClaimRequest): ClaimRequest {
  const { waitMs: _, ...rest } = request;
  return rest;
}
