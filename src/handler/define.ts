import type { HandlerContext } from './context.ts';
import type { JsonSchema, StandardSchema } from './schema.ts';

/** Known by this, not by its class: the package may be there twice. */
export const HANDLER_BRAND = Symbol.for('interlock.handler');

/** A handler and what it says about itself. */
export interface HandlerDefinition<Input = unknown, Result = unknown> {
  readonly run: HandlerFunction<Input, Result>;
  /**
   * How safe it is to run it again: `pure` (no effect), `idempotent` (safe also when two run at once with the same
   * `effectKey`), `non-idempotent` (the default).
   */
  readonly effectSafety?: 'pure' | 'idempotent' | 'non-idempotent';
  /** Where a non-idempotent handler passes the point of no return: at its start (default) or at `ctx.beginEffect()`. */
  readonly effectGate?: 'start' | 'effect';
  /**
   * `own` (default): a process of its own for each running task. `shared`: several tasks of this type run in one
   * process, as asynchronous calls of `run`: for short tasks and those that mostly wait. `pure` and `idempotent` only.
   */
  readonly host?: 'own' | 'shared';
  /** What the input must look like: a Standard Schema (its output is what `run` gets) or a JSON Schema. */
  readonly input?: StandardSchema<Input> | JsonSchema;
  /** What the result must look like. */
  readonly output?: StandardSchema | JsonSchema;
  /** The handler is stopped after this long. The task's own `attemptTimeoutMs` counts if it is shorter. */
  readonly timeoutMs?: number;
}

/** What is returned (or resolved) is the task's result, as JSON. What is thrown fails it. */
export type HandlerFunction<Input = unknown, Result = unknown> = (
  input: Input,
  ctx: HandlerContext,
) => Result | Promise<Result>;

/**
 * Declares a handler; `export default` it from `handlers/<type>@<version>.ts`. Its words are checked when the
 * module is loaded: a wrong one is named at start and by doctor, and the handler is not served.
 */
export function defineHandler<Input = unknown, Result = unknown>(
  definition: HandlerDefinition<Input, Result>,
): HandlerDefinition<Input, Result> {
  const branded = { ...definition };
  Object.defineProperty(branded, HANDLER_BRAND, { value: 1 });
  return Object.freeze(branded);
}
