/**
 * JSON that means the same to every reader (I-JSON, RFC 7493). Nothing is silently altered: what a double
 * cannot hold, `-0`, duplicate names, lone surrogates and endless nesting are told with their path.
 * No dependencies: handler hosts load this file too.
 */
import { bounds } from './limits.ts';

export interface JsonIssue {
  /** `input.items[3].id`; empty for the whole text. */
  readonly path: string;
  readonly message: string;
}

export type JsonParsed =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly issues: readonly JsonIssue[] };

/** Parses I-JSON text. Never throws; the first fault found is told. */
export function parseJson(text: string, maxDepth: number = bounds.jsonDepth): JsonParsed {
  const scan = new Scanner(text, maxDepth);
  const issue = scan.document();
  if (issue) return { ok: false, issues: [issue] };
  return { ok: true, value: JSON.parse(text) };
}

/** Walks JSON text once, keeping the path; says where the first fault is. */
class Scanner {
  readonly #text: string;
  readonly #maxDepth: number;
  #at = 0;
  #path: (string | number)[] = [];

  constructor(text: string, maxDepth: number) {
    this.#text = text;
    this.#maxDepth = maxDepth;
  }

  document(): JsonIssue | undefined {
    try {
      this.#space();
      if (this.#at >= this.#text.length) this.#fail('is empty: JSON is expected');
      this.#value(0);
      this.#space();
      if (this.#at < this.#text.length) this.#syntax('more text after the JSON value');
      return undefined;
    } catch (fault) {
      if (fault instanceof Fault) return fault.issue;
      throw fault;
    }
  }

  #value(depth: number): void {
    if (depth > this.#maxDepth) this.#fail(`is nested deeper than ${this.#maxDepth} levels`);
    switch (this.#text.charCodeAt(this.#at)) {
      case 0x7b:
        this.#object(depth);
        return;
      case 0x5b:
        this.#array(depth);
        return;
      case 0x22:
        this.#string();
        return;
      case 0x74:
        this.#word('true');
        return;
      case 0x66:
        this.#word('false');
        return;
      case 0x6e:
        this.#word('null');
        return;
      default:
        this.#number();
        return;
    }
  }

  #object(depth: number): void {
    this.#at++;
    const seen = new Set<string>();
    this.#space();
    if (this.#text[this.#at] === '}') {
      this.#at++;
      return;
    }
    for (;;) {
      this.#space();
      if (this.#text[this.#at] !== '"') this.#syntax('a name in double quotes is expected');
      const name = this.#string();
      this.#path.push(name);
      if (seen.has(name)) this.#fail('is there twice: names in an object must differ');
      seen.add(name);
      this.#space();
      if (this.#text[this.#at] !== ':') this.#syntax('":" is expected after a name');
      this.#at++;
      this.#space();
      this.#value(depth + 1);
      this.#path.pop();
      this.#space();
      const next = this.#text[this.#at++];
      if (next === '}') return;
      if (next !== ',') {
        this.#at--;
        this.#syntax('"," or "}" is expected');
      }
    }
  }

  #array(depth: number): void {
    this.#at++;
    this.#space();
    if (this.#text[this.#at] === ']') {
      this.#at++;
      return;
    }
    for (let i = 0; ; i++) {
      this.#path.push(i);
      this.#space();
      this.#value(depth + 1);
      this.#path.pop();
      this.#space();
      const next = this.#text[this.#at++];
      if (next === ']') return;
      if (next !== ',') {
        this.#at--;
        this.#syntax('"," or "]" is expected');
      }
    }
  }

  #string(): string {
    const from = this.#at++;
    let plain = true;
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (Number.isNaN(code)) this.#syntax('a string does not end');
      if (code === 0x22) break;
      if (code < 0x20) this.#syntax('a control character in a string must be written as \\u00XX');
      if (code === 0x5c) {
        plain = false;
        this.#at++;
      } else if (code >= 0xd800 && code <= 0xdfff) plain = false;
      this.#at++;
    }
    this.#at++;
    if (plain) return this.#text.slice(from + 1, this.#at - 1);
    let value: string;
    try {
      value = JSON.parse(this.#text.slice(from, this.#at)) as string;
    } catch {
      this.#at = from;
      return this.#syntax('a string with an unknown escape');
    }
    if (!value.isWellFormed())
      this.#fail('holds a lone surrogate: no other program could store this text');
    return value;
  }

  #number(): void {
    NUMBER.lastIndex = this.#at;
    const match = NUMBER.exec(this.#text);
    if (!match) this.#syntax('a JSON value is expected');
    const source = (match as RegExpExecArray)[0];
    const why = numberProblem(source);
    if (why) this.#fail(why);
    this.#at += source.length;
  }

  #word(word: string): void {
    if (!this.#text.startsWith(word, this.#at)) this.#syntax(`${word} is expected`);
    this.#at += word.length;
  }

  #space(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) this.#at++;
      else return;
    }
  }

  #syntax(what: string): never {
    const before = this.#text.slice(0, this.#at);
    const line = before.split('\n').length;
    const column = this.#at - before.lastIndexOf('\n');
    return this.#fail(`is not valid JSON: ${what} (line ${line}, column ${column})`);
  }

  #fail(message: string): never {
    throw new Fault({ path: pathText(this.#path), message });
  }
}

class Fault extends Error {
  readonly issue: JsonIssue;
  constructor(issue: JsonIssue) {
    super(issue.message);
    this.issue = issue;
  }
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

function numberProblem(source: string): string | undefined {
  const value = Number(source);
  if (!Number.isFinite(value)) return `is ${source}, which no double can hold: send it as a string`;
  if (value === 0 && /[1-9]/.test(source.replace(/[eE].*/, '')))
    return `is ${source}, too small for a double: send it as a string`;
  if (Object.is(value, -0)) return 'is -0, which many readers turn into 0: send 0';
  if (Math.abs(value) > Number.MAX_SAFE_INTEGER && (isPlain(source) || isRounded(source, value))) {
    return `is ${source}, an integer beyond 2^53, which many readers would round: send it as a string`;
  }
  return undefined;
}

function isPlain(source: string): boolean {
  return /^-?\d+$/.test(source);
}

/** An integer written with a fraction or an exponent (`9007199254740993.0`) that comes back as another one. */
function isRounded(source: string, value: number): boolean {
  const [digits, exponent] = decimal(source);
  const [back, backExponent] = decimal(String(value));
  return exponent >= 0 && (digits !== back || exponent !== backExponent);
}

/** Significant digits and the power of ten of the last one. */
function decimal(source: string): [string, number] {
  const [mantissa = '', power = '0'] = source.replace(/^-/, '').toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const all = (whole + fraction).replace(/^0+/, '');
  const digits = all.replace(/0+$/, '');
  return [digits, Number(power) - fraction.length + all.length - digits.length];
}

/** `['input', 'items', 3]` → `input.items[3]`. */
export function pathText(path: readonly PropertyKey[]): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else if (/^[A-Za-z_$][\w$-]*$/.test(String(part)))
      text += text ? `.${String(part)}` : String(part);
    else text += `[${JSON.stringify(String(part))}]`;
  }
  return text;
}

export type JsonMade =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly issue: JsonIssue };

/**
 * What JSON makes of a value (`toJSON` honoured, `undefined` as `null`, lone surrogates as U+FFFD), as a
 * fresh plain value. What JSON would silently lose or bend is an issue with its path instead: NaN,
 * infinities, integers beyond 2^53, BigInt, functions, symbols, Map, Set, cycles, endless nesting.
 */
export function toJson(value: unknown): JsonMade {
  try {
    return { ok: true, value: make(value, [], new Set()) };
  } catch (fault) {
    if (fault instanceof Fault) return { ok: false, issue: fault.issue };
    return { ok: false, issue: { path: '', message: `could not be read: ${wordsOf(fault)}` } };
  }
}

/** Anything can be thrown, also what cannot be made a text. */
function wordsOf(fault: unknown): string {
  try {
    return String(fault instanceof Error ? fault.message : fault);
  } catch {
    return 'it threw something that has no text';
  }
}

/** Whether more than `max` arrays and objects of a JSON value lie in one another. */
export function isDeeperThan(value: unknown, max: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    const next: unknown[] = [];
    for (const item of level)
      if (item !== null && typeof item === 'object') {
        if (depth >= max) return true;
        for (const inner of Object.values(item)) next.push(inner);
      }
    level = next;
  }
  return false;
}

function make(input: unknown, path: (string | number)[], open: Set<object>): unknown {
  let value = input;
  if (
    value !== null &&
    typeof value === 'object' &&
    typeof (value as { toJSON?: unknown }).toJSON === 'function'
  ) {
    value = (value as { toJSON(key: string): unknown }).toJSON(String(path.at(-1) ?? ''));
  }
  const fail = (message: string): never => {
    throw new Fault({ path: pathText(path), message });
  };
  switch (typeof value) {
    case 'undefined':
      return null;
    case 'boolean':
      return value;
    case 'string':
      return value.toWellFormed();
    case 'number':
      if (!Number.isFinite(value)) return fail(`is ${value}, which JSON cannot hold`);
      if (value === 0) return 0;
      return numberProblem(String(value)) === undefined
        ? value
        : fail(`is ${value}, an integer beyond 2^53: return a string`);
    case 'bigint':
      return fail('is a BigInt, which JSON cannot hold: return a string');
    case 'function':
      return fail('is a function, which JSON cannot hold');
    case 'symbol':
      return fail('is a symbol, which JSON cannot hold');
    default:
      break;
  }
  const object = value as object | null;
  if (object === null) return null;
  if (object instanceof Map || object instanceof Set) {
    return fail(
      `is a ${object instanceof Map ? 'Map' : 'Set'}, which JSON would turn into {}: return an array or an object`,
    );
  }
  if (object instanceof BigInt) return make(object.valueOf(), path, open);
  if (object instanceof Number || object instanceof String || object instanceof Boolean)
    return make(object.valueOf(), path, open);
  if (open.has(object)) return fail('refers to itself (a cycle)');
  if (open.size >= bounds.valueDepth)
    return fail(`is nested deeper than ${bounds.valueDepth} levels`);
  open.add(object);
  let made: unknown;
  if (Array.isArray(object)) {
    made = Array.from(object, (item, i) => within(path, i, () => make(item, path, open)));
  } else {
    const plain: Record<string, unknown> = {};
    for (const [name, item] of Object.entries(object)) {
      if (item === undefined) continue;
      const wellFormed = name.toWellFormed();
      if (Object.hasOwn(plain, wellFormed))
        return fail(`has two names that are both ${JSON.stringify(wellFormed)} as text`);
      // defineProperty: a name such as __proto__ is data here, never a prototype.
      Object.defineProperty(plain, wellFormed, {
        value: within(path, name, () => make(item, path, open)),
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
    made = plain;
  }
  open.delete(object);
  return made;
}

function within<T>(path: (string | number)[], part: string | number, work: () => T): T {
  path.push(part);
  const done = work();
  path.pop();
  return done;
}
