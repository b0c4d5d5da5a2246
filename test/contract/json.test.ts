import { describe, expect, it } from 'vitest';
import { parseJson, toJson } from '../../src/contract/json.ts';
import { bounds } from '../../src/contract/limits.ts';

/** Faults that would be silently altered by one reader or another (field fault F47). */
const refused: [what: string, text: string, path: string, words: RegExp][] = [
  ['an integer beyond 2^53', '{"id": 9007199254740993}', 'id', /beyond 2\^53.*string/],
  ['an integer at 2^53', '9007199254740992', '', /beyond 2\^53/],
  ['a negative integer beyond 2^53', '[-9007199254740993]', '[0]', /beyond 2\^53/],
  ['a long integer', '123456789012345678901234567890', '', /beyond 2\^53/],
  ['an integer with a fraction of 0 that is rounded', '9007199254740993.0', '', /beyond 2\^53/],
  ['an integer with an exponent that is rounded', '9007199254740993e0', '', /beyond 2\^53/],
  ['an integer hidden in a power', '90071992547409930e-1', '', /beyond 2\^53/],
  ['a number beyond the range', '{"a": {"b": [1, 1e400]}}', 'a.b[1]', /no double can hold/],
  ['a negative number beyond the range', '-1e400', '', /no double can hold/],
  ['a number below the range', '1e-400', '', /too small/],
  ['a negative number below the range', '-1e-400', '', /too small/],
  ['-0', '{"zero": -0}', 'zero', /-0.*send 0/],
  ['-0.0', '-0.0', '', /-0/],
  ['-0e9', '-0e9', '', /-0/],
  ['a name twice', '{"a": 1, "b": 2, "a": 1}', 'a', /twice/],
  ['a name twice, once escaped', '{"a": 1, "\\u0061": 1}', 'a', /twice/],
  ['a name twice deep inside', '{"x": [{"y": 1, "y": 1}]}', 'x[0].y', /twice/],
  ['__proto__ twice', '{"__proto__": 1, "__proto__": 2}', '__proto__', /twice/],
  ['a lone high surrogate', '{"s": "a\\ud800b"}', 's', /lone surrogate/],
  ['a lone low surrogate', '["\\udc00"]', '[0]', /lone surrogate/],
  ['surrogates the wrong way round', '"\\udc00\\ud800"', '', /lone surrogate/],
  ['a lone surrogate in a name', '{"\\ud800": 1}', '', /lone surrogate/],
  ['a raw lone surrogate', '"\ud800"', '', /lone surrogate/],
];

describe('JSON that would be silently altered', () => {
  it.each(refused)('refuses %s with its path', (_, text, path, words) => {
    const parsed = parseJson(text);
    expect(parsed.ok).toBe(false);
    if (parsed.ok) return;
    expect(parsed.issues).toHaveLength(1);
    expect(parsed.issues[0]?.path).toBe(path);
    expect(parsed.issues[0]?.message).toMatch(words);
  });

  it.each([
    ['1.10', 1.1],
    ['1.10000', 1.1],
    ['1e23', 1e23],
    ['6.02214076e23', 6.02214076e23],
    ['1.7976931348623157e308', Number.MAX_VALUE],
    ['5e-324', 5e-324],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
    ['-9007199254740991', Number.MIN_SAFE_INTEGER],
    ['9007199254740991.0', Number.MAX_SAFE_INTEGER],
    ['10e1', 100],
    ['0', 0],
    ['0.0', 0],
    ['0e5', 0],
    ['"\\u0000"', '\u0000'],
    ['"\\ud83d\\ude00"', '😀'],
    ['"😀"', '😀'],
    ['"\u2028"', '\u2028'],
    ['{"__proto__": {"a": 1}}', JSON.parse('{"__proto__": {"a": 1}}')],
    ['{"a": {"a": {"a": 1}}}', { a: { a: { a: 1 } } }],
    [' \t\r\n[ ] ', []],
  ])('takes %s as it is', (text, value) => {
    expect(parseJson(text)).toEqual({ ok: true, value });
  });
});

describe('text that is no JSON', () => {
  it.each([
    ['', 'is empty'],
    ['   ', 'is empty'],
    ['{', 'line 1, column 2'],
    ['{"a": 1,}', 'line 1, column 9'],
    ['[1,\n 2,\n x]', 'line 3, column 2'],
    ['[1 2]', '"," or "]"'],
    ['{"a" 1}', '":" is expected'],
    ["{'a': 1}", 'double quotes'],
    ['{"a": 1} x', 'more text'],
    ['"abc', 'does not end'],
    ['"abc\\', 'does not end'],
    ['"\\x"', 'unknown escape'],
    ['"\\u12"', 'unknown escape'],
    ['"a\nb"', 'control character'],
    ['01', 'more text'],
    ['1.', 'more text'],
    ['.5', 'a JSON value is expected'],
    ['+1', 'a JSON value is expected'],
    ['NaN', 'a JSON value is expected'],
    ['nul', 'null is expected'],
    ['\ufeff{}', 'a JSON value is expected'],
    ['<html>', 'a JSON value is expected'],
  ])('says what is wrong with %j and where', (text, words) => {
    const parsed = parseJson(text);
    expect(parsed.ok).toBe(false);
    if (!parsed.ok) expect(parsed.issues[0]?.message).toContain(words);
  });

  it('refuses endless nesting before it costs stack', () => {
    const parsed = parseJson('['.repeat(100_000));
    expect(parsed.ok).toBe(false);
    if (!parsed.ok) expect(parsed.issues[0]?.message).toContain(`${bounds.jsonDepth} levels`);
  });

  it('takes a value of the greatest depth inside every answer that holds it', () => {
    const value = `${'['.repeat(bounds.valueDepth)}1${']'.repeat(bounds.valueDepth)}`;
    expect(parseJson(`{"attempts": [{"input": ${value}}]}`).ok).toBe(true);
    expect(parseJson(`{"results": [{"body": {"result": ${value}}}]}`).ok).toBe(true);
  });
});

describe('what JSON makes of a value', () => {
  class Money {
    readonly cents: number;
    constructor(cents: number) {
      this.cents = cents;
    }
    toJSON() {
      return { cents: this.cents, at: [undefined] };
    }
  }
  const shared = { a: 1 };

  it.each<[what: string, value: unknown, made: unknown]>([
    ['undefined', undefined, null],
    ['undefined in an array', [1, undefined, 3], [1, null, 3]],
    ['holes of an array', new Array(2), [null, null]],
    ['undefined in an object', { a: undefined, b: 1 }, { b: 1 }],
    ['a date', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['an invalid date', new Date(Number.NaN), null],
    ['toJSON', new Money(5), { cents: 5, at: [null] }],
    ['-0', -0, 0],
    ['boxed values', [Object(1), Object('x'), Object(true)], [1, 'x', true]],
    ['a lone surrogate', { s: 'a\ud800b' }, { s: 'a\ufffdb' }],
    ['a lone surrogate in a name', { 'a\ud800': 1 }, { 'a\ufffd': 1 }],
    ['\\u0000', 'a\u0000b', 'a\u0000b'],
    ['the same object twice', [shared, shared], [{ a: 1 }, { a: 1 }]],
    ['an object without a prototype', Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
    ['a buffer', Buffer.from('a'), { type: 'Buffer', data: [97] }],
    ['1.1', 1.1, 1.1],
    ['a great number', 1e300, 1e300],
    ['the greatest safe integer', Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  ])('takes %s', (_, value, made) => {
    const json = toJson(value);
    expect(json).toEqual({ ok: true, value: made });
    if (json.ok) expect(parseJson(JSON.stringify(json.value))).toEqual({ ok: true, value: made });
  });

  it('keeps a name such as __proto__ as data', () => {
    const json = toJson(JSON.parse('{"__proto__": {"admin": true}}'));
    expect(json.ok && JSON.stringify(json.value)).toBe('{"__proto__":{"admin":true}}');
    expect(json.ok && (json.value as { admin?: boolean }).admin).toBeUndefined();
  });

  const cycle: Record<string, unknown> = {};
  cycle.self = [cycle];

  it.each<[what: string, value: unknown, path: string, words: RegExp]>([
    ['NaN', { a: Number.NaN }, 'a', /NaN/],
    ['an infinity', [Number.POSITIVE_INFINITY], '[0]', /Infinity/],
    ['an integer beyond 2^53', { id: 2 ** 53 }, 'id', /beyond 2\^53/],
    ['a BigInt', { n: [1n] }, 'n[0]', /BigInt/],
    ['a boxed BigInt', { n: Object(1n) }, 'n', /BigInt/],
    ['a function', { f: () => 1 }, 'f', /function/],
    ['a symbol', Symbol('s'), '', /symbol/],
    ['a Map', { m: new Map() }, 'm', /Map/],
    ['a Set', { m: new Set([1]) }, 'm', /Set/],
    ['a cycle', cycle, 'self[0]', /cycle/],
    ['two names that become one', { '\ud800': 1, '\ud801': 2 }, '', /two names/],
  ])('refuses %s with its path', (_, value, path, words) => {
    const json = toJson(value);
    expect(json.ok).toBe(false);
    if (json.ok) return;
    expect(json.issue.path).toBe(path);
    expect(json.issue.message).toMatch(words);
  });

  it('refuses endless nesting, and takes the greatest depth', () => {
    const nested = (depth: number) => {
      let value: unknown = 1;
      for (let i = 0; i < depth; i++) value = [value];
      return value;
    };
    expect(toJson(nested(bounds.valueDepth)).ok).toBe(true);
    expect(toJson(nested(bounds.valueDepth + 1)).ok).toBe(false);
    expect(toJson(nested(100_000)).ok).toBe(false);
  });

  it.each<[what: string, thrown: unknown]>([
    ['an error', new Error('boom')],
    ['a text', 'boom'],
    ['undefined', undefined],
    ['something without a text', Object.create(null)],
    [
      'an error whose message throws',
      Object.defineProperty(new Error(), 'message', {
        get() {
          throw new Error('again');
        },
      }),
    ],
  ])('survives a getter that throws %s', (_, thrown) => {
    const json = toJson({
      get bad() {
        throw thrown;
      },
    });
    expect(json.ok).toBe(false);
    if (!json.ok) expect(json.issue.message).toContain('could not be read');
  });
});
