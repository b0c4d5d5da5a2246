import { describe, expect, it } from 'vitest';
import { beyondLimits, keyState } from '../../src/core/key-rules.ts';

describe('a key', () => {
  it('is usable until it expires or is revoked, which counts more', () => {
    expect(keyState(9, {})).toBe('usable');
    expect(keyState(9, { expiresAtMs: 10 })).toBe('usable');
    expect(keyState(10, { expiresAtMs: 10 })).toBe('expired');
    expect(keyState(10, { expiresAtMs: 10, revokedAtMs: 99 })).toBe('revoked');
  });

  const limits = { pools: ['a', 'b'], types: ['x/y', 'z@2'], workerIdPrefix: 'w-' };
  it.each([
    ['nothing', {}, undefined],
    ['a pool of it', { pools: [['pool', 'b']] }, undefined],
    [
      'another pool',
      {
        pools: [
          ['pools[0]', 'a'],
          ['pools[1]', 'c'],
        ],
      },
      ['pools', 'pools[1]', 'c'],
    ],
    ['any version of a type', { types: [['type', 'x/y', 7]] }, undefined],
    ['the one version of a type', { types: [['type', 'z', 2]] }, undefined],
    ['another version', { types: [['type', 'z', 1]] }, ['types', 'type', 'z@1']],
    ['a type that only begins so', { types: [['type', 'x/yy', 1]] }, ['types', 'type', 'x/yy@1']],
    ['a worker of its prefix', { workerId: ['workerId', 'w-1'] }, undefined],
    ['another worker', { workerId: ['workerId', 'v-1'] }, ['workerIdPrefix', 'workerId', 'v-1']],
  ] as const)('that is limited and asked for %s', (_, asked, expected) => {
    const beyond = beyondLimits(limits, asked);
    expect(beyond && [beyond.limit, beyond.field, beyond.given]).toEqual(expected);
    expect(beyondLimits(undefined, asked)).toBeUndefined();
    expect(beyondLimits({ requestsPerMinute: 1 }, asked)).toBeUndefined();
  });
});
