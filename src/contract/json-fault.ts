/** What `parseJson` and `toJson` share: how a fault is told, and which numbers every reader can hold. */
export interface JsonIssue {
  /** `input.items[3].id`; empty for the whole text. */
  readonly path: string;
  readonly message: string;
}

export class Fault extends Error {
  readonly issue: JsonIssue;
  constructor(issue: JsonIssue) {
    super(issue.message);
    this.issue = issue;
  }
}

export function numberProblem(source: string): string | undefined {
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
