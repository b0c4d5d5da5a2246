import { setTimeout as wait } from 'node:timers/promises';
import { SimulatedClock } from '../../sim/clock.ts';
import { systemClock } from '../../src/system/clock.ts';
import { clockCases } from './clock.cases.ts';

clockCases('system', () => ({
  clock: systemClock(),
  pass: async (ms) => {
    await wait(ms);
  },
}));

clockCases('simulated', () => {
  const clock = new SimulatedClock();
  return { clock, pass: (ms) => clock.advance(ms) };
});

clockCases('simulated, twice as fast as its world', () => {
  const clock = new SimulatedClock({ rate: 2 });
  return { clock, pass: (ms) => clock.advance(ms / 2) };
});
