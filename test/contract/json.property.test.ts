import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { copyPlain, parseJson, toJson } from '../../src/contract/json.ts';
import { bounds } from '../../src/contract/limits.ts';
import { runs } from '../property.ts';

/**
 * What the contract takes out of JSON, found by another way than the parser's: the tokens of a text that
 * JSON.parse has already taken.
 */
function hasListedFault(text: string): boolean {
  let names = 0;
  let depth = 0;
  let deepest = 0;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"(?:\s*:)?|[[{]|[\]}]|-?\d[\d.eE+-]*/gs)) {
    if (token.startsWith('"')) {
      const isName = token.endsWith(':');
      if (isName) names++;
      const value = JSON.parse(isName ? token.replace(/\s*:$/, '') : token) as string;
      if (/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(value))
        return true;
    } else if (/[[{]/.test(token)) deepest = Math.max(deepest, ++depth);
    else if (/[\]}]/.test(token)) depth--;
    else if (isBadNumber(token)) return true;
  }
  return deepest > bounds.jsonDepth || names > countKeys(JSON.parse(text));
}

function isBadNumber(token: string): boolean {
  const value = Number(token);
  if (!Number.isFinite(value) || Object.is(value, -0)) return true;
  if (value === 0) return /[1-9]/.test(token.split(/e/i)[0] ?? '');
  const exact = exactInteger(token);
  if (exact === undefined || abs(exact) <= BigInt(Number.MAX_SAFE_INTEGER)) return false;
  // Written as digits it is refused anyway; with a fraction or an exponent if another integer would come back.
  return /^-?\d+$/.test(token) || exactInteger(String(value)) !== exact;
}

/** The integer that a number is, exactly; `undefined` if it is none. */
function exactInteger(token: string): bigint | undefined {
  const [mantissa = '', power = '0'] = token.split(/e/i);
  const [whole = '', fraction = ''] = mantissa.split('.');
  const digits = BigInt(whole + fraction);
  const shift = Number(power) - fraction.length;
  if (shift >= 0) return digits * 10n ** BigInt(shift);
  const unit = 10n ** BigInt(-shift);
  return digits % unit === 0n ? digits / unit : undefined;
}

const abs = (n: bigint) => (n < 0n ? -n : n);

function countKeys(value: unknown): number {
  if (value === null || typeof value !== 'object') return 0;
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce((sum: number, item) => sum + countKeys(item), own);
}

function agreesWithJsonParse(text: string): void {
  let value: unknown;
  let isJson = true;
  try {
    value = JSON.parse(text);
  } catch {
    isJson = false;
  }
  const parsed = parseJson(text);
  expect(parsed.ok, text).toBe(isJson && !hasListedFault(text));
  if (parsed.ok) expect(parsed.value).toEqual(value);
}

const oddNumber = fc.oneof(
  fc.constantFrom('-0', '1e400', '-1E+400', '1e-400', '0e0', '-0.00', '1.10', '9007199254740993'),
  fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }).map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc
    .tuple(fc.bigInt({ min: 0n, max: 10n ** 18n }), fc.integer({ min: -4, max: 20 }))
    .map(([n, e]) => `${n}e${e}`),
  fc
    .tuple(fc.bigInt({ min: 0n, max: 10n ** 17n }), fc.constantFrom('0', '00', '5'))
    .map(([n, f]) => `${n}.${f}`),
);
const oddString = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 5 }).map((s) => JSON.stringify(s)),
  fc.constantFrom('"a"', '"b"', '"\\u0061"', '"\\ud800"', '"\\udc00"', '"\\ud83d\\ude00"', '"\\/"'),
  fc.constantFrom('"__proto__"', '"\\u0000"', '"\\x"', '"\u007f"', '"\\""'),
);
const space = fc.constantFrom('', '', ' ', '\n', '\t\r');

/** Texts near JSON, with every listed fault in it from time to time. */
const { text: nearJson } = fc.letrec<{ text: string }>((tie) => ({
  text: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.oneof(oddNumber, oddString, fc.constantFrom('true', 'false', 'null', 'nul', '')),
    fc
      .tuple(space, fc.array(tie('text'), { maxLength: 3 }))
      .map(([s, items]) => `[${s}${items.join(`${s},`)}${s}]`),
    fc
      .tuple(space, fc.array(fc.tuple(oddString, tie('text')), { maxLength: 3 }))
      .map(([s, items]) => `{${items.map(([k, v]) => `${s}${k}${s}:${v}`).join(',')}${s}}`),
  ),
}));

describe('parseJson', () => {
  it('takes exactly what JSON.parse takes, but for the listed faults', () => {
    fc.assert(fc.property(nearJson, agreesWithJsonParse), { numRuns: runs(1_500) });
  });

  it('agrees with JSON.parse on valid JSON with one place changed', () => {
    const change = fc.record({
      text: fc.json({ maxDepth: 3 }),
      at: fc.nat(),
      with: fc.constantFrom(
        '',
        '"',
        '\\',
        '{',
        '}',
        '[',
        ']',
        ',',
        ':',
        '-',
        '.',
        'e',
        '0',
        '9',
        ' ',
        '\n',
        'u',
        '\ud800',
        't',
      ),
    });
    fc.assert(
      fc.property(change, ({ text, at, with: put }) => {
        const i = at % (text.length + 1);
        agreesWithJsonParse(text.slice(0, i) + put + text.slice(i + (at % 2)));
      }),
      { numRuns: runs(1_500) },
    );
  });
});

describe('toJson', () => {
  it('makes what JSON.stringify makes, and a text that every reader takes', () => {
    const anything = fc.anything({
      withDate: true,
      withNullPrototype: true,
      withObjectString: false,
      maxDepth: 3,
    });
    fc.assert(
      fc.property(anything, (value) => {
        const made = toJson(value);
        if (!made.ok) return;
        const text = JSON.stringify(made.value);
        expect(parseJson(text)).toEqual({ ok: true, value: made.value });
        // Apart from what is mended: lone surrogates and -0, which JSON.stringify writes as 0.
        const plain = JSON.stringify(value) ?? 'null';
        if (!/\\ud[89a-f]/.test(plain)) expect(text).toBe(plain);
      }),
      { numRuns: runs(1_500) },
    );
  });

  it('makes what a plain copy is, where there is one', () => {
    const anything = fc.anything({ withDate: true, withMap: true, withNullPrototype: true });
    fc.assert(
      fc.property(fc.oneof(anything, fc.jsonValue()), (value) => {
        const copy = copyPlain(value);
        if (copy !== undefined) expect(toJson(value)).toEqual({ ok: true, value: copy });
      }),
      { numRuns: runs(1_500) },
    );
    const usual = { a: [1, 'x', null, { b: true, none: undefined }], c: -0.5 };
    expect(copyPlain(usual)).toEqual({ a: [1, 'x', null, { b: true }], c: -0.5 });
    const shared = copyPlain(usual) as typeof usual;
    usual.a.push(2);
    expect(shared.a).toHaveLength(4);
    const odd = [
      Number.NaN,
      2 ** 53,
      '\ud800',
      new Date(),
      new Map(),
      [undefined],
      1n,
      { '\ud800': 1 },
    ];
    for (const one of odd) expect(copyPlain(one)).toBeUndefined();
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    expect(copyPlain(cycle)).toBeUndefined();
    expect(copyPlain(JSON.parse('{"__proto__": 1}'))).toBeUndefined();
  });
});
