import { expect, it } from 'vitest';
import { SimulatedMachine } from '../../sim/machine.ts';
import { WorkerContext } from '../../src/worker/context.ts';

/** What a claim may ask for, after the control plane has told `told`. */
function contextThatWasTold(told: number) {
  const { clock } = new SimulatedMachine();
  const context = new WorkerContext({ clock } as never, { handlers: [] } as never);
  const limits = { batch: 100, batchBytes: 1_000_000, claimMax: told };
  context.learn({ contracts: [1], features: [], limits } as never);
  return context;
}

it.each([
  ['one that asked for more than was told since', 10, 256, 10],
  [
    'one that asked for more than the contract’s own limit, but no more than was told',
    256,
    256,
    100,
  ],
])('a refused claim leaves the smaller limit and is not repeated: %s', (_, told, asked, left) => {
  const context = contextThatWasTold(told);
  expect(context.claimRefused(asked)).toBe(true);
  expect(context.limits.claimMax).toBe(left);
});

it('a refused claim within what was told keeps to it, down to the contract’s own', () => {
  const context = contextThatWasTold(10);
  expect(context.claimRefused(10)).toBe(false);
  expect(context.claimRefused(50)).toBe(true);
  expect(context.limits.claimMax).toBe(10);
});
