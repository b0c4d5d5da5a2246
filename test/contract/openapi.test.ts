import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { openApiDocument } from '../../src/contract/openapi.ts';
import { operations } from '../../src/contract/operations.ts';
import { problemCodes } from '../../src/contract/problems.ts';

type Json = Record<string, unknown>;
const document = openApiDocument('1.2.3') as {
  openapi: string;
  info: Json;
  paths: Record<string, Record<string, Json>>;
  tags: { name: string }[];
  components: { schemas: Record<string, Json>; securitySchemes: Json };
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

  it('has every call of the table once', () => {
    expect(calls).toHaveLength(operations.length);
    const ids = calls.map(([, , call]) => call.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(new Set(ids)).toEqual(new Set(operations.map((operation) => operation.id)));
  });

  it('has the calls of the contract under its base path', () => {
    const names = calls.map(([name]) => name.replace(' /api/tasks/v1', ' ')).sort();
    expect(names).toEqual(
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
        'POST /attempts/{attemptId}/{op}',
        'GET /hints',
        'GET /doctor',
        'GET /workers',
        'GET /workers/{workerId}',
        'GET /types',
        'POST /keys',
      ].sort(),
    );
  });

  it('refers only to what is there', () => {
    const refs = [...walk(document)].filter(([, value]) => typeof value.$ref === 'string');
    expect(refs.length).toBeGreaterThan(20);
    for (const [at, value] of refs) {
      expect(value.$ref, at).toMatch(/^#\/components\/schemas\//);
      expect(resolve(value.$ref as string), `${at} → ${value.$ref}`).toBeTypeOf('object');
    }
  });

  it('has no schema that nobody refers to, and none defined aside', () => {
    const referred = new Set([...walk(document)].map(([, value]) => value.$ref));
    for (const name of Object.keys(document.components.schemas))
      expect(referred, name).toContain(`#/components/schemas/${name}`);
    expect(
      [...walk(document)].filter(([, value]) => '$defs' in value || '$schema' in value),
    ).toEqual([]);
  });

  it('holds schemas that a validator takes', () => {
    const ajv = new Ajv2020({
      strict: true,
      strictRequired: false,
      allowUnionTypes: true,
      validateFormats: false,
    });
    ajv.addVocabulary(Object.keys(document));
    ajv.addSchema(document, 'api');
    for (const name of Object.keys(document.components.schemas))
      expect(() => ajv.compile({ $ref: `api#/components/schemas/${name}` }), name).not.toThrow();
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

describe.each(calls)('%s', (_, path, call) => {
  it('has parameters for its path, a summary, a known tag and keys', () => {
    const parameters = call.parameters as { name: string; in: string; required: boolean }[];
    const inPath = parameters.filter((p) => p.in === 'path');
    expect(inPath.map((p) => p.name)).toEqual(
      [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
    );
    expect(inPath.every((p) => p.required)).toBe(true);
    expect(new Set(parameters.map((p) => `${p.in} ${p.name}`)).size).toBe(parameters.length);
    expect(call.summary).toBeTypeOf('string');
    for (const tag of call.tags as string[]) expect(document.tags).toContainEqual({ name: tag });
    if (!call.security) expect(call.description).toMatch(/^Keys: /);
  });

  it('has an answer for success and a problem for each failure', () => {
    const responses = call.responses as Record<string, { description: string; content?: Json }>;
    const good = Object.keys(responses).filter((status) => status.startsWith('2'));
    expect(good.length).toBeGreaterThan(0);
    const known = new Set(Object.values(problemCodes).map(({ status }) => String(status)));
    for (const [status, response] of Object.entries(responses)) {
      expect(response.description).not.toBe('');
      if (good.includes(status)) continue;
      expect(known).toContain(status);
      expect(response.content).toEqual({
        'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
      });
    }
  });
});
