import { type FaultName, type FaultRates, faultNames } from './faults.ts';
import { type Outcome, type SimulationOptions, simulate } from './simulation.ts';

/**
 * Makes a failing run smaller while the same checker still fails: faults that are not needed are turned off, then tasks
 * and steps are taken away. What is left tells what matters.
 */
export async function shrink(
  failed: Outcome,
  tries = 80,
  play: typeof simulate = simulate,
): Promise<Outcome> {
  const names = new Set(failed.violations.map(({ checker }) => checker));
  let best = failed;
  let left = tries;
  const better = async (options: SimulationOptions): Promise<boolean> => {
    if (left-- <= 0) return false;
    const outcome = await play(options);
    if (!outcome.violations.some(({ checker }) => names.has(checker))) return false;
    best = outcome;
    return true;
  };

  let rates: FaultRates = failed.rates;
  for (const name of on(rates)) {
    const without = { ...rates, [name]: 0 };
    if (await better({ ...best.options, rates: without })) rates = without;
  }
  for (let tasks = 1; tasks < best.tasks; tasks *= 2)
    if (await better({ ...best.options, rates, tasks })) break;
  for (const share of [0.1, 0.25, 0.5, 0.75]) {
    const steps = Math.round(failed.faultSteps * share);
    if (steps < best.faultSteps && (await better({ ...best.options, rates, steps }))) break;
  }
  return best;
}

function on(rates: FaultRates): FaultName[] {
  return faultNames.filter((name) => rates[name] > 0);
}
