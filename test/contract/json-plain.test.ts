import { describe, expect, it } from 'vitest';
import { parseJson } from '../../src/contract/json.ts';
import { plainJson } from '../../src/contract/json-plain.ts';

describe('plainJson', () => {
  it('takes what programs write, whatever is in it', () => {
    const values = [
      { type: 'demo/hello', schemaVersion: 1, input: { i: 1, ä: '😀 "quoted"\n', __proto__x: [] } },
      [1.5, -3, 1e21, 999_999_999_999_999, true, null, '', {}, [[]], '123456789012345678901'],
      JSON.parse('{"__proto__":{"a":1}}'),
    ];
    for (const value of values) {
      const text = JSON.stringify(value);
      expect(plainJson(text, 512)).toEqual({ value });
      expect(Object.keys(plainJson(text, 512)?.value as object)).toEqual(Object.keys(value));
    }
  });

  it.each([
    ['blanks', '[1, 2]'],
    ['a name that is there twice', '{"a":1,"a":1}'],
    ['a zero below zero', '[-0]'],
    ['a number beyond a double', '[1e400]'],
    ['a number written in another way', '[1.0]'],
    ['an integer that may be beyond 2^53', '[9007199254740994]'],
    ['an escape that may hide half a character', '["\\ud800"]'],
    ['half a character', '["\ud800"]'],
    ['a string that does not end', '["a'],
    ['an escape at the end', '["\\'],
    ['nothing', ''],
    ['what is no JSON', '[1,]'],
  ])('leaves %s to the scanner', (_, text) => {
    expect(plainJson(text, 512)).toBeUndefined();
  });

  it('knows where nesting ends, as the scanner does', () => {
    const nested = (levels: number, inner: string) =>
      '['.repeat(levels) + inner + ']'.repeat(levels);
    for (const inner of ['', '1', '{"a":1}'])
      for (let levels = 1; levels < 7; levels++) {
        const plain = plainJson(nested(levels, inner), 4);
        if (plain !== undefined) expect(parseJson(` ${nested(levels, inner)}`, 4).ok).toBe(true);
        expect(plain === undefined).toBe(levels + (inner.startsWith('{') ? 1 : 0) > 4);
      }
    expect(plainJson('"["', 0)).toEqual({ value: '[' });
  });
});
