import { getEventListeners } from 'node:events';
import { expect, it, vi } from 'vitest';
import { SimulatedClock } from '../../sim/clock.ts';
import type { ClaimRequest } from '../../src/contract/index.ts';
import type { WorkerContext } from '../../src/worker/context.ts';
import { waitingClaim } from '../../src/worker/waiting-claim.ts';
import { Wakeup } from '../../src/worker/wakeup.ts';

/** A claim that waits is given up with the worker's own signal, which outlives thousands of them. */

function rig() {
  const clock = new SimulatedClock();
  const heard: AbortSignal[] = [];
  let answer: (one: unknown) => void = () => {};
  const claim = (_: ClaimRequest, signal: AbortSignal) =>
    new Promise((resolve) => {
      heard.push(signal);
      answer = resolve;
      signal.addEventListener('abort', () => resolve({ kind: 'no-answer' }));
    });
  const ctx = {
    ports: { clock, transport: { claim } },
    wake: { claim: new Wakeup(clock) },
    pauses: { some: false },
  } as unknown as WorkerContext;
  const worker = new AbortController();
  const wait = () => waitingClaim(ctx, {} as ClaimRequest, worker.signal);
  return { wait, worker, heard, answer: (one: unknown) => answer(one) };
}

it('leaves nothing with that signal once it is answered', async () => {
  const composite = vi.spyOn(AbortSignal, 'any');
  const { wait, worker, answer } = rig();
  for (let i = 0; i < 3; i++) {
    const waited = wait();
    answer({ kind: 'ok' });
    expect((await waited).answer.kind).toBe('ok');
  }
  expect(getEventListeners(worker.signal, 'abort')).toEqual([]);
  // It would stay, and its members, until the next full collection.
  expect(composite).not.toHaveBeenCalled();
  composite.mockRestore();
});

it('ends with it, also where it is aborted already', async () => {
  const { wait, worker, heard } = rig();
  const waited = wait();
  worker.abort();
  expect((await waited).answer.kind).toBe('no-answer');
  void wait();
  expect(heard.map(({ aborted }) => aborted)).toEqual([true, true]);
});
