import * as z from 'zod';
import { BASE_PATH, CONTRACT_HEADER, CONTRACT_VERSION, limits } from './limits.ts';
import { type Operation, operations } from './operations.ts';
import { type ProblemCode, problem, problemCodes } from './problems.ts';

type Json = Record<string, unknown>;

/** Problems that any call with a key can get. */
const everywhere: readonly ProblemCode[] = [
  'INVALID_REQUEST',
  'UNAUTHENTICATED',
  'SCOPE_DENIED',
  'CONTRACT_UNSUPPORTED',
  'INTERNAL',
  'UNAVAILABLE',
];

/** The OpenAPI 3.1 document, made from the operation table. @param version of the product. */
export function openApiDocument(version: string): Json {
  const schemas: Json = {};
  const paths: Record<string, Json> = {};
  for (const operation of operations) {
    const path = BASE_PATH + (operation.path === '/' ? '/' : operation.path);
    paths[path] = {
      ...paths[path],
      [operation.method.toLowerCase()]: describe(operation, schemas),
    };
  }
  problemResponse(schemas);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Interlock Tasks',
      version,
      summary: `Wire contract ${CONTRACT_VERSION}`,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: ['service', 'producer', 'operator', 'worker', 'operations'].map((name) => ({ name })),
    paths,
    components: {
      schemas,
      securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'A key `il_…`' } },
    },
    security: [{ key: [] }],
  };
}

function describe(operation: Operation, schemas: Json): Json {
  const parameters: Json[] = [
    {
      name: CONTRACT_HEADER,
      in: 'header',
      required: false,
      schema: { type: 'integer', default: CONTRACT_VERSION },
    },
    ...[...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
      name,
      in: 'path',
      required: true,
      schema: { type: 'string' },
    })),
  ];
  if (operation.query) {
    const query = jsonSchema(operation.query, schemas, 'input') as {
      properties?: Record<string, Json>;
      required?: string[];
    };
    for (const [name, schema] of Object.entries(query.properties ?? {})) {
      parameters.push({
        name,
        in: 'query',
        required: query.required?.includes(name) ?? false,
        schema,
      });
    }
  }
  const open = operation.keys === 'open';
  return {
    operationId: operation.id,
    summary: operation.summary,
    tags: [operation.tag],
    ...(open
      ? { security: [] }
      : { description: `Keys: ${(operation.keys as readonly string[]).join(', ')}.` }),
    parameters,
    ...(operation.body
      ? {
          requestBody: {
            required: true,
            description: `At most ${limits.batchBytes} bytes.`,
            content: {
              'application/json': { schema: jsonSchema(operation.body, schemas, 'input') },
            },
          },
        }
      : {}),
    responses: {
      ...Object.fromEntries(
        Object.entries(operation.answers).map(([status, schema]) => [
          status,
          answer(schema, schemas),
        ]),
      ),
      ...problems(operation, open),
    },
  };
}

function answer(schema: z.ZodType | 'sse' | 'json', schemas: Json): Json {
  if (schema === 'sse')
    return {
      description: 'Server-sent events',
      content: { 'text/event-stream': { schema: { type: 'string' } } },
    };
  if (schema === 'json')
    return { description: 'JSON', content: { 'application/json': { schema: { type: 'object' } } } };
  return {
    description: 'Done',
    content: { 'application/json': { schema: jsonSchema(schema, schemas, 'output') } },
  };
}

function problems(operation: Operation, open: boolean): Json {
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of [
    ...(open ? (['CONTRACT_UNSUPPORTED', 'INTERNAL'] as const) : everywhere),
    ...operation.problems,
  ]) {
    const { status } = problemCodes[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      status,
      {
        description: codes.join(', '),
        content: {
          'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
        },
      },
    ]),
  );
}

function problemResponse(schemas: Json): void {
  jsonSchema(problem, schemas, 'output');
}

/** JSON Schema of a zod schema; named ones go to `components` and are referred to. */
function jsonSchema(schema: z.ZodType, schemas: Json, io: 'input' | 'output'): Json {
  const made = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    target: 'draft-2020-12',
    reused: 'inline',
  }) as Json;
  const { $schema: _, $defs, id, ...rest } = made as Json & { $defs?: Json; id?: string };
  for (const [name, definition] of Object.entries($defs ?? {}))
    schemas[name] = relink(strip(definition as Json));
  const body = relink(rest) as Json;
  if (typeof id !== 'string') return body;
  schemas[id] = body;
  return { $ref: `#/components/schemas/${id}` };
}

function strip(definition: Json): Json {
  const { $schema: _s, id: _i, ...rest } = definition;
  return rest;
}

function relink(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(relink);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) =>
      name === '$ref' && typeof item === 'string'
        ? [name, item.replace('#/$defs/', '#/components/schemas/')]
        : [name, relink(item)],
    ),
  );
}
