import { describe, expect, it } from 'vitest';
import { fieldsOf, inputOf } from '../../src/core/input-fields.ts';

const schema = {
  type: 'object',
  required: ['name', 'size'],
  properties: {
    name: { type: 'string', title: 'Your name', description: 'As it is called', minLength: 2 },
    size: { enum: ['small', 'large', 3], default: 'small' },
    loud: { type: 'boolean', default: false },
    times: { type: 'integer', minimum: 1, maximum: 9, default: 1 },
    ratio: { type: 'number' },
    note: { type: 'string', maxLength: 4_000 },
    colour: { oneOf: [{ const: 'r', title: 'red' }, { const: 'g' }] },
    list: { type: 'array', items: { type: 'string' }, default: [] },
    maybe: { anyOf: [{ type: 'string' }, { type: 'null' }] },
  },
};

describe('fields of a schema', () => {
  it('are one for each property, with what a form shows', () => {
    expect(fieldsOf(schema)).toEqual([
      {
        name: 'name',
        kind: 'text',
        title: 'Your name',
        description: 'As it is called',
        required: true,
        preset: '',
        minChars: 2,
      },
      {
        name: 'size',
        kind: 'choice',
        title: 'size',
        required: true,
        preset: '"small"',
        choices: [
          { value: '"small"', words: 'small' },
          { value: '"large"', words: 'large' },
          { value: '3', words: '3' },
        ],
      },
      {
        name: 'loud',
        kind: 'choice',
        title: 'loud',
        required: false,
        preset: 'false',
        choices: [
          { value: 'true', words: 'yes' },
          { value: 'false', words: 'no' },
        ],
      },
      {
        name: 'times',
        kind: 'integer',
        title: 'times',
        required: false,
        preset: '1',
        min: 1,
        max: 9,
      },
      { name: 'ratio', kind: 'number', title: 'ratio', required: false, preset: '' },
      {
        name: 'note',
        kind: 'long-text',
        title: 'note',
        required: false,
        preset: '',
        maxChars: 4_000,
      },
      {
        name: 'colour',
        kind: 'choice',
        title: 'colour',
        required: false,
        preset: '',
        choices: [
          { value: '"r"', words: 'red' },
          { value: '"g"', words: 'g' },
        ],
      },
      { name: 'list', kind: 'json', title: 'list', required: false, preset: '[]' },
      { name: 'maybe', kind: 'json', title: 'maybe', required: false, preset: '' },
    ]);
  });

  it.each([
    undefined,
    null,
    true,
    [],
    'x',
    {},
    { type: 'array', items: {} },
    { type: 'object' },
    { type: 'object', properties: {} },
    { type: 'object', properties: [] },
    { properties: Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`p${i}`, {}])) },
  ])('are none of what is no flat object: %j', (value) => {
    expect(fieldsOf(value)).toBeUndefined();
  });

  it('take nothing in a schema for granted', () => {
    const odd = {
      required: 'name',
      properties: {
        a: null,
        b: { type: 'string', title: 7, description: {}, minLength: -1, maxLength: 'x', default: 5 },
        c: { type: 'integer', minimum: '1', maximum: Number.NaN, default: 'many' },
        d: { enum: [] },
        e: { oneOf: [{ const: 1 }, { type: 'string' }] },
        ['__proto__']: { type: 'string' },
      },
    };
    expect(
      fieldsOf(odd)?.map(({ name, kind, title, preset }) => [name, kind, title, preset]),
    ).toEqual([
      ['a', 'json', 'a', ''],
      ['b', 'text', 'b', ''],
      ['c', 'integer', 'c', ''],
      ['d', 'json', 'd', ''],
      ['e', 'json', 'e', ''],
      ['__proto__', 'text', '__proto__', ''],
    ]);
  });
});

describe('an input that was typed', () => {
  const fields = fieldsOf(schema) ?? [];
  const made = (typed: Record<string, string>) => inputOf(fields, (name) => typed[name] ?? '');

  it('holds what was typed as what it is, and not what was left empty', () => {
    expect(
      made({
        name: ' Ada ',
        size: '3',
        loud: 'true',
        times: ' 2 ',
        ratio: '1e-3',
        note: 'one\r\ntwo',
        list: '["a"]',
        maybe: 'null',
      }),
    ).toEqual({
      ok: true,
      input: {
        name: ' Ada ',
        size: 3,
        loud: true,
        times: 2,
        ratio: 0.001,
        note: 'one\ntwo',
        list: ['a'],
        maybe: null,
      },
    });
  });

  it('is refused by field, in words', () => {
    expect(
      made({ size: '"huge"', times: '10', ratio: '1,5', list: '[', loud: 'yes', maybe: '-0' }),
    ).toEqual({
      ok: false,
      issues: [
        { name: 'name', message: 'is needed' },
        { name: 'size', message: 'is none of the choices' },
        { name: 'loud', message: 'is none of the choices' },
        { name: 'times', message: 'must be at most 9' },
        { name: 'ratio', message: 'must be a number, such as 12 or 0.5' },
        { name: 'list', message: expect.stringContaining('is no JSON that can be sent') },
        { name: 'maybe', message: expect.stringContaining('is -0') },
      ],
    });
    expect(made({ name: 'A', size: '3', times: '1.5', ratio: '9007199254740993' })).toEqual({
      ok: false,
      issues: [
        { name: 'name', message: 'has 1 characters; it needs at least 2' },
        { name: 'times', message: 'must be a whole number' },
        { name: 'ratio', message: 'is too large: beyond 9007199254740991 digits would be lost' },
      ],
    });
  });

  it('keeps a property of any name its own', () => {
    const [field] = fieldsOf(JSON.parse('{"properties":{"__proto__":{"type":"string"}}}')) ?? [];
    const read = inputOf(field ? [field] : [], () => 'x');
    expect(read.ok && JSON.stringify(read.input)).toBe('{"__proto__":"x"}');
  });
});
