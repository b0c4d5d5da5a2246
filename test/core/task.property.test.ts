import fc from 'fast-check';
import { describe, it } from 'vitest';
import { runs } from '../property.ts';
import { type Step, safeties, TaskHistory } from './task-history.ts';

/**
 * Random histories: the journal has no gap and tells the task's status, an old fence changes nothing, a
 * terminal task changes only by an operator, attempts stay within what is permitted, a cancel wins, no gate
 * is passed twice without an operator, and the outcome of the latest attempt is accepted or recorded.
 */
const number = fc.nat(1_000_000);
const history = (maxLength: number) =>
  fc.array(fc.tuple(number, number, number, number), { maxLength, size: 'max' });

describe.each(Object.keys(safeties) as (keyof typeof safeties)[])('%s', (safety) => {
  it('keeps the rules of the contract whatever comes in whatever order', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 3 }),
        fc.boolean(),
        history(40),
        (max, deadline, steps) => {
          const task = new TaskHistory(safety, max, deadline);
          for (const step of steps) task.take(step as Step);
          task.finish();
        },
      ),
      { numRuns: runs(800) },
    );
  });
});
