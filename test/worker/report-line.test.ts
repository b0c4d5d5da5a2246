import { expect, it } from 'vitest';
import { SimulatedClock } from '../../sim/clock.ts';
import { SimulatedRandom } from '../../sim/random.ts';
import { ReportLine } from '../../src/worker/report-line.ts';

const silentLine = (retryAfterMs?: number) => {
  const clock = new SimulatedClock();
  const line = new ReportLine(clock, new SimulatedRandom(1));
  for (let i = 0; i < 6; i++) line.unanswered(retryAfterMs);
  expect(line.openAt).toBeGreaterThan(clock.now());
  return { line, clock };
};

it('opens at once when another call is answered, once for each silence', () => {
  const { line, clock } = silentLine();
  expect(line.tryNow()).toBe(true);
  expect(line.openAt).toBeLessThan(clock.now());
  line.unanswered(undefined);
  expect(line.tryNow()).toBe(false);
  expect(line.openAt).toBeGreaterThan(clock.now());
  line.answered();
  line.unanswered(undefined);
  expect(line.tryNow()).toBe(true);
});

it('keeps a pause that was asked for, whatever else is answered', () => {
  const { line, clock } = silentLine(20_000);
  expect(line.tryNow()).toBe(false);
  expect(line.openAt).toBeGreaterThan(clock.now());
});

it('has nothing to open while reports are answered', () => {
  const line = new ReportLine(new SimulatedClock(), new SimulatedRandom(1));
  expect(line.tryNow()).toBe(false);
});
