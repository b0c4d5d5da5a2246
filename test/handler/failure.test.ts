import { expect, it } from 'vitest';
import { checkedFrame } from '../../src/carriers/host-frames.ts';
import { bounds } from '../../src/contract/limits.ts';
import { readThrown } from '../../src/handler/failure.ts';

function nested(levels: number): unknown[] {
  let value: unknown[] = [];
  for (let level = 1; level < levels; level++) value = [value];
  return value;
}

it.each([-1, 0, 1])(
  'tells details nested as deep as the bound and %i in words that the agent takes',
  (more) => {
    const details = nested(bounds.valueDepth + more);
    const { failure } = readThrown(Object.assign(new Error('deep'), { details }));
    const outcome = { how: 'threw', error: failure };
    expect(checkedFrame({ t: 'end', n: 1, outcome, logBytesDropped: 0, tookUs: 0 })).toBeDefined();
    expect(Object.keys(failure.details ?? {})).toEqual([more < 0 ? 'value' : 'detailsLeftOut']);
  },
);
