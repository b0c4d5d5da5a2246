import { expect, it } from 'vitest';
import { aheadInHostDefaults } from '../../src/core/defaults.ts';
import { CallQueue } from '../../src/handler/call-queue.ts';

function queue() {
  const told: string[] = [];
  let now = 0;
  let end: (goesOn: boolean) => void = () => {};
  let turned: () => void = () => {};
  const one = new CallQueue<string>({
    begin: (n, job, over) => {
      told.push(`begin ${n} ${job}`);
      end = over;
    },
    back: (ns) => told.push(`back ${ns.join(' ')}`),
    flush: (out) => {
      told.push('flush');
      out();
    },
    full: false,
    turn: (then) => {
      told.push('turn');
      turned = then;
    },
    monotonicMs: () => now,
  });
  return {
    ...{ one, told },
    end: (goesOn = true) => end(goesOn),
    turned: () => turned(),
    pass: (ms: number) => {
      now += ms;
    },
  };
}

it('begins one after the other, and sends what was said when none is left', async () => {
  const { one, told, end } = queue();
  one.add(1, 'a');
  one.add(2, 'b');
  await null;
  expect(told).toEqual(['begin 1 a']);
  end();
  expect(told).toEqual(['begin 1 a', 'begin 2 b']);
  end();
  expect(told.at(-1)).toBe('flush');
});

it('does not begin what is asked back in the same piece', async () => {
  const { one, told } = queue();
  one.add(1, 'a');
  one.add(2, 'b');
  one.recall();
  await null;
  expect(told).toEqual(['back 1 2', 'flush']);
});

it('looks at the channel before it begins another, where the last look is long ago', async () => {
  const { one, told, end, pass, turned } = queue();
  one.add(1, 'a');
  one.add(2, 'b');
  await null;
  pass(aheadInHostDefaults.lookMs + 1);
  end();
  expect(told).toEqual(['begin 1 a', 'flush', 'turn']);
  one.recall();
  turned();
  expect(told.slice(3)).toEqual(['back 2', 'flush']);
});

it('gives back the others after an end that was no plain one', async () => {
  const { one, told, end } = queue();
  for (const n of [1, 2, 3]) one.add(n, 'x');
  await null;
  end(false);
  expect(told).toEqual(['begin 1 x', 'back 2 3', 'flush']);
});

it('gives back one that waits and is to stop, and only that', async () => {
  const { one, told, end } = queue();
  for (const n of [1, 2, 3]) one.add(n, 'x');
  await null;
  expect([one.drop(1), one.drop(2)]).toEqual([false, true]);
  end();
  expect(told).toEqual(['begin 1 x', 'back 2', 'begin 3 x']);
});
