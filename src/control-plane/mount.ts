import { Hono } from 'hono';
import { BASE_PATH, CONTRACT_HEADER, CONTRACT_VERSION } from '../contract/limits.ts';
import { type Operation, operations } from '../contract/operations.ts';
import type { KeyRow } from '../ports/store.ts';
import {
  type Answer,
  headersOf,
  isRefusal,
  problemAnswer,
  type Refusal,
  refusal,
} from './answer.ts';
import { authorise, stillUsable } from './auth.ts';
import { type Body, readJson } from './body.ts';
import type {
  Call,
  KeyedCall,
  KeyedOperationId,
  OpenOperationId,
  OpenRoute,
  Route,
} from './call.ts';
import { type CallRequest, ofFetch } from './call-request.ts';
import { failure } from './failure.ts';
import type { Services } from './services.ts';
import type { Lane } from './turns.ts';
import { check } from './validate.ts';

export interface Routes {
  readonly open: Record<OpenOperationId, OpenRoute>;
  readonly keyed: Record<KeyedOperationId, Route>;
}

/** Answers a call. Never rejects. */
export type AnswerTo = (
  operation: KnownOperation,
  request: CallRequest,
  params: Readonly<Record<string, string>>,
  /** Who calls, where that was found out before: the request names no key then. */
  who?: KeyRow,
) => Promise<{ readonly answer: Answer; readonly requestId: string }>;

type KnownOperation = Operation & { readonly id: OpenOperationId | KeyedOperationId };

export interface Mounted {
  readonly answerTo: AnswerTo;
  /** For answers that are made elsewhere. */
  readonly requestId: () => string;
  /** Finds the call, and tells what is none. */
  fetch(request: Request): Response | Promise<Response>;
}

/** Mounts every operation of the contract's table, and answers everything in the contract's shapes. */
export function mount(services: Services, routes: Routes): Mounted {
  const app = new Hono({ strict: false });
  const nextId = requestIds(services);

  const answerTo: AnswerTo = async (operation, request, params, who) => {
    const requestId = nextId();
    try {
      const done = await run(services, routes, operation, request, params, requestId, who);
      return { answer: isRefusal(done) ? problemAnswer(done, requestId) : done, requestId };
    } catch (error) {
      const what = `${operation.method} ${operation.path}`;
      const refused = failure(services, requestId, what, error);
      return { answer: problemAnswer(refused, requestId), requestId };
    }
  };

  for (const operation of operations) {
    // Without a slash at the end, which would match nothing; with `strict: false` both forms are served.
    const path = BASE_PATH + operation.path.replace(/\{(\w+)\}/g, ':$1').replace(/\/$/, '');
    app.on(operation.method, path, async ({ req }) => {
      // `/tasks/batch` is an address of its own and no task of that name.
      if (operation.path.includes('{') && LITERAL.has(req.path.replace(/\/$/, ''))) {
        const requestId = nextId();
        return respond(problemAnswer(noRoute(req.method, req.path), requestId), requestId);
      }
      const { answer, requestId } = await answerTo(operation, ofFetch(req.raw), req.param());
      return respond(answer, requestId);
    });
  }

  app.notFound(({ req }) => {
    const requestId = nextId();
    return respond(problemAnswer(noRoute(req.method, req.path), requestId), requestId);
  });
  return { answerTo, requestId: nextId, fetch: (request) => app.fetch(request) };
}

async function run(
  services: Services,
  routes: Routes,
  operation: KnownOperation,
  request: CallRequest,
  params: Readonly<Record<string, string>>,
  requestId: string,
  who?: KeyRow,
): Promise<Answer | Refusal> {
  const spoken = request.header(CONTRACT_NAME)?.trim() ?? String(CONTRACT_VERSION);
  if (spoken !== String(CONTRACT_VERSION)) {
    return refusal(
      'CONTRACT_UNSUPPORTED',
      `The request speaks contract ${JSON.stringify(spoken.slice(0, 50))}; this control plane speaks ${CONTRACT_VERSION}.`,
      { supported: [CONTRACT_VERSION] },
    );
  }
  if (operation.keys === 'open') {
    const call: Call = {
      services,
      operation,
      request,
      requestId,
      params,
      query: {},
      body: NO_BODY,
    };
    return routes.open[operation.id as OpenOperationId](call);
  }

  const keySeen = services.keyWatch.revocations;
  const key = await authorise(services, request, operation, who);
  if (isRefusal(key)) return key;
  let query: unknown = {};
  if (operation.query) {
    const checked = check(operation.query, queryOf(request.url));
    if (!checked.ok) return checked.refusal;
    query = checked.value;
  }
  let body = NO_BODY;
  if (operation.body) {
    const given = readJson(request, services.limits.batchBytes, services.clock);
    // Not awaited for nothing: what is here takes no turn of its own.
    const read = given instanceof Promise ? await given : given;
    if (isRefusal(read)) return read;
    body = read;
  }
  const lane = laneOf(operation);
  const entered = services.turns.enter(lane, lane === 'reads' ? request.signal : undefined);
  const turn = entered instanceof Promise ? await entered : entered;
  if (isRefusal(turn)) return turn;
  try {
    // The body may have come slowly, and others were before it.
    const doubted = key.expiresAtMs !== undefined || services.keyWatch.revocations !== keySeen;
    const ended = doubted ? await stillUsable(services, key, keySeen) : undefined;
    if (ended) return ended;
    const keyed: KeyedCall = {
      services,
      operation,
      request,
      requestId,
      params,
      query,
      body,
      key,
      keySeen,
      turn,
    };
    return await routes.keyed[operation.id as KeyedOperationId](keyed);
  } finally {
    turn.leave();
  }
}

/** Streams begin with nothing, and doctor is what one asks when all is slow: neither waits for large answers to be taken. */
function laneOf({ id, method, uncounted, answers }: Operation): Lane {
  if (uncounted) return 'reports';
  return method === 'GET' && answers[200] !== 'sse' && id !== 'doctor' ? 'reads' : 'calls';
}

const CONTRACT_NAME = CONTRACT_HEADER.toLowerCase();

const NO_BODY: Body = { text: '', bytes: 0, value: {} };

/** A name that is there more than once holds an array. */
function queryOf(url: string): Record<string, string | string[]> {
  const at = url.indexOf('?');
  const query: Record<string, string | string[]> = {};
  if (at < 0) return query;
  for (const [name, value] of new URLSearchParams(url.slice(at + 1))) {
    const before = Object.hasOwn(query, name) ? query[name] : undefined;
    const all = before === undefined ? value : [before, value].flat();
    Object.defineProperty(query, name, {
      value: all,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return query;
}

/** By the long way. */
export function respond(from: Answer, requestId: string): Response {
  return new Response(from.body, {
    status: from.status,
    headers: headersOf(from, requestId),
  });
}

/** Unique, and cheap enough for every request: chance once, then a count. */
function requestIds({ random }: Services): () => string {
  const prefix = Buffer.from(random.bytes(8)).toString('hex');
  let count = 0;
  return () => `req_${prefix}${(++count).toString(36)}`;
}

const LITERAL: ReadonlySet<string> = new Set(
  operations.filter(({ path }) => !path.includes('{')).map(({ path }) => BASE_PATH + path),
);

const PATHS = operations.map(({ method, path }) => ({
  method,
  literal: !path.includes('{'),
  path: new RegExp(`^${(BASE_PATH + path).replace(/\{\w+\}/g, '[^/]+').replace(/\/$/, '')}/?$`),
}));

function noRoute(method: string, path: string): Refusal {
  const fitting = PATHS.filter((known) => known.path.test(path));
  const literal = fitting.filter((known) => known.literal);
  const methods = (literal.length > 0 ? literal : fitting).map((known) => known.method);
  if (methods.length > 0) {
    const allowed = [...new Set(methods)].join(', ');
    return {
      ...refusal(
        'UNSUPPORTED_OPERATION',
        `${method} is not a method of ${path.slice(0, 200)}; it has ${allowed}.`,
        undefined,
        { Allow: allowed },
      ),
      status: 405,
    };
  }
  return refusal(
    'NOT_FOUND',
    `There is no ${method} ${path.slice(0, 200)}; the calls begin with ${BASE_PATH}/ and are listed in ${BASE_PATH}/openapi.json.`,
    { kind: 'route' },
  );
}
