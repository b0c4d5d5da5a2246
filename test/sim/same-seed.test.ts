import { describe, expect, it } from 'vitest';
import { simulate } from '../../sim/simulation.ts';
import { worlds } from '../../sim/worlds/index.ts';

/** Short ones: the many seeds are CI's (`npm run sim -- --runs …`). */
const STEPS = 300;
const TASKS = 6;

describe('a seed', () => {
  it.each(['memory', 'sqlite'] as const)('gives the same run twice (%s)', async (store) => {
    const options = { world: 'garage', seed: 11, store, steps: STEPS };
    const [first, second] = [await simulate(options), await simulate(options)];
    expect(first.digest).toBe(second.digest);
    expect(first.story).toEqual(second.story);
    expect(Object.keys(first.struck).length).toBeGreaterThan(0);
  });

  it('is another run than the next one', async () => {
    const options = { world: 'effects', steps: STEPS };
    const first = await simulate({ ...options, seed: 1 });
    const second = await simulate({ ...options, seed: 2 });
    expect(first.digest).not.toBe(second.digest);
  });
});

describe.each(worlds.map(({ name }) => name))('the world %s', (world) => {
  it.each([
    { store: 'memory', seed: 3 },
    { store: 'sqlite', seed: 4 },
  ] as const)('keeps every rule on $store', async ({ store, seed }) => {
    const { violations, tasks } = await simulate({
      world,
      seed,
      store,
      steps: STEPS,
      tasks: TASKS,
    });
    expect(violations).toEqual([]);
    expect(tasks).toBeGreaterThan(0);
  });
});
