import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { openApiDocument } from '../../src/contract/openapi.ts';
import { type Operation, operations } from '../../src/contract/operations.ts';
import { problem, problemCodes } from '../../src/contract/problems.ts';
import { listQuery, logsQuery, submitRequest, taskStatuses } from '../../src/contract/tasks.ts';
import { type Op, ops, report } from '../../src/contract/worker-calls.ts';

type Json = Record<string, unknown>;
const document = openApiDocument('1.2.3') as {
  openapi: string;
  info: Json;
  paths: Record<string, Record<string, Json>>;
  tags: { name: string; description: string }[];
  components: Record<'schemas' | 'responses' | 'headers', Record<string, Json>>;
};

/** Every object in the document, with where it stands. */
function* walk(value: unknown, at = '#'): Generator<[string, Json]> {
  if (value === null || typeof value !== 'object') return;
  if (!Array.isArray(value)) yield [at, value as Json];
  for (const [name, item] of Object.entries(value))
    yield* walk(item, `${at}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`);
}

function resolve(ref: string): unknown {
  return ref
    .slice(2)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((value, name) => (value as Json | undefined)?.[name], document);
}

const calls = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(
    ([method, call]) => [`${method.toUpperCase()} ${path}`, path, call] as const,
  ),
);

describe('the OpenAPI document', () => {
  it('is of version 3.1 and says what it is', () => {
    expect(document.openapi).toMatch(/^3\.1\.\d+$/);
    expect(document.info).toMatchObject({ title: 'Interlock Tasks', version: '1.2.3' });
    expect(JSON.parse(JSON.stringify(document))).toEqual(document);
  });

  it('requires nothing of which it says what it means where it is absent', () => {
    let absent = 0;
    for (const [at, { properties, required }] of walk(document.components.schemas)) {
      for (const [name, member] of Object.entries((properties ?? {}) as Record<string, Json>)) {
        if (!/\babsent\b/i.test(String(member.description))) continue;
        absent++;
        expect((required as string[] | undefined) ?? [], `${at}/${name}`).not.toContain(name);
      }
    }
    expect(absent).toBeGreaterThan(0);
  });

  it('has every call of the table once, the one for reports once for each op', () => {
    const ids = calls.map(([, , call]) => call.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    const reports = ops.map((op) => `report${op[0]?.toUpperCase()}${op.slice(1)}`);
    const single = operations.map(({ id }) => id as string).filter((id) => id !== 'report');
    expect(new Set(ids)).toEqual(new Set([...single, ...reports]));
  });

  it('has the calls of the contract under its base path', () => {
    const names = calls.map(([name]) => name.replace(' /api/tasks/v1', ' ')).sort();
    expect(names.filter((name) => !/ \/keys/.test(name))).toEqual(
      [
        'GET /',
        'GET /openapi.json',
        'POST /tasks',
        'POST /tasks/batch',
        'GET /tasks',
        'GET /tasks/{id}',
        'GET /tasks/{id}/events',
        'GET /tasks/{id}/logs',
        'POST /tasks/{id}/cancel',
        'GET /events',
        'POST /tasks/{id}/retry',
        'POST /tasks/{id}/resolve',
        'POST /workers/{workerId}/drain',
        'PUT /workers/{workerId}',
        'POST /claims',
        'POST /attempts/batch',
        ...ops.map((op) => `POST /attempts/{attemptId}/${op}`),
        'GET /hints',
        'GET /doctor',
        'GET /workers',
        'GET /workers/{workerId}',
        'GET /types',
      ].sort(),
    );
    expect(names).toContain('POST /keys');
  });

  it('refers only to what is there', () => {
    const refs = [...walk(document)].filter(([, value]) => typeof value.$ref === 'string');
    expect(refs.length).toBeGreaterThan(20);
    for (const [at, value] of refs) {
      expect(value.$ref, at).toMatch(/^#\/components\/(schemas|responses|headers)\//);
      expect(resolve(value.$ref as string), `${at} → ${value.$ref}`).toBeTypeOf('object');
    }
  });

  it('has no schema that nobody refers to, and none defined aside', () => {
    const referred = new Set([...walk(document)].map(([, value]) => value.$ref));
    for (const kind of ['schemas', 'responses', 'headers'] as const)
      for (const name of Object.keys(document.components[kind]))
        expect(referred, name).toContain(`#/components/${kind}/${name}`);
    expect(
      [...walk(document)].filter(([, value]) => '$defs' in value || '$schema' in value),
    ).toEqual([]);
  });

  it('holds schemas that a validator takes', () => {
    const ajv = new Ajv2020({
      strict: true,
      strictRequired: false,
      strictTypes: false,
      allowUnionTypes: true,
      validateFormats: false,
    });
    ajv.addVocabulary([...Object.keys(document), 'discriminator']);
    ajv.addSchema(document, 'api');
    for (const name of Object.keys(document.components.schemas))
      expect(() => ajv.compile({ $ref: `api#/components/schemas/${name}` }), name).not.toThrow();
  });

  it('says of every field what it is', () => {
    const silent = [...walk(document)].flatMap(([at, { properties }]) =>
      Object.entries((properties ?? {}) as Record<string, Json>)
        .filter(([, schema]) => !('description' in schema || 'const' in schema || 'enum' in schema))
        .map(([name]) => `${at}/${name}`),
    );
    expect(silent.filter((at) => !at.includes('/text~1event-stream/'))).toEqual([]);
  });

  it('describes bodies as they are taken', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema(document, 'api');
    const fits = (name: string, body: unknown) =>
      ajv.compile({ $ref: `api#/components/schemas/${name}` })(body);
    const submit = { type: 'demo/hello', schemaVersion: 1, input: null, labels: { a: 'b' } };
    expect(fits('SubmitRequest', submit)).toBe(true);
    expect(fits('SubmitRequest', { ...submit, type: 'demo/hello@1' })).toBe(false);
    expect(fits('SubmitRequest', { ...submit, surprise: 1 })).toBe(false);
    expect(fits('SubmitRequest', { ...submit, labels: { a: 1 } })).toBe(false);
    const claim = { workerId: 'w', sessionId: 's', requestId: 'r', pools: ['default'], max: 1 };
    const want = [{ type: 'demo/hello', schemaVersion: 1, slots: 1 }];
    expect(fits('ClaimRequest', { ...claim, want, somethingNew: 1 })).toBe(true);
    expect(fits('ClaimRequest', { ...claim })).toBe(false);
    const four = { taskId: 't', attemptId: 'a', fence: 1, leaseToken: 'x' };
    expect(fits('Report', { op: 'complete', ...four, result: 1 })).toBe(true);
    expect(fits('Report', { op: 'complete', ...four, fence: 0, result: 1 })).toBe(false);
    expect(fits('Problem', { status: 409, code: 'STALE_ATTEMPT', recorded: true, more: 1 })).toBe(
      true,
    );
  });
});

describe('what an address may hold', () => {
  it('is what the code takes', () => {
    const list = parametersOf('listTasks');
    expect(list.limit?.schema).toEqual({
      type: 'integer',
      minimum: 1,
      maximum: 500,
      default: 50,
    });
    expect(list.status?.schema).toMatchObject({ items: { enum: [...taskStatuses] } });
    for (const [limit, fine] of [
      ['1', true],
      ['500', true],
      ['0', false],
      ['501', false],
      ['', false],
      ['1e2', false],
      ['0x10', false],
      [' 5', false],
      [7, true],
    ] as const)
      expect(listQuery.safeParse({ limit }).success, `limit ${limit}`).toBe(fine);
    expect(logsQuery.safeParse({ after: '12' }).success).toBe(true);
    for (const after of ['', '-1', '1e3', 'x'])
      expect(logsQuery.safeParse({ after }).success, after).toBe(false);
  });

  it('is lenient where the code is: a word that is not known counts as the careful one', () => {
    const { effectSafety } = (document.components.schemas.HandlerInfo as Json).properties as Json;
    expect(effectSafety).toMatchObject({ default: 'non-idempotent' });
    expect(effectSafety).not.toHaveProperty('enum');
  });
});

describe.each(calls)('%s', (_, path, call) => {
  const operation = operations.find(
    ({ id }) => id === call.operationId || (id === 'report' && path.includes('{attemptId}')),
  ) as Operation;

  it('has parameters for its path, a summary, a known tag and the kinds of key', () => {
    const parameters = call.parameters as Parameter[];
    const inPath = parameters.filter((p) => p.in === 'path');
    expect(inPath.map((p) => p.name)).toEqual(
      [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
    );
    expect(inPath.every((p) => p.required && p.example !== undefined)).toBe(true);
    expect(new Set(parameters.map((p) => `${p.in} ${p.name}`)).size).toBe(parameters.length);
    expect(call.summary).toBeTypeOf('string');
    const tags = document.tags.map(({ name }) => name);
    for (const tag of call.tags as string[]) expect(tags).toContain(tag);
    const kinds = operation.keys === 'open' ? [] : [{ key: operation.keys }];
    expect(call.security).toEqual(kinds);
  });

  it('has an answer for success and a problem for each failure', () => {
    const responses = call.responses as Record<string, Json>;
    const good = Object.keys(responses).filter((status) => status.startsWith('2'));
    expect(good.length).toBeGreaterThan(0);
    const known = new Set(Object.values(problemCodes).map(({ status }) => String(status)));
    for (const [status, given] of Object.entries(responses)) {
      const { description, content, headers } = at(given) as Response;
      expect(description).not.toBe('');
      expect(headers, status).toHaveProperty('Interlock-Contract');
      expect(headers, status).toHaveProperty('Interlock-Request-Id');
      if (good.includes(status)) continue;
      expect(known).toContain(status);
      const { schema, examples } = content['application/problem+json'] as Media;
      expect(schema.allOf[0]).toEqual({ $ref: '#/components/schemas/Problem' });
      for (const [code, { value }] of Object.entries(examples)) {
        expect(problem.parse(value)).toMatchObject({ code, status: Number(status) });
        expect(schema.allOf[1]?.properties.code.enum).toContain(code);
      }
    }
  });

  it('has examples that its own schemas accept', () => {
    const body = call.requestBody as { content: Record<string, Media> } | undefined;
    expect(body !== undefined).toBe(operation.body !== undefined);
    const examples = Object.values(body?.content['application/json']?.examples ?? {});
    if (body) expect(examples.length).toBeGreaterThan(0);
    for (const { summary, value } of examples) {
      const op = path.split('/').at(-1) as Op;
      const whole = operation.id === 'report' ? { ...value, op, attemptId: 'att_1' } : value;
      expect(summary).toBeTypeOf('string');
      expect(operation.body?.safeParse(whole).error?.issues ?? []).toEqual([]);
      const batch = Array.isArray(value) ? value : (value as { reports?: unknown[] }).reports;
      for (const item of batch ?? []) {
        const one = Array.isArray(value) ? submitRequest : report;
        expect(one.safeParse(item).error?.issues ?? []).toEqual([]);
      }
    }
    for (const [status, schema] of Object.entries(operation.answers)) {
      if (typeof schema === 'string') continue;
      const { content } = at((call.responses as Json)[status]) as Response;
      for (const { value } of Object.values(content['application/json']?.examples ?? {}))
        expect(schema.safeParse(value).error?.issues ?? []).toEqual([]);
    }
    for (const { name, example, schema } of call.parameters as Parameter[]) {
      if (example === undefined) continue;
      const fits = validator().compile(within(schema));
      expect(fits(example), `${name} ${JSON.stringify(fits.errors)}`).toBe(true);
    }
  });

  it('links only to calls that are there, with parameters that they have', () => {
    for (const given of Object.values(call.responses as Json)) {
      for (const [name, link] of Object.entries((at(given) as Response).links ?? {})) {
        const target = calls.find(([, , one]) => one.operationId === link.operationId)?.[2];
        expect(target, `${name} → ${link.operationId}`).toBeDefined();
        expect(link.description).toBeTypeOf('string');
        const names = ((target?.parameters ?? []) as Parameter[]).map((p) => p.name);
        expect(names).toEqual(expect.arrayContaining(Object.keys(link.parameters ?? {})));
        expect(link.requestBody === undefined || target?.requestBody !== undefined).toBe(true);
      }
    }
  });
});

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly example?: unknown;
  readonly schema: Json;
}
interface Media {
  readonly schema: { readonly allOf: readonly { properties: { code: { enum: string[] } } }[] };
  readonly examples: Record<string, { readonly summary?: string; readonly value: Json }>;
}
interface Response {
  readonly description: string;
  readonly headers: Json;
  readonly content: Record<string, Media>;
  readonly links?: Record<
    string,
    { operationId: string; description: string; parameters?: Json; requestBody?: Json }
  >;
}

function at(given: unknown): unknown {
  const { $ref } = given as { $ref?: string };
  return $ref === undefined ? given : resolve($ref);
}

function parametersOf(id: string): Record<string, Parameter> {
  const [, , call] = calls.find(([, , one]) => one.operationId === id) ?? [];
  return Object.fromEntries(((call?.parameters ?? []) as Parameter[]).map((p) => [p.name, p]));
}

function validator(): Ajv2020 {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(document, 'api');
  return ajv;
}

/** A schema of the document for a validator: its references lead into the document. */
function within(schema: Json): Json {
  const text = JSON.stringify(schema).replaceAll('"#/components/', '"api#/components/');
  return JSON.parse(text) as Json;
}
