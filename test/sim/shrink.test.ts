import { describe, expect, it } from 'vitest';
import { failureInWords, smallerInWords } from '../../sim/failure-words.ts';
import { type FaultRates, noFaults } from '../../sim/faults.ts';
import { shrink } from '../../sim/shrink.ts';
import type { Outcome, SimulationOptions } from '../../sim/simulation.ts';

const rates: FaultRates = { ...noFaults, slow: 0.1, dropAnswer: 0.05, dies: 0.2 };

/** A world that breaks a rule only where answers are dropped, with three tasks or more, after 100 steps. */
function played(options: SimulationOptions): Outcome {
  const drawn = { ...rates, ...options.rates };
  const tasks = Math.min(options.tasks ?? 8, 8);
  const faultSteps = Math.min(options.steps ?? 1_000, 1_000);
  const breaks = drawn.dropAnswer > 0 && tasks >= 3 && faultSteps >= 100;
  return {
    options,
    violations: breaks ? [{ checker: 'effect-once', text: 'twice' }] : [],
    rates: drawn,
    struck: {},
    faultSteps,
    steps: faultSteps + 10,
    simulatedMs: 1,
    tasks,
    attempts: tasks,
    digest: '1-a',
    story: [],
    log: [],
  };
}

const failed = played({ world: 'effects', seed: 7, store: 'sqlite' });

describe('a run that failed', () => {
  it('is told with its rule, its seed, the command to repeat it, and the rates', () => {
    const told = failureInWords(failed).join('\n');
    expect(told).toContain('effects, seed 7, store sqlite');
    expect(told).toContain('a non-idempotent effect begins at most once');
    expect(told).toContain('npm run sim -- --world effects --seed 7 --store sqlite --story');
    expect(told).toContain('rates: slow 0.1, dropAnswer 0.05, dies 0.2');
  });

  it('is shrunk to the faults, tasks and steps that it needs', async () => {
    const small = await shrink(failed, 80, async (options) => played(options));
    expect(small.violations).toHaveLength(1);
    expect(small.rates).toEqual({ ...noFaults, dropAnswer: 0.05 });
    expect(small).toMatchObject({ tasks: 4, faultSteps: 100 });
    expect(smallerInWords(small).join('\n')).toContain(
      '--world effects --seed 7 --store sqlite --steps 100 --tasks 4 --faults dropAnswer=0.05 --story',
    );
  });

  it('stays as it is where nothing smaller breaks the same rule', async () => {
    const other = async (options: SimulationOptions) => ({
      ...played(options),
      violations: [{ checker: 'settles', text: 'another one' }],
    });
    expect(await shrink(failed, 80, other)).toBe(failed);
  });

  it('is shrunk with no more tries than permitted', async () => {
    let tries = 0;
    await shrink(failed, 5, async (options) => {
      tries++;
      return played(options);
    });
    expect(tries).toBe(5);
  });
});
