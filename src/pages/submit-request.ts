import { bounds } from '../contract/limits.ts';
import type { Problem } from '../contract/problems.ts';
import { type Field, inputOf, jsonOf } from '../core/input-fields.ts';

/** What was typed into the submit form, as a request; and what was wrong with it, by the controls it stands in. */

/** Name of a control → what is wrong with it, sentences without a subject. What is of none stands under ''. */
export type Issues = ReadonlyMap<string, readonly string[]>;

/** The control of a property. */
export const controlOf = (field: Pick<Field, 'name'>) => `in.${field.name}`;

export type RequestMade =
  | { readonly ok: true; readonly request: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly issues: Issues };

/**
 * @param fields of the input, where its schema has some. Whole JSON that was typed goes before them.
 * What is left empty is left out, so that the control plane's defaults hold; it also checks all that is not checked here.
 */
export function requestOf(
  form: URLSearchParams,
  asked: { readonly type: string; readonly schemaVersion: number },
  fields: readonly Field[] | undefined,
): RequestMade {
  const found = new Map<string, string[]>();
  const wrong = (control: string, message: string) =>
    found.set(control, [...(found.get(control) ?? []), message]);
  const text = (name: string) => (form.get(name) ?? '').trim();
  const given = (name: string) => text(name) || undefined;
  const whole = (name: string) => {
    const typed = text(name);
    if (typed === '') return undefined;
    if (/^[+-]?\d{1,9}$/.test(typed)) return Number(typed);
    wrong(name, 'must be a whole number');
    return undefined;
  };

  let input: unknown;
  if (text('json') !== '' || fields === undefined) {
    const read =
      text('json') === '' ? { message: 'is needed: JSON, such as {}' } : jsonOf(text('json'));
    if ('message' in read) wrong('json', read.message);
    else input = read.value;
  } else {
    const made = inputOf(fields, (name) => form.get(controlOf({ name })) ?? '');
    if (made.ok) input = made.input;
    else for (const { name, message } of made.issues) wrong(controlOf({ name }), message);
  }
  const labels = labelsOf(form.get('labels') ?? '', (message) => wrong('labels', message));
  const maxAttempts = whole('maxAttempts');
  const request = {
    ...asked,
    input,
    idempotencyKey: given('idempotencyKey') ?? given('once'),
    effectKey: given('effectKey'),
    pool: given('pool'),
    priority: whole('priority'),
    notBeforeAt: given('notBeforeAt'),
    labels,
    policy: maxAttempts === undefined ? undefined : { maxAttempts },
  };
  return found.size > 0 ? { ok: false, issues: found } : { ok: true, request };
}

/** `name=value`, one a line. */
function labelsOf(
  text: string,
  wrong: (message: string) => void,
): Readonly<Record<string, string>> | undefined {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  if (lines.length === 0) return undefined;
  if (lines.length > bounds.labels) {
    wrong(`has ${lines.length} lines; a task has at most ${bounds.labels} labels`);
    return undefined;
  }
  const pairs = lines.flatMap((line): [string, string][] => {
    const at = line.indexOf('=');
    if (at >= 1) return [[line.slice(0, at).trim(), line.slice(at + 1).trim()]];
    wrong(`has a line that is not name=value: ${line.slice(0, 100)}`);
    return [];
  });
  const names = pairs.map(([name]) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) wrong(`has ${twice.slice(0, 100)} twice`);
  // Own names whatever they are, so that none is lost before it is checked.
  return Object.fromEntries(pairs);
}

/** What the control plane says is wrong, beside the controls that it means. */
export function issuesOf(
  { issues = [] }: Problem,
  fields: readonly Field[] | undefined,
  wholeJson: boolean,
): Issues {
  const found = new Map<string, string[]>();
  for (const { path, message } of issues) {
    const control = controlAt(path, wholeJson ? undefined : fields);
    // Where it lies deeper than its control, the path says where.
    const said = control === '' || isDeep(path) ? `${path} ${message}`.trim() : message;
    found.set(control, [...(found.get(control) ?? []), said]);
  }
  return found;
}

function controlAt(path: string, fields: readonly Field[] | undefined): string {
  if (/^input(?:$|[.[])/.test(path)) {
    const field = fields?.find(
      ({ name }) =>
        path === `input.${name}` ||
        path.startsWith(`input.${name}.`) ||
        path.startsWith(`input.${name}[`),
    );
    if (field) return controlOf(field);
    return fields === undefined ? 'json' : '';
  }
  if (path === 'policy.maxAttempts') return 'maxAttempts';
  const [head = ''] = path.split(/[.[]/);
  return CONTROLS.has(head) ? head : '';
}

const CONTROLS: ReadonlySet<string> = new Set([
  'idempotencyKey',
  'effectKey',
  'pool',
  'priority',
  'notBeforeAt',
  'labels',
]);

const isDeep = (path: string) =>
  /[.[]/.test(path) && path !== 'policy.maxAttempts' && !/^input\.[^.[]+$/.test(path);
