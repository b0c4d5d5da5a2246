import { CONTRACT_HEADER, CONTRACT_VERSION } from '../limits.ts';
import { makeProblem, type ProblemCode, problem, problemCodes } from '../problems.ts';
import { type Json, ref, type Schemas } from './schema.ts';

/** How calls are refused, and the headers of every answer. */

/** What stands in a problem beside what all have, as an example. */
const MORE: Partial<Record<ProblemCode, Json>> = {
  INVALID_REQUEST: { issues: [{ path: 'schemaVersion', message: 'must be an integer from 1' }] },
  NOT_FOUND: { kind: 'task', project: 'default' },
  CONTRACT_UNSUPPORTED: { supported: [CONTRACT_VERSION] },
  STALE_ATTEMPT: { recorded: true },
  CONFLICT: { seq: 8 },
  UNAVAILABLE: { retryAfterMs: 1_000 },
};

export const answerHeaders: Json = {
  [CONTRACT_HEADER]: ref('headers', 'Contract'),
  'Interlock-Request-Id': ref('headers', 'RequestId'),
};

export const headerComponents: Json = {
  Contract: {
    description: 'The version of the contract that the answer speaks.',
    required: true,
    schema: { type: 'string', enum: [`${CONTRACT_VERSION}`] },
  },
  RequestId: {
    description: 'Names the request in the log of the control plane.',
    required: true,
    schema: { type: 'string', pattern: '^req_[a-z0-9]+$' },
  },
  RetryAfter: {
    description: 'Do not send it again sooner: seconds, or an HTTP date.',
    schema: { type: 'string', minLength: 1 },
  },
  Authenticate: {
    description: 'How to prove who calls.',
    required: true,
    schema: { type: 'string', pattern: '^Bearer' },
  },
  Replayed: {
    description: 'The task was there already: the same request with the same key came before.',
    required: true,
    schema: { type: 'string', enum: ['true'] },
  },
};

const HEADERS: Readonly<Record<number, Json>> = {
  401: { 'WWW-Authenticate': ref('headers', 'Authenticate') },
  429: { 'Retry-After': { ...(headerComponents.RetryAfter as Json), required: true } },
  503: { 'Retry-After': ref('headers', 'RetryAfter') },
};

/** The responses of these codes, by status. One code alone is kept among the components under its name. */
export function problemResponses(
  codes: readonly ProblemCode[],
  schemas: Schemas,
  responses: Json,
): Json {
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of new Set(codes)) {
    const { status } = problemCodes[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, some]) => {
      const [code] = some;
      if (some.length > 1 || code === undefined) return [status, response(status, some, schemas)];
      responses[code] ??= response(status, some, schemas);
      return [status, ref('responses', code)];
    }),
  );
}

function response(status: number, codes: readonly ProblemCode[], schemas: Schemas): Json {
  return {
    description: codes.map((code) => `\`${code}\`: ${problemCodes[code].title}.`).join(' '),
    headers: { ...answerHeaders, ...HEADERS[status] },
    content: {
      'application/problem+json': {
        schema: {
          allOf: [
            schemas.of(problem, 'output'),
            {
              type: 'object',
              required: ['type', 'title', 'detail', 'requestId'],
              properties: { status: { enum: [status] }, code: { enum: codes } },
            },
          ],
        },
        examples: Object.fromEntries(codes.map((code) => [code, { value: exampleOf(code) }])),
      },
    },
  };
}

function exampleOf(code: ProblemCode): Json {
  return {
    ...makeProblem(code, `${problemCodes[code].title}.`, MORE[code]),
    requestId: 'req_5f0c1a2b3c4d5e6f1',
  };
}
