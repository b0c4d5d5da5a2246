import { parseJson } from '../contract/json.ts';

/**
 * A form from the JSON Schema of an input, and an input from what was typed into it. Pure. Schemas come from workers, so
 * nothing in them is trusted to be as it should: what is not understood becomes a field for JSON. The worker checks the
 * input against the whole schema; here only what a form can tell at once is told.
 */

export interface Field {
  /** Of the property, as it is in the schema. */
  readonly name: string;
  readonly kind: 'text' | 'long-text' | 'number' | 'integer' | 'choice' | 'json';
  readonly title: string;
  readonly description?: string;
  readonly required: boolean;
  /** What stands in it at first; '': nothing. Of a choice its JSON text. */
  readonly preset: string;
  /** Of a choice. */
  readonly choices?: readonly Choice[];
  readonly min?: number;
  readonly max?: number;
  readonly minChars?: number;
  readonly maxChars?: number;
}

export interface Choice {
  /** JSON text. */
  readonly value: string;
  readonly words: string;
}

type Schema = Readonly<Record<string, unknown>>;

/** Fields of a flat object; `undefined`: the input is typed as JSON. */
export function fieldsOf(schema: unknown): readonly Field[] | undefined {
  if (!isObject(schema) || !isObject(schema.properties)) return undefined;
  if (schema.type !== undefined && schema.type !== 'object') return undefined;
  const names = Object.keys(schema.properties);
  if (names.length === 0 || names.length > FIELDS_MAX) return undefined;
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const properties = schema.properties;
  return names.map((name) => field(name, properties[name], required.has(name)));
}

/** More are no form any more. */
const FIELDS_MAX = 100;
const CHOICES_MAX = 200;
const WORDS_CHARS = 500;
/** A line is for words, what may be longer gets room. */
const LINE_CHARS = 200;

function field(name: string, schema: unknown, required: boolean): Field {
  const has = isObject(schema) ? schema : {};
  const description = words(has.description);
  const base = {
    name,
    title: words(has.title) ?? name,
    ...(description !== undefined && { description }),
    required,
  };
  const choices = choicesOf(has);
  if (choices !== undefined) {
    const preset = has.default === undefined ? '' : JSON.stringify(has.default);
    const known = choices.some(({ value }) => value === preset);
    // A choice of one is made.
    const only = required && choices.length === 1 ? (choices[0]?.value ?? '') : '';
    return { ...base, kind: 'choice', choices, preset: known ? preset : only };
  }
  const preset = has.default;
  if (has.type === 'string') {
    const [minChars, maxChars] = [size(has.minLength), size(has.maxLength)];
    const text = typeof preset === 'string' ? preset : '';
    const long = text.includes('\n') || (maxChars !== undefined && maxChars > LINE_CHARS);
    return {
      ...base,
      kind: long ? 'long-text' : 'text',
      preset: text,
      ...(minChars !== undefined && { minChars }),
      ...(maxChars !== undefined && { maxChars }),
    };
  }
  if (has.type === 'number' || has.type === 'integer') {
    const [min, max] = [finite(has.minimum), finite(has.maximum)];
    return {
      ...base,
      kind: has.type,
      preset: finite(preset) === undefined ? '' : String(preset),
      ...(min !== undefined && { min }),
      ...(max !== undefined && { max }),
    };
  }
  return { ...base, kind: 'json', preset: preset === undefined ? '' : JSON.stringify(preset) };
}

function choicesOf(schema: Schema): readonly Choice[] | undefined {
  if (schema.type === 'boolean')
    return [true, false].map((value) => ({ value: String(value), words: value ? 'yes' : 'no' }));
  if ('const' in schema) return [choice(schema.const)];
  if (Array.isArray(schema.enum) && schema.enum.length > 0 && schema.enum.length <= CHOICES_MAX)
    return schema.enum.map((value) => choice(value));
  const named = schema.oneOf ?? schema.anyOf;
  if (!Array.isArray(named) || named.length === 0 || named.length > CHOICES_MAX) return undefined;
  const all = named.flatMap((one) =>
    isObject(one) && 'const' in one ? [choice(one.const, words(one.title))] : [],
  );
  return all.length === named.length ? all : undefined;
}

function choice(value: unknown, title?: string): Choice {
  const json = JSON.stringify(value) ?? 'null';
  return {
    value: json,
    words: title ?? (typeof value === 'string' && value !== '' ? value : json),
  };
}

export interface FieldIssue {
  /** Of the field; '': of the input as a whole. */
  readonly name: string;
  readonly message: string;
}

export type InputMade =
  | { readonly ok: true; readonly input: unknown }
  | { readonly ok: false; readonly issues: readonly FieldIssue[] };

/** The input that was typed. What is left empty is left out. @param typed the text of a field. */
export function inputOf(fields: readonly Field[], typed: (name: string) => string): InputMade {
  const input: Record<string, unknown> = {};
  const issues: FieldIssue[] = [];
  for (const one of fields) {
    const text = typed(one.name);
    if (text.trim() === '') {
      if (one.required) issues.push({ name: one.name, message: 'is needed' });
      continue;
    }
    const read = readAs(one, text);
    if ('message' in read) issues.push({ name: one.name, message: read.message });
    // Also for `__proto__`, which an assignment would lose.
    else
      Object.defineProperty(input, one.name, {
        value: read.value,
        enumerable: true,
        configurable: true,
        writable: true,
      });
  }
  return issues.length > 0 ? { ok: false, issues } : { ok: true, input };
}

type Read = { readonly value: unknown } | { readonly message: string };

function readAs(one: Field, text: string): Read {
  switch (one.kind) {
    case 'json':
      return jsonOf(text);
    case 'choice': {
      const found = one.choices?.find(({ value }) => value === text);
      return found ? { value: JSON.parse(found.value) } : { message: 'is none of the choices' };
    }
    case 'number':
    case 'integer':
      return numberOf(one, text.trim());
    default: {
      // Browsers send the line breaks of a text area as two characters.
      const value = text.replace(/\r\n/g, '\n');
      const chars = [...value].length;
      if (one.minChars !== undefined && chars < one.minChars)
        return { message: `has ${chars} characters; it needs at least ${one.minChars}` };
      if (one.maxChars !== undefined && chars > one.maxChars)
        return { message: `has ${chars} characters; it may have at most ${one.maxChars}` };
      return { value };
    }
  }
}

function numberOf({ kind, min, max }: Field, text: string): Read {
  const value = Number(text);
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) || !Number.isFinite(value))
    return { message: 'must be a number, such as 12 or 0.5' };
  if (kind === 'integer' && !Number.isInteger(value)) return { message: 'must be a whole number' };
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    return { message: 'is too large: beyond 9007199254740991 digits would be lost' };
  if (min !== undefined && value < min) return { message: `must be at least ${min}` };
  if (max !== undefined && value > max) return { message: `must be at most ${max}` };
  return { value };
}

/** JSON that was typed, or where it stops being that. */
export function jsonOf(text: string): Read {
  const parsed = parseJson(text);
  if (parsed.ok) return { value: parsed.value };
  const [issue] = parsed.issues;
  if (issue === undefined) return { message: 'is not readable as JSON' };
  // Without a place the message is a sentence of its own: `is not valid JSON: …`.
  if (issue.path === '') return { message: issue.message };
  return { message: `is no JSON that can be sent: ${issue.path} ${issue.message}` };
}

function words(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.slice(0, WORDS_CHARS) : undefined;
}

const finite = (value: unknown) =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined;
const size = (value: unknown) =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
