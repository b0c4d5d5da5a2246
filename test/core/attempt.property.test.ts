import fc from 'fast-check';
import { describe, it } from 'vitest';
import { runs } from '../property.ts';
import { type Kind, kinds } from './attempt-words.ts';
import { AttemptWorld } from './attempt-world.ts';

/**
 * Random histories of one attempt: at most one terminal report (and one that follows a refusal), none after
 * STALE_ATTEMPT, on disk before it is sent, one slot freed once when the handler has gone, stopped once, the
 * gate open only by an accepted answer, nothing released once begun, renewed exactly while it should be, and
 * from everywhere a way to the end.
 */
const choices = (maxLength: number) =>
  fc.array(fc.nat(997), { maxLength, size: 'max' }).map((list) => list.map((n) => n * 7 + 1));

describe.each(Object.keys(kinds) as Kind[])('%s', (kind) => {
  it('keeps its promises whatever happens', () => {
    fc.assert(
      fc.property(fc.boolean(), choices(24), (cancelled, list) => {
        const world = new AttemptWorld(kind, cancelled);
        for (const n of list) {
          const names = world.possible();
          world.feed(names[n % names.length] ?? 'stale');
        }
        world.finish();
      }),
      { numRuns: runs(1_500) },
    );
  });

  it('keeps them when mostly the good things happen', () => {
    const good =
      /granted|accepted|begun|requested|returned|written|no answer|lease expired|answered/;
    fc.assert(
      fc.property(choices(30), fc.nat(29), (list, badAt) => {
        const world = new AttemptWorld(kind, false);
        for (const [i, n] of list.entries()) {
          const all = world.possible();
          const names = i === badAt ? all : all.filter((name) => good.test(name));
          world.feed(names[n % names.length] ?? 'lease ran out');
        }
        world.finish();
      }),
      { numRuns: runs(1_500) },
    );
  });
});
