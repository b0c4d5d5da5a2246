/** What a caller hands over becomes a request that the control plane takes, or an error with the path. */
import {
  copyPlain,
  type JsonIssue,
  type PolicyRequest,
  parseJson,
  pathText,
  type SubmitRequest,
  submitRequest,
  TaskError,
  toJson,
} from '../contract/index.ts';
import { plainSubmit } from '../contract/plain-calls.ts';
import { invalidRequest } from './errors.ts';
import { issueWords } from './issue-words.ts';
import type { StoredTask } from './outbox/outbox.ts';

export interface SubmitOptions {
  /** The same key with the same request returns the same task; with another one it is a conflict. */
  readonly idempotencyKey?: string | undefined;
  /** The same on every attempt, for the handler to pass on [the task's id]. */
  readonly effectKey?: string | undefined;
  /** [default] */
  readonly pool?: string | undefined;
  /** −100 … 100 [0]. */
  readonly priority?: number | undefined;
  readonly notBeforeAt?: string | Date | undefined;
  readonly policy?: PolicyRequest | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly traceparent?: string | undefined;
}

export interface Submission extends SubmitOptions {
  readonly type: string;
  readonly schemaVersion: number;
  readonly input: unknown;
}

/**
 * Throws `INVALID_REQUEST` with `details.issues`: for what JSON would lose or bend (NaN, BigInt, integers
 * beyond 2^53, Map, cycles …), for lone surrogates, and for what the contract does not allow.
 * @param fresh an idempotency key where none is given, so that our own repetitions are safe.
 */
export function toRequest(submission: Submission, fresh: string): SubmitRequest {
  if (typeof submission !== 'object' || submission === null)
    throw invalidRequest([
      { path: '', message: 'must be an object with type, schemaVersion and input' },
    ]);
  const { input = null, ...options } = submission;
  const made = { idempotencyKey: fresh, ...defined(options), input };
  const plain = plainSubmit(copyPlain(made));
  if (plain) return plain;
  const value = plainJson(made);
  const read = submitRequest.safeParse(value);
  if (read.success) return value as SubmitRequest;
  throw invalidRequest(
    read.error.issues.map((issue) => ({ path: pathText(issue.path), message: issueWords(issue) })),
  );
}

/** The value as its JSON says it; throws `INVALID_REQUEST` where the two would differ. */
export function plainJson(value: unknown): unknown {
  const made = toJson(value);
  if (!made.ok) throw invalidRequest([forInput(made.issue)]);
  // Results replace lone surrogates, requests may not hold any: read it as the other side will.
  const parsed = parseJson(JSON.stringify(value) ?? 'null');
  if (parsed.ok) return parsed.value;
  throw invalidRequest(parsed.issues);
}

/** The words for values say "return", as for a handler's result. */
function forInput({ path, message }: JsonIssue): JsonIssue {
  return { path, message: message.replace(/: return (an?) /, ': send $1 ') };
}

function defined<T extends object>(options: T): T {
  const kept: Partial<T> = {};
  for (const name of Object.keys(options) as (keyof T)[])
    if (options[name] !== undefined) kept[name] = options[name];
  return kept as T;
}

/** A task, or its id. */
export type TaskRef = string | { readonly id: string };

/** Throws `INVALID_REQUEST` for what is no id. */
export function idOf(task: TaskRef): string {
  const id = typeof task === 'string' ? task : task?.id;
  if (typeof id === 'string' && /^[a-z]+_[A-Za-z0-9]{1,90}$/.test(id)) return id;
  const { stored, idempotencyKey } = (task ?? {}) as Partial<StoredTask>;
  if (id === undefined && stored === true)
    throw new TaskError(
      'INVALID_REQUEST',
      `The submission ${String(idempotencyKey).slice(0, 100)} is stored and has no task yet, so there is no id.`,
      {
        hint: 'Look at `stored` first. Once it is submitted, `onSubmitted` of the outbox is called with its task, and submitting it again with its idempotency key returns that task.',
        details: { issues: [{ path: 'id', message: 'there is none yet' }] },
      },
    );
  throw new TaskError('INVALID_REQUEST', `"${String(id).slice(0, 100)}" is no task id.`, {
    hint: 'A task id looks like tsk_…; `submit` returns it.',
    details: { issues: [{ path: 'id', message: 'must look like tsk_…' }] },
  });
}
