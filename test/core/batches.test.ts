import { describe, expect, it } from 'vitest';
import { afterRefusedBatch, batches } from '../../src/core/batches.ts';

const size = (text: string) => text.length;

describe('batches', () => {
  it('hold as many items as a call takes, in order', () => {
    const limits = { batch: 2, batchBytes: 1_000 };
    expect(batches(['a', 'b', 'c'], size, limits)).toEqual([['a', 'b'], ['c']]);
    expect(batches([], size, limits)).toEqual([]);
  });

  it('stay below the bytes of a call, with what stands around the items', () => {
    const limits = { batch: 100, batchBytes: 264 };
    const hundred = 'x'.repeat(99);
    expect(batches([hundred, hundred, hundred], size, limits)).toEqual([
      [hundred, hundred],
      [hundred],
    ]);
  });

  it('leave an item that is too large by itself', () => {
    const large = 'x'.repeat(500);
    expect(batches(['a', large, 'b'], size, { batch: 100, batchBytes: 100 })).toEqual([
      ['a'],
      [large],
      ['b'],
    ]);
  });
});

describe('a batch that was refused whole', () => {
  it('goes again in halves, one item as a single call, none not at all', () => {
    expect(afterRefusedBatch([1, 2, 3])).toEqual({ send: 'halves', halves: [[1, 2], [3]] });
    expect(afterRefusedBatch([1])).toEqual({ send: 'single', item: 1 });
    expect(afterRefusedBatch([])).toEqual({ send: 'nothing' });
  });

  it('comes to single calls of every item', () => {
    const singles: number[] = [];
    const send = (items: readonly number[]): void => {
      const next = afterRefusedBatch(items);
      if (next.send === 'single') singles.push(next.item);
      if (next.send === 'halves') next.halves.forEach(send);
    };
    send([0, 1, 2, 3, 4, 5, 6]);
    expect(singles).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });
});
