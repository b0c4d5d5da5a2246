import canonicalizeJson from 'canonicalize';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonical } from '../../src/contract/canonical.ts';
import { runs } from '../property.ts';

/** Samples of RFC 8785: sections 3.2.2 and 3.2.3, and the numbers of its appendix B. */
describe('the canonical text of RFC 8785', () => {
  it('writes numbers, texts and words in one way only', () => {
    const value = JSON.parse(
      '{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001], "string": "\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/", "literals": [null, true, false]}',
    );
    expect(canonical(value)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  it('sorts names by their UTF-16 code units', () => {
    const value = { '\u20ac': 1, '\r': 2, '\ufb33': 3, '1': 4, '\u{1f600}': 5, '\u0080': 6, ö: 7 };
    expect(canonical(value)).toBe(
      '{"\\r":2,"1":4,"\u0080":6,"ö":7,"\u20ac":1,"\u{1f600}":5,"\ufb33":3}',
    );
  });

  it.each([
    ['0000000000000000', '0'],
    ['8000000000000000', '0'],
    ['0000000000000001', '5e-324'],
    ['8000000000000001', '-5e-324'],
    ['7fefffffffffffff', '1.7976931348623157e+308'],
    ['ffefffffffffffff', '-1.7976931348623157e+308'],
    ['4340000000000000', '9007199254740992'],
    ['c340000000000000', '-9007199254740992'],
    ['4430000000000000', '295147905179352830000'],
    ['44b52d02c7e14af5', '9.999999999999997e+22'],
    ['44b52d02c7e14af6', '1e+23'],
    ['44b52d02c7e14af7', '1.0000000000000001e+23'],
    ['444b1ae4d6e2ef4e', '999999999999999700000'],
    ['444b1ae4d6e2ef4f', '999999999999999900000'],
    ['444b1ae4d6e2ef50', '1e+21'],
    ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
    ['3eb0c6f7a0b5ed8d', '0.000001'],
    ['41b3de4355555553', '333333333.3333332'],
    ['41b3de4355555554', '333333333.33333325'],
    ['41b3de4355555555', '333333333.3333333'],
    ['41b3de4355555556', '333333333.3333334'],
    ['41b3de4355555557', '333333333.33333343'],
    ['becbf647612f3696', '-0.0000033333333333333333'],
    ['43143ff3c1cb0959', '1424953923781206.2'],
  ])('writes the double %s as %s', (hex, text) => {
    expect(canonical(Buffer.from(hex, 'hex').readDoubleBE())).toBe(text);
  });

  it('does not depend on the order of names and means the same', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const plain = JSON.parse(JSON.stringify(value));
        expect(JSON.parse(canonical(plain))).toEqual(plain);
        expect(canonical(backwards(plain))).toBe(canonical(plain));
      }),
      { numRuns: runs(300) },
    );
  });

  it('is what the library writes', () => {
    const theirs = canonicalizeJson as unknown as (value: unknown) => string;
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
        const plain = JSON.parse(JSON.stringify(value));
        expect(canonical(plain)).toBe(theirs(plain));
      }),
      { numRuns: runs(300) },
    );
  });

  it('keeps a name such as __proto__', () => {
    expect(canonical(JSON.parse('{"__proto__": 1, "a": 2}'))).toBe('{"__proto__":1,"a":2}');
  });

  it('throws for what is no JSON', () => {
    expect(() => canonical(undefined)).toThrow(TypeError);
    expect(() => canonical(Number.NaN)).toThrow();
  });
});

function backwards(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(backwards);
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).map(([name, item]) => [name, backwards(item)]);
  return Object.fromEntries(entries.reverse());
}
