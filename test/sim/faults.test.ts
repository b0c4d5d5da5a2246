import { describe, expect, it } from 'vitest';
import { drawRates, type FaultName, Faults, faultNames, noFaults } from '../../sim/faults.ts';
import { SimulatedRandom } from '../../sim/random.ts';

const all = Object.fromEntries(faultNames.map((name) => [name, 0.4])) as Record<FaultName, number>;

/** When each fault strikes, in a world that asks for all of them in turn. */
function strikes(rates: Record<FaultName, number>): Map<FaultName, boolean[]> {
  const faults = new Faults(rates, new SimulatedRandom('a world'));
  faults.begin();
  const seen = new Map<FaultName, boolean[]>(faultNames.map((name) => [name, []]));
  for (let i = 0; i < 50; i++)
    for (const name of faultNames) seen.get(name)?.push(faults.strikes(name));
  return seen;
}

describe('faults', () => {
  it.each(faultNames)('without %s the others strike when they did', (off) => {
    const before = strikes(all);
    const after = strikes({ ...all, [off]: 0 });
    for (const name of faultNames) {
      if (name === off) expect(after.get(name)).not.toContain(true);
      else expect(after.get(name)).toEqual(before.get(name));
    }
  });

  it('that come by the minute do so at the same times without the others', () => {
    const times = (rates: Record<FaultName, number>) => {
      const faults = new Faults(rates, new SimulatedRandom('a world'));
      return Array.from({ length: 10 }, () => faults.nextMs('powerCut'));
    };
    expect(times({ ...noFaults, powerCut: 0.4 })).toEqual(times(all));
    expect(times(noFaults)).toEqual(Array(10).fill(Number.POSITIVE_INFINITY));
  });

  it('are drawn with the same rates where a world permits only some of them', () => {
    const drawn = drawRates(new SimulatedRandom('rates'));
    const some = drawRates(new SimulatedRandom('rates'), ['dropAnswer', 'dies', 'lineDown']);
    for (const name of ['dropAnswer', 'dies', 'lineDown'] as const)
      expect(some[name]).toBe(drawn[name]);
    expect(some.powerCut).toBe(0);
  });

  it('strike only between begin and stop', () => {
    const faults = new Faults({ ...noFaults, slow: 1 }, new SimulatedRandom(1));
    expect(faults.strikes('slow')).toBe(false);
    faults.begin();
    expect(faults.strikes('slow')).toBe(true);
    faults.stop();
    expect(faults.strikes('slow')).toBe(false);
    expect(faults.struck.get('slow')).toBe(1);
  });
});
