import { expect, it } from 'vitest';
import { SimulatedMachine } from '../../sim/machine.ts';
import { SameWait } from '../../src/carriers/same-wait.ts';

it('is not late for the next one where another is added as one is due', async () => {
  const { clock } = new SimulatedMachine();
  const from = clock.now();
  const due: string[] = [];
  const waits = new SameWait<string>(clock, 100, (item) => {
    due.push(`${item} ${clock.now() - from}`);
    if (item === 'first') waits.add('again');
  });
  waits.add('first');
  await clock.time.until(clock.sleep(30), 1_000);
  waits.add('second');
  await clock.time.until(clock.sleep(200), 1_000);
  expect(due).toEqual(['first 100', 'second 130', 'again 200']);
});
