import type * as z from 'zod';
import { BASE_PATH, limits } from './limits.ts';
import { anyId, workerId } from './names.ts';
import {
  answerExamples,
  bodyExamples,
  bodyFour,
  operationParameterExamples,
  parameterExamples,
  reportExamples,
} from './openapi/examples.ts';
import { componentsWithWords, withWords } from './openapi/fields.ts';
import { linksOf, reportId } from './openapi/links.ts';
import { answerHeaders, headerComponents, problemResponses } from './openapi/problems.ts';
import { type Json, ref, Schemas } from './openapi/schema.ts';
import {
  about,
  contractParameter,
  descriptions,
  idempotencyParameter,
  tags,
} from './openapi/words.ts';
import { type Operation, type OperationId, operations } from './operations.ts';
import type { ProblemCode } from './problems.ts';
import { attempt, batchResult, type Op, ops, reportSchemas } from './worker-calls.ts';

/** Problems that any call with a key can get. */
const everywhere: readonly ProblemCode[] = [
  'INVALID_REQUEST',
  'UNAUTHENTICATED',
  'SCOPE_DENIED',
  'CONTRACT_UNSUPPORTED',
  'INTERNAL',
  'UNAVAILABLE',
];
const open: readonly ProblemCode[] = ['CONTRACT_UNSUPPORTED', 'INTERNAL', 'UNAVAILABLE'];
const withBody: readonly ProblemCode[] = ['PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'];

/** A call as the document has it: the one for reports is there once for each op. */
interface Described {
  readonly id: string;
  /** In the table of operations. */
  readonly of: OperationId;
  /** Of the call for reports. */
  readonly op?: Op;
  readonly path: string;
  readonly summary: string;
  readonly description?: string | undefined;
  readonly operation: Operation;
  readonly body?: z.ZodType | undefined;
  readonly examples?: Json | undefined;
}

/** What a control plane may take more of than the contract asks for. */
type Taken = { readonly [name in 'batch' | 'claimMax']: number };

/** The OpenAPI 3.1 document, made from the operation table. @param version of the product. @param taken by this control plane. */
export function openApiDocument(version: string, taken: Taken = limits): Json {
  const schemas = new Schemas();
  const responses: Json = {};
  const paths: Record<string, Json> = {};
  for (const call of operations.flatMap(described)) {
    const path = BASE_PATH + call.path;
    paths[path] = {
      ...paths[path],
      [call.operation.method.toLowerCase()]: describe(call, schemas, responses),
    };
  }
  exactItems(schemas, taken);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Interlock Tasks',
      version,
      summary: 'A durable task queue with leases and fences',
      description: about,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'Where this document comes from' }],
    tags,
    paths: withWords(paths),
    components: {
      schemas: componentsWithWords(schemas.components),
      responses,
      headers: headerComponents,
      securitySchemes: {
        key: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'il_…',
          description:
            'A key of the project, `il_…`. The words beside it at each call are the kinds of key that may call it; another kind is `403`.',
        },
      },
    },
    security: [{ key: [] }],
  };
}

function described(operation: Operation & { readonly id: OperationId }): Described[] {
  const { id, path, summary, body } = operation;
  if (id !== 'report') {
    const description = descriptions[id];
    const examples = bodyExamples[id] as Json | undefined;
    return [{ id, of: id, path, summary, description, operation, body, examples }];
  }
  return ops.map((op) => ({
    id: reportId(op),
    of: id,
    op,
    path: path.replace('{op}', op),
    summary: `Report \`${op}\` on an attempt`,
    description:
      '`op` and `attemptId` may stand in the body too, as the address has them. An op that is not there is `400` with `UNSUPPORTED_OPERATION`.',
    operation,
    // Both stand in the address.
    body: (reportSchemas[op] as z.ZodObject).omit({ op: true, attemptId: true }),
    examples: { report: { summary, value: { ...bodyFour(), ...reportExamples[op] } } },
  }));
}

function describe(call: Described, schemas: Schemas, responses: Json): Json {
  const { operation } = call;
  const isOpen = operation.keys === 'open';
  const links = linksOf(call.id, ops);
  return {
    operationId: call.id,
    summary: call.summary,
    ...(call.description && { description: call.description }),
    tags: [operation.tag],
    security: isOpen ? [] : [{ key: operation.keys }],
    parameters: parameters(call, schemas),
    ...(call.body && { requestBody: requestBody(call, call.body, schemas) }),
    responses: {
      ...Object.fromEntries(
        Object.entries(operation.answers).map(([status, schema]) => [
          status,
          {
            ...answer(call, status, schema, schemas),
            ...(links && { links }),
          },
        ]),
      ),
      ...problemResponses(
        [...(isOpen ? open : everywhere), ...(call.body ? withBody : []), ...operation.problems],
        schemas,
        responses,
      ),
    },
  };
}

const pathSchemas: Readonly<Record<string, z.ZodType>> = { workerId };

function parameters({ path, of, operation }: Described, schemas: Schemas): Json[] {
  const examples = { ...parameterExamples, ...operationParameterExamples[of] };
  const example = (name: string) => (name in examples ? { example: examples[name] } : {});
  const all: Json[] = [contractParameter];
  for (const [, name = ''] of path.matchAll(/\{(\w+)\}/g)) {
    const schema = schemas.of(pathSchemas[name] ?? anyId, 'input');
    all.push({ name, in: 'path', required: true, schema, ...example(name) });
  }
  if (of === 'submit') all.push(idempotencyParameter);
  if (operation.query) {
    const query = schemas.of(operation.query, 'input') as {
      properties?: Record<string, Json>;
      required?: string[];
    };
    for (const [name, made] of Object.entries(query.properties ?? {})) {
      const { description, example: given, ...schema } = made;
      const required = query.required?.includes(name) ?? false;
      all.push({
        name,
        in: 'query',
        required,
        ...(description === undefined ? {} : { description }),
        schema,
        ...(given === undefined ? example(name) : { example: given }),
      });
    }
  }
  return all;
}

function requestBody(call: Described, body: z.ZodType, schemas: Schemas): Json {
  const made = schemas.of(body, 'input');
  const schema = call.of === 'report' ? withWords(made, reportName(call.op)) : made;
  const { examples } = call;
  return {
    // Absent counts as `{}`.
    required: !body.safeParse({}).success,
    description: `At most ${limits.batchBytes} bytes.`,
    content: { 'application/json': { schema, ...(examples && { examples }) } },
  };
}

function answer(
  { of, operation }: Described,
  status: string,
  schema: z.ZodType | 'sse' | 'json',
  schemas: Schemas,
): Json {
  const example = answerExamples[of];
  const replayed = of === 'submit' && status === '200';
  const headers = {
    ...answerHeaders,
    ...(replayed && { 'Idempotency-Replayed': ref('headers', 'Replayed') }),
  };
  if (schema === 'sse')
    return {
      description: 'A stream of server-sent events; the schema is that of one event.',
      headers,
      content: { 'text/event-stream': { schema: sseEvent } },
    };
  if (schema === 'json')
    return {
      description: 'An OpenAPI 3.1 document',
      headers,
      content: { 'application/json': { schema: { type: 'object' } } },
    };
  return {
    description: answerWords(status, Object.keys(operation.answers).length, replayed),
    headers,
    content: {
      'application/json': {
        schema: schemas.of(schema, 'output'),
        ...(example === undefined ? {} : { examples: { usual: { value: example } } }),
      },
    },
  };
}

function answerWords(status: string, answers: number, replayed: boolean): string {
  if (replayed) return 'The task that the same request made before';
  return status === '201' || answers > 1 ? 'Made' : 'Done';
}

/** Reads as `RenewReport`. */
const reportName = (op = '') => `${op[0]?.toUpperCase()}${op.slice(1)}Report`;
const namedReports = ops.map((op) => reportSchemas[op].meta({ id: reportName(op) }));

/** What the code reads item by item: an item that is not as it should be is answered for itself. */
function exactItems(schemas: Schemas, { batch, claimMax }: Taken): void {
  const components = schemas.components as Record<string, Json & { properties?: Json }>;
  const orElse = (name: string): Json => ({
    type: 'array',
    maxItems: batch,
    items: {
      anyOf: [
        ref('schemas', name),
        { description: 'Anything else is refused for itself, in its place of the answer.' },
      ],
    },
  });
  const replace = (name: string, by: Json, member?: string) => {
    const schema = components[name];
    if (schema && member === undefined) components[name] = by;
    else if (schema && member) schema.properties = { ...schema.properties, [member]: by };
  };
  for (const schema of namedReports) schemas.of(schema, 'input');
  const mapping = Object.fromEntries(
    ops.map((op) => [op, `#/components/schemas/${reportName(op)}`]),
  );
  components.Report = {
    description: 'One report on an attempt, as it stands in a batch.',
    oneOf: ops.map((op) => ref('schemas', reportName(op))),
    discriminator: { propertyName: 'op', mapping },
  };
  const items = { type: 'array', items: schemas.of(batchResult, 'output') };
  replace('SubmitBatchRequest', orElse('SubmitRequest'));
  replace('ReportBatchRequest', orElse('Report'), 'reports');
  replace('ReportBatchAnswer', items, 'results');
  const max = { type: 'integer', minimum: 0, maximum: claimMax };
  replace('ClaimRequest', max, 'max');
  replace('ClaimAnswer', { type: 'array', items: schemas.of(attempt, 'output') }, 'attempts');
}

const sseEvent: Json = {
  type: 'object',
  required: ['event', 'data'],
  properties: {
    event: { type: 'string', minLength: 1 },
    data: { type: 'string', contentMediaType: 'application/json' },
  },
};
