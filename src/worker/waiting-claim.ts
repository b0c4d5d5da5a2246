import type { ClaimAnswer, ClaimRequest } from '../contract/index.ts';
import type { Answer } from '../ports/transport.ts';
import type { WorkerContext } from './context.ts';

/**
 * A claim that waits at the control plane for work, from its send to its answer. Where nothing is wanted of it any more (a
 * drain, a trouble, other settings) the same claim is sent once more, for nothing and without a wait: that brings what
 * was given to it already, and nothing is given to it after that. Woken by whatever wakes the claim loop, which waits here.
 */
export async function waitingClaim(
  ctx: WorkerContext,
  request: ClaimRequest,
  signal: AbortSignal,
): Promise<Answer<ClaimAnswer>> {
  const { transport } = ctx.ports;
  const { settings } = ctx;
  const unwanted = () =>
    ctx.draining || ctx.stopped || ctx.heldBack || ctx.pauses.some || ctx.settings !== settings;
  const over = new AbortController();
  let answer: Answer<ClaimAnswer> | undefined;
  const sent = transport.claim(request, AbortSignal.any([signal, over.signal])).then((one) => {
    answer = one;
    ctx.wake.claim.wake();
    return one;
  });
  while (answer === undefined) {
    await ctx.wake.claim.wait(Number.POSITIVE_INFINITY);
    if (answer !== undefined || !unwanted()) continue;
    const last = await transport.claim(withoutWait({ ...request, max: 0 }), signal);
    // Whatever the first one still brings, this has brought too; without an answer it is repeated as any other claim.
    over.abort();
    const first = await sent;
    return first.kind === 'ok' ? first : last;
  }
  return answer;
}

export function withoutWait(request: ClaimRequest): ClaimRequest {
  const { waitMs: _, ...rest } = request;
  return rest;
}
