/**
 * Checks of input and output: a Standard Schema (zod, valibot, arktype …: anything with `~standard`) or a plain
 * JSON Schema (draft 2020-12; draft-07 where its `$schema` says so). Ajv is loaded only by who needs it.
 */
import { pathText, toJson } from '../contract/json.ts';
import { errorText } from './failure.ts';
import { rooted } from './paths.ts';

export interface SchemaIssue {
  /** `input.items[3].id` */
  readonly path: string;
  readonly message: string;
}

export type Checked =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly issues: readonly SchemaIssue[] };

/** Looks at a value; `value` of a good answer is what the schema made of it. May throw as the schema does. */
export type Check = (value: unknown) => Checked | Promise<Checked>;

/** The part of the Standard Schema specification, version 1, that is used here. */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };
export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** A JSON Schema as a plain value. */
export type JsonSchema = boolean | { readonly [keyword: string]: unknown };

/** Issues that are kept of one value. */
const ISSUES_MAX = 20;
/** A schema beyond this is not shown to the control plane (it still checks). */
const SCHEMA_BYTES_MAX = 65_536;

/** The check of a schema; `root` names the value in paths. Throws an Error where it is no schema. */
export async function makeCheck(schema: unknown, root: 'input' | 'result'): Promise<Check> {
  if (isStandard(schema)) return standardCheck(schema, root);
  if (typeof schema === 'boolean' || isPlainObject(schema)) return jsonCheck(schema, root);
  throw new Error(
    `${root === 'input' ? 'input' : 'output'} must be a Standard Schema or a JSON Schema`,
  );
}

/** The schema as JSON Schema, for people and the control plane; `undefined` where it cannot be told. */
export function describeSchema(schema: unknown, side: 'input' | 'output'): unknown {
  try {
    const described = isStandard(schema) ? standardJsonSchema(schema, side) : schema;
    const made = described === undefined ? undefined : toJson(described);
    if (!made?.ok || Buffer.byteLength(JSON.stringify(made.value)) > SCHEMA_BYTES_MAX) {
      return undefined;
    }
    return made.value;
  } catch {
    return undefined; // A schema that cannot describe itself still checks.
  }
}

function isStandard(schema: unknown): schema is StandardSchema {
  const holder = schema as Partial<StandardSchema> | null | undefined;
  return (
    (typeof schema === 'object' || typeof schema === 'function') &&
    typeof holder?.['~standard']?.validate === 'function'
  );
}

function isPlainObject(value: unknown): value is { readonly [keyword: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function standardCheck(schema: StandardSchema, root: string): Check {
  const read = (result: StandardResult<unknown>): Checked => {
    if (result.issues === undefined) return { ok: true, value: result.value };
    const issues = result.issues.slice(0, ISSUES_MAX).map((issue) => {
      const path = (issue.path ?? []).map((part) => (typeof part === 'object' ? part.key : part));
      return { path: rooted(root, pathText(path)), message: issue.message };
    });
    return { ok: false, issues };
  };
  return (value) => {
    const result = schema['~standard'].validate(value);
    return result instanceof Promise ? result.then(read) : read(result);
  };
}

/** The Standard JSON Schema extension, where the library has it. */
function standardJsonSchema(schema: StandardSchema, side: 'input' | 'output'): unknown {
  const extension = (schema['~standard'] as { jsonSchema?: Record<string, unknown> }).jsonSchema;
  const make = extension?.[side];
  return typeof make === 'function' ? make({ target: 'draft-2020-12' }) : undefined;
}

async function jsonCheck(schema: JsonSchema, root: string): Promise<Check> {
  const old = typeof schema === 'object' && /draft-0[67]/.test(String(schema.$schema ?? ''));
  const [{ default: ajvModule }, { default: formats }] = await Promise.all([
    old ? import('ajv') : import('ajv/dist/2020.js'),
    import('ajv-formats'),
  ]);
  // CommonJS seen from a module: the class is a property, from a bundle it may be the value itself.
  const Ajv = inner<new (options: object) => AjvLike>(ajvModule);
  const ajv = new Ajv({ allErrors: true, strict: false, logger: false });
  inner<(ajv: AjvLike) => void>(formats)(ajv);
  let validate: AjvValidate;
  try {
    validate = ajv.compile(schema);
  } catch (error) {
    const side = root === 'input' ? 'input' : 'output';
    throw new Error(`${side} is no valid JSON Schema: ${errorText(error)}`);
  }
  return (given) => {
    // A result is judged as the JSON that it becomes: a Date is a string there.
    const made = root === 'result' ? toJson(given) : ({ ok: true, value: given } as const);
    if (!made.ok) {
      return { ok: false, issues: [{ ...made.issue, path: rooted(root, made.issue.path) }] };
    }
    const { value } = made;
    if (validate(value)) return { ok: true, value };
    const issues = (validate.errors ?? []).slice(0, ISSUES_MAX).map((error) => ({
      path: rooted(root, pathText(pointer(error.instancePath, value))),
      message: `${error.message ?? 'is not allowed'}${named(error.params)}`,
    }));
    return { ok: false, issues };
  };
}

interface AjvLike {
  compile(schema: unknown): AjvValidate;
}
interface AjvValidate {
  (value: unknown): boolean;
  errors?: { instancePath: string; message?: string; params: Record<string, unknown> }[] | null;
}

function inner<T>(module: unknown): T {
  const holder = module as { default?: unknown };
  return (typeof module === 'function' ? module : holder.default) as T;
}

/** `/items/3/id` → `['items', 3, 'id']`; a number is an index only where the value has an array. */
function pointer(text: string, value: unknown): (string | number)[] {
  const path: (string | number)[] = [];
  let at = value;
  for (const raw of text.split('/').slice(1)) {
    const part = raw.replaceAll('~1', '/').replaceAll('~0', '~');
    path.push(Array.isArray(at) ? Number(part) : part);
    at = (at as Record<string, unknown> | undefined)?.[part];
  }
  return path;
}

/** What Ajv keeps beside its sentence: the field that is too much, the values that are allowed. */
function named(params: Record<string, unknown>): string {
  if (typeof params.additionalProperty === 'string')
    return ` (${JSON.stringify(params.additionalProperty)})`;
  if (Array.isArray(params.allowedValues)) {
    return ` (${params.allowedValues.map((v) => JSON.stringify(v)).join(', ')})`.slice(0, 500);
  }
  return '';
}
