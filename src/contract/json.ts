/**
 * JSON that means the same to every reader (I-JSON, RFC 7493). Nothing is silently altered: what a double
 * cannot hold, `-0`, duplicate names, lone surrogates and endless nesting are told with their path.
 * No dependencies: handler hosts load this file too.
 */
import { Fault, type JsonIssue, numberProblem, pathText } from './json-fault.ts';
import { plainJson } from './json-plain.ts';
import { bounds } from './limits.ts';

export { type JsonIssue, pathText } from './json-fault.ts';
export { copyPlain, isDeeperThan, type JsonMade, toJson } from './to-json.ts';

export type JsonParsed =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly issues: readonly JsonIssue[] };

/** Parses I-JSON text. Never throws; the first fault found is told. */
export function parseJson(text: string, maxDepth: number = bounds.jsonDepth): JsonParsed {
  const plain = plainJson(text, maxDepth);
  if (plain !== undefined) return { ok: true, value: plain.value };
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

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
