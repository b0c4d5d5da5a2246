import * as z from 'zod';

/**
 * The HTTP codes of the contract, one table: status, title, and what to do. The failure catalogue
 * (`/failures`, docs/errors.md) and the OpenAPI document are made from it.
 */
export const problemCodes = {
  INVALID_REQUEST: {
    status: 400,
    title: 'The request is not valid',
    next: 'Correct the fields named in `issues` and send it again.',
  },
  UNSUPPORTED_OPERATION: {
    status: 400,
    title: 'This control plane does not have that operation',
    next: 'Ask `GET /api/tasks/v1/` for `features`; use a control plane that lists the operation.',
  },
  UNAUTHENTICATED: {
    status: 401,
    title: 'The key is missing, not known, expired or revoked',
    next: 'Give a key of this control plane: the option `key` of the SDK, `Authorization: Bearer il_…` over HTTP; make one with `interlock keys new`.',
  },
  SCOPE_DENIED: {
    status: 403,
    title: 'The key may not do this',
    next: 'Use a key whose kind and limits allow it; make one with `interlock keys new --kind`.',
  },
  NOT_FOUND: {
    status: 404,
    title: 'There is no such thing in this project',
    next: 'Check the id and that the key is of the project that it belongs to.',
  },
  STALE_ATTEMPT: {
    status: 409,
    title: 'The attempt is over or was given to somebody else',
    next: 'Stop the handler and report nothing more for this attempt.',
  },
  LEASE_EXPIRED: {
    status: 409,
    title: 'The lease of the attempt has run out',
    next: 'Renew and ask again; stop what another worker may now run. An outcome may still be sent.',
  },
  SESSION_SUPERSEDED: {
    status: 409,
    title: 'Another worker took over this worker id',
    next: 'Give each worker a `--worker-id` of its own, or stop the other one.',
  },
  IDEMPOTENCY_CONFLICT: {
    status: 409,
    title: 'The idempotency key was used for another request',
    next: 'Use a new idempotency key for a new task, or send exactly the first request again.',
  },
  TASK_TERMINAL: {
    status: 409,
    title: 'The task has already ended',
    next: 'Nothing is left to do; a failed, expired or cancelled task can be run again: `interlock tasks retry <task-id> --reason "…"`.',
  },
  NOT_RELEASABLE: {
    status: 409,
    title: 'The attempt is past its gate and cannot be released',
    next: 'Report how it ended: complete, fail, unknown or lost.',
  },
  NOT_CANCELLING: {
    status: 409,
    title: 'Nobody asked to cancel this task',
    next: 'Report how the handler ended: complete, fail, unknown or lost.',
  },
  CONFLICT: {
    status: 409,
    title: 'Something changed since you looked',
    next: 'Look at it as it is now (`interlock tasks show`), and do what fits that.',
  },
  PAYLOAD_TOO_LARGE: {
    status: 413,
    title: 'The body is larger than the limit',
    next: 'Send less inline; put large data where the handler can read it.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    title: 'The body is not JSON',
    next: 'Send `Content-Type: application/json`.',
  },
  FILE_MISSING: {
    status: 422,
    title: 'A file reference names no file',
    next: 'Upload the file first.',
  },
  CONTRACT_UNSUPPORTED: {
    status: 426,
    title: 'This control plane does not speak that version of the contract',
    next: 'Use a version listed in `supported`.',
  },
  RATE_LIMITED: {
    status: 429,
    title: 'Too many requests',
    next: 'Wait as long as `Retry-After` says; a key with another rate is made with `interlock keys new --rate`.',
  },
  INTERNAL: {
    status: 500,
    title: 'The control plane failed',
    next: 'Send it again; the request id leads to the entry in the control plane’s log.',
  },
  UNAVAILABLE: {
    status: 503,
    title: 'The control plane cannot answer now',
    next: 'Send it again after `Retry-After`.',
  },
  NO_ELIGIBLE_INFERENCE_WORKER: {
    status: 503,
    title: 'No healthy worker serves that model',
    next: 'Start a worker with the model, or ask for another one.',
  },
} as const satisfies Record<string, { status: number; title: string; next: string }>;

export type ProblemCode = keyof typeof problemCodes;

/** One fault in a request, with the path of the field. */
export const issue = z.object({ path: z.string(), message: z.string() });

/**
 * `application/problem+json` as we read it: any code, any further members. A body without `code` and
 * `status` is not in the problem shape and counts as no answer.
 */
export const problem = z
  .looseObject({
    type: z.string().optional(),
    title: z.string().optional(),
    status: z.int().min(400).max(599),
    code: z.string().regex(/^[A-Z][A-Z0-9_]*$/),
    detail: z.string().optional(),
    requestId: z.string().optional(),
    /** What to do next, for people. */
    hint: z.string().optional(),
    issues: z.array(issue).optional(),
    /** With STALE_ATTEMPT: the outcome was kept as a late report. */
    recorded: z.boolean().optional(),
    replayed: z.boolean().optional(),
    /** With NOT_FOUND: what was looked for (`attempt`, `task` …) and in which project. */
    kind: z.string().optional(),
    project: z.string().optional(),
    /** With CONTRACT_UNSUPPORTED. */
    supported: z.array(z.int()).optional(),
    /** With CONFLICT: the present `seq` of the task. */
    seq: z.int().optional(),
    retryAfterMs: z.number().optional(),
  })
  .meta({ id: 'Problem' });

export type Problem = z.infer<typeof problem>;

/** Builds a problem body. `detail` says what happened to what; members of `more` are added. */
export function makeProblem(
  code: ProblemCode,
  detail: string,
  more: Record<string, unknown> = {},
): Problem {
  const { status, title, next } = problemCodes[code];
  return { type: `/failures#${code}`, title, status, code, detail, hint: next, ...more };
}
